#include "core/branch/pull_request_store.h"

#include "core/meta/commit_column.h"
#include "core/model/listing.h"

namespace tarn::branch {
namespace {

#define TARN_PULL_COLUMNS                                                                  \
  "pull_id, number, title, description, status, author, source, destination, created_ms, " \
  "closed_ms, merged_commit FROM pull_requests"

constexpr db::Query kInsert{"pull_requests_insert_row", R"sql(
  INSERT INTO pull_requests (repo_id, pull_id, title, description, status, author, source, destination, created_ms)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  RETURNING number)sql"};

constexpr db::Query kSelect{"pull_requests_select_by_id",
                            "SELECT " TARN_PULL_COLUMNS " WHERE repo_id = $1 AND pull_id = $2"};

constexpr db::Query kSelectId{
    "pull_requests_select_id",
    "SELECT pull_id FROM pull_requests WHERE repo_id = $1 AND number = $2"};

constexpr db::Query kSelectPage{"pull_requests_select_page", "SELECT " TARN_PULL_COLUMNS R"sql(
  WHERE repo_id = $1 AND pull_id > $2 AND pull_id >= $3 AND starts_with(pull_id, $3)
    AND ($5 OR status <> 'open')
  ORDER BY pull_id LIMIT $4)sql"};

// Index pull_requests_open.
constexpr db::Query kSelectOpenPage{"pull_requests_select_open", "SELECT " TARN_PULL_COLUMNS R"sql(
  WHERE repo_id = $1 AND pull_id > $2 AND pull_id >= $3 AND starts_with(pull_id, $3) AND status = 'open'
  ORDER BY pull_id LIMIT $4)sql"};

constexpr db::Query kUpdate{"pull_requests_update_row", R"sql(
  UPDATE pull_requests SET
    title = coalesce($3, title), description = coalesce($4, description), status = coalesce($5, status),
    closed_ms = CASE WHEN $5 = 'open' THEN NULL WHEN $5 = 'closed' THEN coalesce(closed_ms, $6) ELSE closed_ms END
  WHERE repo_id = $1 AND pull_id = $2 AND ($5 IS NULL OR status <> 'merged'))sql"};

constexpr db::Query kMarkMerged{"pull_requests_mark_merged", R"sql(
  UPDATE pull_requests SET status = 'merged', merged_commit = $3, closed_ms = $4
  WHERE repo_id = $1 AND pull_id = $2 AND status = 'open')sql"};

constexpr db::Query kUpsertApproval{"pull_requests_upsert_approval", R"sql(
  INSERT INTO pull_approvals AS a (repo_id, pull_id, user_id, commit_id, created_ms)
  SELECT $1, $2, user_id, $4, $5 FROM users WHERE name = $3
  ON CONFLICT (repo_id, pull_id, user_id) DO UPDATE SET
    commit_id = excluded.commit_id,
    created_ms = CASE WHEN a.commit_id = excluded.commit_id THEN a.created_ms ELSE excluded.created_ms END
  RETURNING created_ms)sql"};

constexpr db::Query kSelectApprovals{"pull_requests_select_approvals", R"sql(
  SELECT u.name, a.commit_id, a.created_ms, b.head IS NOT NULL
  FROM pull_approvals a JOIN users u ON u.user_id = a.user_id
    LEFT JOIN branches b ON b.repo_id = a.repo_id AND b.name = $3 AND b.head = a.commit_id
  WHERE a.repo_id = $1 AND a.pull_id = $2 AND u.name > $4 AND u.name >= $5 AND starts_with(u.name, $5)
  ORDER BY u.name LIMIT $6)sql"};

constexpr db::Query kDeleteApproval{"pull_requests_delete_approval", R"sql(
  DELETE FROM pull_approvals a USING users u
  WHERE a.repo_id = $1 AND a.pull_id = $2 AND u.user_id = a.user_id AND u.name = $3)sql"};

// Index pull_requests_open.
constexpr db::Query kCountApprovals{"pull_requests_count_approvals", R"sql(
  SELECT coalesce(max(valid), 0) FROM (
    SELECT count(*) AS valid
    FROM pull_requests p
      JOIN branches b ON b.repo_id = p.repo_id AND b.name = p.source AND b.head = $3
      JOIN pull_approvals a ON a.repo_id = p.repo_id AND a.pull_id = p.pull_id AND a.commit_id = $3
    WHERE p.repo_id = $1 AND p.destination = $2 AND p.status = 'open'
    GROUP BY p.pull_id) AS counts)sql"};

// Locks the rows one by one, because a statement with GROUP BY locks nothing.
constexpr db::Query kHoldApprovals{"pull_requests_hold_approvals", R"sql(
  WITH held AS (
    SELECT p.pull_id
    FROM pull_requests p
      JOIN branches b ON b.repo_id = p.repo_id AND b.name = p.source AND b.head = $3
      JOIN pull_approvals a ON a.repo_id = p.repo_id AND a.pull_id = p.pull_id AND a.commit_id = $3
    WHERE p.repo_id = $1 AND p.destination = $2 AND p.status = 'open'
    FOR SHARE OF p, a)
  SELECT coalesce(max(valid), 0) FROM (SELECT count(*) AS valid FROM held GROUP BY pull_id) AS counts)sql"};

PullRequest pull_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kPullId,
      kNumber,
      kTitle,
      kDescription,
      kStatus,
      kAuthor,
      kSource,
      kDestination,
      kCreatedMs,
      kClosedMs,
      kMergedCommit
    };
  };
  PullRequest pull;
  pull.id = rows.text(row, Column::kPullId);
  pull.number = static_cast<int32_t>(rows.integer(row, Column::kNumber));
  pull.title = rows.text(row, Column::kTitle);
  pull.description = rows.text(row, Column::kDescription);
  const auto status = parse_pull_request_status(rows.text(row, Column::kStatus));
  if (!status) throw Error(ErrorCode::kDataLoss, "pull request row: has an unknown status");
  pull.status = *status;
  pull.author = rows.text(row, Column::kAuthor);
  pull.source = BranchName(std::string(rows.text(row, Column::kSource)));
  pull.destination = BranchName(std::string(rows.text(row, Column::kDestination)));
  pull.created = from_millis(rows.integer(row, Column::kCreatedMs));
  if (!rows.null(row, Column::kClosedMs))
    pull.closed = from_millis(rows.integer(row, Column::kClosedMs));
  pull.merged_commit = meta::commit_or_none(rows, row, Column::kMergedCommit);
  return pull;
}

