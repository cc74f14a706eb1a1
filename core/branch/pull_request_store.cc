#include "core/branch/pull_request_store.h"

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/meta/commit_column.h"
#include "core/model/listing.h"

namespace tarn::branch {
namespace {

#define TARN_PULL_COLUMNS                                                                  \
  "pull_id, number, title, description, status, author, source, destination, created_ms, " \
  "closed_ms, merged_commit, merged_source FROM pull_requests"

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
  UPDATE pull_requests SET status = 'merged', merged_commit = $3, closed_ms = $4, merged_source = $5
  WHERE repo_id = $1 AND pull_id = $2 AND status = 'open')sql"};

// Waits for merges that hold the pull request, and finds it merged then.
constexpr db::Query kUpsertReview{"pull_requests_upsert_review", R"sql(
  WITH pull AS (
    SELECT repo_id, pull_id FROM pull_requests WHERE repo_id = $1 AND pull_id = $2 AND status = 'open'
    FOR NO KEY UPDATE)
  INSERT INTO pull_reviewers AS r (repo_id, pull_id, user_id, verdict, commit_id, reviewed_ms)
  SELECT p.repo_id, p.pull_id, u.user_id, $4, $5, $6 FROM pull p, users u WHERE u.name = $3
  ON CONFLICT (repo_id, pull_id, user_id) DO UPDATE SET
    verdict = excluded.verdict, commit_id = excluded.commit_id,
    reviewed_ms = CASE WHEN r.verdict = excluded.verdict AND r.commit_id = excluded.commit_id
                       THEN r.reviewed_ms ELSE excluded.reviewed_ms END
  RETURNING reviewed_ms)sql"};

constexpr db::Query kSelectApprovals{"pull_requests_select_approvals", R"sql(
  SELECT u.name, a.commit_id, a.reviewed_ms, b.head IS NOT NULL AS valid
  FROM pull_reviewers a JOIN users u ON u.user_id = a.user_id
    LEFT JOIN branches b ON b.repo_id = a.repo_id AND b.name = $3 AND b.head = a.commit_id
  WHERE a.repo_id = $1 AND a.pull_id = $2 AND a.verdict = 'approved'
    AND u.name > $4 AND u.name >= $5 AND starts_with(u.name, $5)
  ORDER BY u.name LIMIT $6)sql"};

constexpr db::Query kSelectReviewers{"pull_requests_select_reviewers", R"sql(
  SELECT u.name, coalesce(r.asked_by, ''), r.verdict, r.commit_id, r.reviewed_ms,
    r.commit_id IS DISTINCT FROM coalesce(p.merged_source, b.head)
  FROM pull_reviewers r JOIN users u ON u.user_id = r.user_id
    JOIN pull_requests p ON p.repo_id = r.repo_id AND p.pull_id = r.pull_id
    LEFT JOIN branches b ON b.repo_id = p.repo_id AND b.name = p.source
  WHERE r.repo_id = $1 AND r.pull_id = $2 AND (r.asked_by IS NOT NULL OR r.verdict IS NOT NULL)
    AND u.name > $3 AND u.name >= $4 AND starts_with(u.name, $4)
  ORDER BY u.name LIMIT $5)sql"};

constexpr db::Query kWithdrawReview{"pull_requests_withdraw_review", R"sql(
  UPDATE pull_reviewers r SET verdict = NULL, commit_id = NULL, reviewed_ms = NULL FROM users u
  WHERE r.repo_id = $1 AND r.pull_id = $2 AND u.user_id = r.user_id AND u.name = $3
    AND r.verdict = ANY ($4))sql"};

constexpr db::Query kLockOpen{"pull_requests_lock_open", R"sql(
  SELECT 1 FROM pull_requests WHERE repo_id = $1 AND pull_id = $2 AND status = 'open'
  FOR NO KEY UPDATE)sql"};

constexpr db::Query kAskNoMore{"pull_requests_ask_no_more", R"sql(
  UPDATE pull_reviewers r SET asked_by = NULL FROM users u
  WHERE r.repo_id = $1 AND r.pull_id = $2 AND r.asked_by IS NOT NULL
    AND u.user_id = r.user_id AND u.name <> ALL ($3))sql"};

constexpr db::Query kAsk{"pull_requests_ask_reviewers", R"sql(
  INSERT INTO pull_reviewers AS r (repo_id, pull_id, user_id, asked_by)
  SELECT $1, $2, user_id, $4 FROM users WHERE name = ANY ($3)
  ON CONFLICT (repo_id, pull_id, user_id) DO UPDATE SET asked_by = coalesce(r.asked_by, excluded.asked_by))sql"};

constexpr db::Query kSelectUnknown{"pull_requests_select_unknown_user", R"sql(
  SELECT t.name FROM unnest($1::text[]) AS t(name)
  WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.name = t.name) LIMIT 1)sql"};

