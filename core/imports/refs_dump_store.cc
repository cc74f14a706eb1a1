#include "core/imports/refs_dump_store.h"

#include "core/base/error.h"

namespace tarn::imports {
namespace {

// One statement, so all refs are of one moment.
constexpr db::Query kSelectRefs{"refs_dump_select_refs", R"sql(
  SELECT 0 AS kind, name, head, hidden FROM branches WHERE repo_id = $1
  UNION ALL SELECT 1, name, commit_id, false FROM tags WHERE repo_id = $1
  UNION ALL SELECT 2, name, commit_id, false FROM aliases WHERE repo_id = $1 AND commit_id IS NOT NULL
  ORDER BY kind, name LIMIT $2)sql"};

constexpr db::Query kLockRepository{"refs_dump_lock_repository", R"sql(
  SELECT writer_lives($2), settings_version FROM repositories WHERE repo_id = $1 AND deleted_ms IS NULL FOR UPDATE)sql"};

constexpr db::Query kSettingsVersion{"refs_dump_settings_version", R"sql(
  SELECT settings_version FROM repositories WHERE repo_id = $1)sql"};

constexpr db::Query kIsBare{"refs_dump_is_bare", R"sql(
  SELECT NOT EXISTS (SELECT 1 FROM branches WHERE repo_id = $1)
     AND NOT EXISTS (SELECT 1 FROM tags WHERE repo_id = $1)
     AND NOT EXISTS (SELECT 1 FROM commits WHERE repo_id = $1))sql"};

// Skips the locks of names that create_branch takes: nobody else creates refs while the
// repository's row is locked, and one lock per ref would fill the server's lock table.
constexpr db::Query kInsertBranch{"refs_dump_insert_branch", R"sql(
  INSERT INTO branches (repo_id, name, head, root_nid, root_hash, token, hidden)
  SELECT $1, $2, commit_id, root_nid, root_hash, nextval('staging_tokens'), $4
  FROM commits WHERE repo_id = $1 AND commit_id = $3)sql"};

constexpr db::Query kInsertTag{"refs_dump_insert_tag", R"sql(
  INSERT INTO tags (repo_id, name, commit_id) VALUES ($1, $2, $3))sql"};

}  // namespace

std::vector<DumpedRef> RefsDumpStore::list(RepositoryId repository, size_t most) {
  struct Column {
    enum : int { kKind, kName, kHead, kHidden };
  };
  const db::Rows rows =
      pool_.run(kSelectRefs, {static_cast<int32_t>(repository), static_cast<int64_t>(most)},
                db::Pool::Retry::kRead);
  std::vector<DumpedRef> out;
  out.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({.kind = static_cast<RefKind>(rows.integer(row, Column::kKind)),
                   .hidden = rows.boolean(row, Column::kHidden),
                   .name = std::string(rows.text(row, Column::kName)),
                   .commit = commit_id_from_bytes(rows.bytes(row, Column::kHead))});
  }
  return out;
}

bool RefsDumpStore::is_bare(RepositoryId repository) {
  return pool_.run(kIsBare, {static_cast<int32_t>(repository)}, db::Pool::Retry::kRead)
      .boolean(0, 0);
}

int64_t RefsDumpStore::settings_version(RepositoryId repository) {
  return pool_.run(kSettingsVersion, {static_cast<int32_t>(repository)}, db::Pool::Retry::kRead)
      .integer(0, 0);
}

std::optional<RefsDumpStore::Locked> RefsDumpStore::lock(db::Connection& connection,
                                                         RepositoryId repository, int64_t writer) {
  struct Column {
    enum : int { kWriterLives, kSettingsVersion };
  };
  const db::Rows locked =
      connection.run(kLockRepository, {static_cast<int32_t>(repository), writer});
  if (locked.empty()) return std::nullopt;
  return Locked{locked.boolean(0, Column::kWriterLives),
                locked.integer(0, Column::kSettingsVersion)};
}

bool RefsDumpStore::is_bare(db::Connection& connection, RepositoryId repository) {
  return connection.run(kIsBare, {static_cast<int32_t>(repository)}).boolean(0, 0);
}

void RefsDumpStore::insert(db::Connection& connection, RepositoryId repository,
                           const DumpedRef& ref, const CommitId& commit) {
  const int32_t target = static_cast<int32_t>(repository);
  const db::Bytes id{view_of(commit)};
  switch (ref.kind) {
    case RefKind::kBranch:
      connection.run(kInsertBranch, {target, ref.name, id, ref.hidden});
      return;
    case RefKind::kTag:
      connection.run(kInsertTag, {target, ref.name, id});
      return;
    case RefKind::kAlias:
      break;  // has its own history: branch::AliasStore::move
  }
  check_failed("RefKind", __FILE__, __LINE__);
}

}  // namespace tarn::imports