Approval approval_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kName, kCommitId, kCreatedMs, kValid };
  };
  return {.user = std::string(rows.text(row, Column::kName)),
          .commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
          .created = from_millis(rows.integer(row, Column::kCreatedMs)),
          .valid = rows.boolean(row, Column::kValid)};
}

}  // namespace

int32_t PullRequestStore::create(RepositoryId repository, const PullRequest& pull) {
  const db::Rows rows =
      pool_.run(kInsert,
                {static_cast<int32_t>(repository), pull.id, pull.title, pull.description,
                 name_of(pull.status), pull.author, pull.source.str(), pull.destination.str(),
                 to_millis(pull.created)},
                db::Pool::Retry::kWrite);
  return static_cast<int32_t>(rows.integer(0, 0));
}

std::optional<std::string> PullRequestStore::find_id(RepositoryId repository, int32_t number) {
  const db::Rows rows =
      pool_.run(kSelectId, {static_cast<int32_t>(repository), number}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return std::string(rows.text(0, 0));
}

std::optional<PullRequest> PullRequestStore::find(RepositoryId repository, std::string_view id) {
  const db::Rows rows =
      pool_.run(kSelect, {static_cast<int32_t>(repository), id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return pull_from(rows, 0);
}

Page<PullRequest> PullRequestStore::list(RepositoryId repository, PullRequestFilter filter,
                                         const PageStart& start) {
  const int32_t repo = static_cast<int32_t>(repository);
  const int64_t rows_max = row_limit(start.limit);
  const db::Rows rows =
      filter == PullRequestFilter::kOpen
          ? pool_.run(kSelectOpenPage, {repo, start.after, start.prefix, rows_max},
                      db::Pool::Retry::kRead)
          : pool_.run(
                kSelectPage,
                {repo, start.after, start.prefix, rows_max, filter == PullRequestFilter::kAll},
                db::Pool::Retry::kRead);
  return page_of<PullRequest>(rows, start.limit, pull_from, &PullRequest::id);
}

bool PullRequestStore::update(RepositoryId repository, std::string_view id,
                              const PullRequestChange& change, Instant now) {
  std::optional<std::string> status;
  if (change.status) status = name_of(*change.status);
  return pool_
             .run(kUpdate,
                  {static_cast<int32_t>(repository), id, change.title, change.description, status,
                   to_millis(now)},
                  db::Pool::Retry::kWrite)
             .affected() == 1;
}

bool PullRequestStore::mark_merged(db::Connection& connection, RepositoryId repository,
                                   std::string_view id, const Commit& commit) {
  return connection
             .run(kMarkMerged, {static_cast<int32_t>(repository), id, db::Bytes{view_of(commit.id)},
                                to_millis(commit.created)})
             .affected() == 1;
}

std::optional<Approval> PullRequestStore::approve(RepositoryId repository, const PullRequest& pull,
                                                  const Approval& approval) {
  const db::Rows rows =
      pool_.run(kUpsertApproval,
                {static_cast<int32_t>(repository), pull.id, approval.user,
                 db::Bytes{view_of(approval.commit)}, to_millis(approval.created)},
                db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  Approval made = approval;
  made.created = from_millis(rows.integer(0, 0));
  return made;
}

Page<Approval> PullRequestStore::approvals(RepositoryId repository, const PullRequest& pull,
                                           const PageStart& start) {
  const db::Rows rows = pool_.run(kSelectApprovals,
                                  {static_cast<int32_t>(repository), pull.id, pull.source.str(),
                                   start.after, start.prefix, row_limit(start.limit)},
                                  db::Pool::Retry::kRead);
  return page_of<Approval>(rows, start.limit, approval_from, &Approval::user);
}

bool PullRequestStore::withdraw(RepositoryId repository, const PullRequest& pull,
                                std::string_view user) {
  return pool_
             .run(kDeleteApproval, {static_cast<int32_t>(repository), pull.id, user},
                  db::Pool::Retry::kWrite)
             .affected() == 1;
}

uint32_t PullRequestStore::hold_approvals(db::Connection& connection, RepositoryId repository,
                                          const BranchName& destination, const CommitId& commit) {
  const db::Rows rows = connection.run(
      kHoldApprovals,
      {static_cast<int32_t>(repository), destination.str(), db::Bytes{view_of(commit)}});
  return static_cast<uint32_t>(rows.integer(0, 0));
}

uint32_t PullRequestStore::count_approvals(RepositoryId repository, const BranchName& destination,
                                           const CommitId& commit) {
  const db::Rows rows =
      pool_.run(kCountApprovals,
                {static_cast<int32_t>(repository), destination.str(), db::Bytes{view_of(commit)}},
                db::Pool::Retry::kRead);
  return static_cast<uint32_t>(rows.integer(0, 0));
}

}  // namespace tarn::branch