// Index pull_requests_open. Of the open pull requests from a branch with that head: the most
// approvals that one has, and the first request for changes.
constexpr db::Query kCountReviews{"pull_requests_count_reviews", R"sql(
  WITH reviews AS (
    SELECT p.number, r.user_id, r.verdict, r.commit_id
    FROM pull_requests p
      JOIN branches b ON b.repo_id = p.repo_id AND b.name = p.source AND b.head = $3
      JOIN pull_reviewers r ON r.repo_id = p.repo_id AND r.pull_id = p.pull_id
    WHERE p.repo_id = $1 AND p.destination = $2 AND p.status = 'open'),
  objections AS (
    SELECT r.number, u.name FROM reviews r JOIN users u ON u.user_id = r.user_id
    WHERE r.verdict = 'changes_requested' ORDER BY r.number, u.name LIMIT 1)
  SELECT coalesce((SELECT max(valid) FROM (
           SELECT count(*) AS valid FROM reviews WHERE verdict = 'approved' AND commit_id = $3
           GROUP BY number) AS counts), 0),
    (SELECT name FROM objections), (SELECT number FROM objections))sql"};

// A review takes a lock of the pull request that this one excludes, and withdrawing one locks its
// row only. Both locks come before the statement that counts, which therefore sees what was
// committed while they were waited for.
constexpr db::Query kHoldOpen{"pull_requests_hold_open", R"sql(
  SELECT 1 FROM pull_requests p JOIN branches b ON b.repo_id = p.repo_id AND b.name = p.source AND b.head = $3
  WHERE p.repo_id = $1 AND p.destination = $2 AND p.status = 'open' FOR SHARE OF p)sql"};
constexpr db::Query kHoldReviews{"pull_requests_hold_reviews", R"sql(
  SELECT 1 FROM pull_requests p
    JOIN branches b ON b.repo_id = p.repo_id AND b.name = p.source AND b.head = $3
    JOIN pull_reviewers r ON r.repo_id = p.repo_id AND r.pull_id = p.pull_id
  WHERE p.repo_id = $1 AND p.destination = $2 AND p.status = 'open' FOR SHARE OF r)sql"};

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
      kMergedCommit,
      kMergedSource
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
  pull.merged_source = meta::commit_or_none(rows, row, Column::kMergedSource);
  return pull;
}

Approval approval_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kName, kCommitId, kReviewedMs, kValid };
  };
  return {.user = std::string(rows.text(row, Column::kName)),
          .commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
          .created = from_millis(rows.integer(row, Column::kReviewedMs)),
          .valid = rows.boolean(row, Column::kValid)};
}

Reviewer reviewer_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kName, kAskedBy, kVerdict, kCommitId, kReviewedMs, kOutdated };
  };
  Reviewer out{.user = std::string(rows.text(row, Column::kName)),
               .asked_by = std::string(rows.text(row, Column::kAskedBy))};
  if (rows.null(row, Column::kVerdict)) return out;
  const auto verdict = parse_review_verdict(rows.text(row, Column::kVerdict));
  if (!verdict) throw Error(ErrorCode::kDataLoss, "reviewer row: has an unknown verdict");
  out.review = {.verdict = *verdict,
                .commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
                .created = from_millis(rows.integer(row, Column::kReviewedMs)),
                .outdated = rows.boolean(row, Column::kOutdated)};
  return out;
}

