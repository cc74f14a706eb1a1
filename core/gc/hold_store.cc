#include "core/gc/hold_store.h"

#include <span>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/meta/commits.h"

namespace tarn::gc {
namespace {

constexpr db::Query kInsertHold{"holds_insert_row", R"sql(
  INSERT INTO gc_holds (repo_id, hold_id, commit_id, until_ms, reason, actor, created_ms, path)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8))sql"};
constexpr db::Query kWriterLives{"holds_writer_lives", "SELECT writer_lives($1)"};
constexpr db::Query kCount{"holds_count_rows", "SELECT count(*) FROM gc_holds WHERE repo_id = $1"};
constexpr db::Query kSelectPage{"holds_select_page", R"sql(
  SELECT hold_id, commit_id, until_ms, reason, actor, created_ms, path FROM gc_holds
  WHERE repo_id = $1 AND hold_id > $2 ORDER BY hold_id LIMIT $3)sql"};
constexpr db::Query kDelete{"holds_delete_row",
                            "DELETE FROM gc_holds WHERE repo_id = $1 AND hold_id = $2"};

int32_t key_of(RepositoryId repository) { return static_cast<int32_t>(repository); }

void lock_commit(db::Connection& connection, RepositoryId repository, const CommitId& id) {
  if (meta::Commits::hold(connection, repository, std::span(&id, 1))) return;
  throw Error(ErrorCode::kNotFound, reason::kCommitNotFound, "commit not found");
}

void insert_row(db::Connection& connection, RepositoryId repository, const Hold& hold) {
  const db::Param until =
      hold.until ? db::Param(to_millis(*hold.until)) : db::Param(std::optional<int64_t>());
  connection.run(kInsertHold, {key_of(repository), hold.id, db::Bytes{view_of(hold.commit)}, until,
                               hold.reason, hold.actor, to_millis(hold.created), hold.path});
}

}  // namespace

void Holds::insert(RepositoryId repository, const Hold& hold) {
  pool_.transaction([&](db::Connection& connection) {
    lock_commit(connection, repository, hold.commit);
    insert_row(connection, repository, hold);
  });
}

// While the source is there its objects and nodes are marked, and the writer's floor keeps the new
// nodes: so all that the new commit has is there when its row is.
void Holds::insert(RepositoryId repository, const Hold& hold, const Commit& made,
                   const CommitId& source, int64_t writer) {
  pool_.transaction([&](db::Connection& connection) {
    lock_commit(connection, repository, source);
    if (!connection.run(kWriterLives, {writer}).boolean(0, 0)) {
      throw Error(ErrorCode::kUnavailable, reason::kWriterLost,
                  "holding a path: the server lost its registration in the database, try again");
    }
    meta::Commits::insert(connection, repository, made, {hold.actor});
    lock_commit(connection, repository, made.id);
    insert_row(connection, repository, hold);
  });
}

int64_t Holds::count(RepositoryId repository) {
  return pool_.run(kCount, {key_of(repository)}, db::Pool::Retry::kRead).integer(0, 0);
}

std::vector<Hold> Holds::list(RepositoryId repository, std::string_view after, uint32_t limit) {
  struct Column {
    enum : int { kHoldId, kCommitId, kUntilMs, kReason, kActor, kCreatedMs, kPath };
  };
  const db::Rows rows =
      pool_.run(kSelectPage, {key_of(repository), after, int64_t{limit}}, db::Pool::Retry::kRead);
  std::vector<Hold> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    Hold hold;
    hold.id = rows.text(row, Column::kHoldId);
    hold.commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId));
    if (!rows.null(row, Column::kUntilMs))
      hold.until = from_millis(rows.integer(row, Column::kUntilMs));
    hold.reason = rows.text(row, Column::kReason);
    hold.actor = rows.text(row, Column::kActor);
    hold.created = from_millis(rows.integer(row, Column::kCreatedMs));
    hold.path = rows.text(row, Column::kPath);
    out.push_back(std::move(hold));
  }
  return out;
}

bool Holds::remove(RepositoryId repository, std::string_view id) {
  return pool_.run(kDelete, {key_of(repository), id}, db::Pool::Retry::kWrite).affected() == 1;
}

}  // namespace tarn::gc
