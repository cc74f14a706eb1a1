#include "core/versioning/pull_comment_store.h"

#include "core/meta/commit_column.h"
#include "core/model/listing.h"

namespace tarn::versioning {
namespace {

// The counter of the pull request is the lock that numbers one comment at a time.
constexpr db::Query kInsertComment{"pull_comments_insert_row", R"sql(
  WITH pull AS (
    UPDATE pull_requests p SET comments = comments + 1
    WHERE repo_id = $1 AND pull_id = $2 AND comments < $10 AND EXISTS (SELECT 1 FROM users WHERE name = $4)
      AND ($3::integer = 0 OR EXISTS (
        SELECT 1 FROM pull_comments t
        WHERE t.repo_id = $1 AND t.pull_id = $2 AND t.comment_id = $3 AND t.thread_id = $3))
    RETURNING comments)
  INSERT INTO pull_comments (repo_id, pull_id, comment_id, thread_id, author_id, author, body, path, line, row_number,
    commit_id, created_ms)
  SELECT $1, $2, p.comments, CASE WHEN $3 = 0 THEN p.comments ELSE $3 END, u.user_id, u.name, $5, $6, $7, $8, $9, $11
  FROM pull p, users u WHERE u.name = $4
  RETURNING comment_id)sql"};

#define TARN_COMMENT_COLUMNS                                                                      \
  "SELECT c.comment_id, c.thread_id, c.author, c.body, coalesce(c.path, ''), c.line, "            \
  "c.row_number, c.commit_id, c.created_ms, c.edited_ms, c.deleted, "                             \
  "c.commit_id IS DISTINCT FROM coalesce(p.merged_source, b.head), "                              \
  "coalesce(c.resolved_by, '') "                                                                  \
  "FROM pull_comments c JOIN pull_requests p ON p.repo_id = c.repo_id AND p.pull_id = c.pull_id " \
  "LEFT JOIN branches b ON b.repo_id = p.repo_id AND b.name = p.source "                          \
  "WHERE c.repo_id = $1 AND c.pull_id = $2"

constexpr db::Query kSelectComment{"pull_comments_select_by_id",
                                   TARN_COMMENT_COLUMNS " AND c.comment_id = $3"};

constexpr db::Query kSelectComments{"pull_comments_select_page", TARN_COMMENT_COLUMNS R"sql(
    AND c.comment_id > $3 ORDER BY c.comment_id LIMIT $4)sql"};

constexpr db::Query kEditComment{"pull_comments_update_body", R"sql(
  UPDATE pull_comments c SET body = $5, edited_ms = $6 FROM users u
  WHERE c.repo_id = $1 AND c.pull_id = $2 AND c.comment_id = $3 AND NOT c.deleted
    AND u.name = $4 AND u.user_id = c.author_id)sql"};

constexpr db::Query kRemoveComment{"pull_comments_remove_body", R"sql(
  UPDATE pull_comments c SET body = '', deleted = true FROM users u
  WHERE c.repo_id = $1 AND c.pull_id = $2 AND c.comment_id = $3 AND NOT c.deleted
    AND u.name = $4 AND u.user_id = c.author_id)sql"};

constexpr db::Query kResolveThread{"pull_comments_resolve_thread", R"sql(
  UPDATE pull_comments SET resolved_by = CASE WHEN $4 <> '' THEN coalesce(resolved_by, $4) END
  WHERE repo_id = $1 AND pull_id = $2 AND comment_id = $3 AND thread_id = comment_id)sql"};

PullComment comment_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kCommentId,
      kThreadId,
      kAuthor,
      kBody,
      kPath,
      kLine,
      kRowNumber,
      kCommitId,
      kCreatedMs,
      kEditedMs,
      kDeleted,
      kOutdated,
      kResolvedBy
    };
  };
  const auto number = [&](int column) { return static_cast<int32_t>(rows.integer(row, column)); };
  PullComment out{.id = number(Column::kCommentId),
                  .thread = number(Column::kThreadId),
                  .author = std::string(rows.text(row, Column::kAuthor)),
                  .body = std::string(rows.text(row, Column::kBody)),
                  .path = std::string(rows.text(row, Column::kPath)),
                  .commit = meta::commit_or_none(rows, row, Column::kCommitId),
                  .created = from_millis(rows.integer(row, Column::kCreatedMs)),
                  .deleted = rows.boolean(row, Column::kDeleted),
                  .outdated = rows.boolean(row, Column::kOutdated),
                  .resolved_by = std::string(rows.text(row, Column::kResolvedBy))};
  if (!rows.null(row, Column::kLine)) out.line = number(Column::kLine);
  if (!rows.null(row, Column::kRowNumber)) out.row = number(Column::kRowNumber);
  if (!rows.null(row, Column::kEditedMs)) {
    out.edited = from_millis(rows.integer(row, Column::kEditedMs));
  }
  return out;
}

}  // namespace

std::optional<int32_t> PullCommentStore::create(RepositoryId repository, std::string_view pull,
                                                const PullComment& comment) {
  std::optional<std::string> path;
  if (!comment.path.empty()) path = comment.path;
  std::optional<db::Bytes> commit;
  if (comment.commit) commit = db::Bytes{view_of(*comment.commit)};
  const db::Rows rows = pool_.run(
      kInsertComment,
      {static_cast<int32_t>(repository), pull, comment.thread, comment.author, comment.body, path,
       comment.line, comment.row, commit, kPullCommentsMax, to_millis(comment.created)},
      db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return static_cast<int32_t>(rows.integer(0, 0));
}

std::optional<PullComment> PullCommentStore::find(RepositoryId repository, std::string_view pull,
                                                  int32_t id) {
  const db::Rows rows = pool_.run(kSelectComment, {static_cast<int32_t>(repository), pull, id},
                                  db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return comment_from(rows, 0);
}

Page<PullComment> PullCommentStore::list(RepositoryId repository, std::string_view pull,
                                         int32_t after, uint32_t limit) {
  const db::Rows rows =
      pool_.run(kSelectComments, {static_cast<int32_t>(repository), pull, after, row_limit(limit)},
                db::Pool::Retry::kRead);
  return page_of<PullComment>(rows, limit, comment_from, [](const PullComment& comment) {
    return std::to_string(comment.id);
  });
}

bool PullCommentStore::edit(RepositoryId repository, std::string_view pull, int32_t id,
                            std::string_view author, std::string_view body, Instant now) {
  return pool_
             .run(kEditComment,
                  {static_cast<int32_t>(repository), pull, id, author, body, to_millis(now)},
                  db::Pool::Retry::kWrite)
             .affected() == 1;
}

bool PullCommentStore::remove(RepositoryId repository, std::string_view pull, int32_t id,
                              std::string_view author) {
  return pool_
             .run(kRemoveComment, {static_cast<int32_t>(repository), pull, id, author},
                  db::Pool::Retry::kWrite)
             .affected() == 1;
}

bool PullCommentStore::resolve(RepositoryId repository, std::string_view pull, int32_t thread,
                               std::string_view resolved_by) {
  return pool_
             .run(kResolveThread, {static_cast<int32_t>(repository), pull, thread, resolved_by},
                  db::Pool::Retry::kWrite)
             .affected() == 1;
}

}  // namespace tarn::versioning