ReviewCount count_from(const db::Rows& rows) {
  struct Column {
    enum : int { kApprovals, kObjector, kNumber };
  };
  ReviewCount count{.approvals = static_cast<uint32_t>(rows.integer(0, Column::kApprovals))};
  if (rows.null(0, Column::kNumber)) return count;
  count.objector = rows.text(0, Column::kObjector);
  count.number = static_cast<int32_t>(rows.integer(0, Column::kNumber));
  return count;
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
                                   std::string_view id, const Commit& commit,
                                   const CommitId& source) {
  return connection
             .run(kMarkMerged, {static_cast<int32_t>(repository), id, db::Bytes{view_of(commit.id)},
                                to_millis(commit.created), db::Bytes{view_of(source)}})
             .affected() == 1;
}

std::optional<Instant> PullRequestStore::review(RepositoryId repository, const PullRequest& pull,
                                                std::string_view user, const Review& review) {
  const db::Rows rows =
      pool_.run(kUpsertReview,
                {static_cast<int32_t>(repository), pull.id, user, name_of(review.verdict),
                 db::Bytes{view_of(review.commit)}, to_millis(review.created)},
                db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return from_millis(rows.integer(0, 0));
}

Page<Approval> PullRequestStore::approvals(RepositoryId repository, const PullRequest& pull,
                                           const PageStart& start) {
  const db::Rows rows = pool_.run(kSelectApprovals,
                                  {static_cast<int32_t>(repository), pull.id, pull.source.str(),
                                   start.after, start.prefix, row_limit(start.limit)},
                                  db::Pool::Retry::kRead);
  return page_of<Approval>(rows, start.limit, approval_from, &Approval::user);
}

Page<Reviewer> PullRequestStore::reviewers(RepositoryId repository, std::string_view id,
                                           const PageStart& start) {
  const db::Rows rows = pool_.run(
      kSelectReviewers,
      {static_cast<int32_t>(repository), id, start.after, start.prefix, row_limit(start.limit)},
      db::Pool::Retry::kRead);
  return page_of<Reviewer>(rows, start.limit, reviewer_from, &Reviewer::user);
}

bool PullRequestStore::withdraw(RepositoryId repository, const PullRequest& pull,
                                std::string_view user, const std::vector<ReviewVerdict>& of) {
  std::vector<std::string> verdicts;
  for (const ReviewVerdict verdict : of) verdicts.emplace_back(name_of(verdict));
  return pool_
             .run(kWithdrawReview, {static_cast<int32_t>(repository), pull.id, user, verdicts},
                  db::Pool::Retry::kWrite)
             .affected() == 1;
}

bool PullRequestStore::ask(db::Connection& connection, RepositoryId repository, std::string_view id,
                           const std::vector<std::string>& users, std::string_view asked_by) {
  const int32_t repo = static_cast<int32_t>(repository);
  if (connection.run(kLockOpen, {repo, id}).empty()) return false;
  const db::Rows unknown = connection.run(kSelectUnknown, {users});
  if (!unknown.empty()) {
    throw Error(ErrorCode::kNotFound, str_cat("user not found: '", unknown.text(0, 0), "'"));
  }
  connection.run(kAskNoMore, {repo, id, users});
  connection.run(kAsk, {repo, id, users, asked_by});
  return true;
}

ReviewCount PullRequestStore::hold_reviews(db::Connection& connection, RepositoryId repository,
                                           const BranchName& destination, const CommitId& commit) {
  const int32_t repo = static_cast<int32_t>(repository);
  const db::Bytes source{view_of(commit)};
  connection.run(kHoldOpen, {repo, destination.str(), source});
  connection.run(kHoldReviews, {repo, destination.str(), source});
  return count_from(connection.run(kCountReviews, {repo, destination.str(), source}));
}

ReviewCount PullRequestStore::count_reviews(RepositoryId repository, const BranchName& destination,
                                            const CommitId& commit) {
  return count_from(
      pool_.run(kCountReviews,
                {static_cast<int32_t>(repository), destination.str(), db::Bytes{view_of(commit)}},
                db::Pool::Retry::kRead));
}

}  // namespace tarn::branch
