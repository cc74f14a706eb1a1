#include "core/meta/repository_settings.h"

namespace tarn::meta {
namespace {

/// Maximum number of repositories with cached settings; a full cache is cleared.
constexpr size_t kCachedMax = 4096;

constexpr db::Query kSelect{"repository_settings_select_body", R"sql(
  SELECT body FROM repository_settings WHERE repo_id = $1 AND kind = $2)sql"};

constexpr db::Query kSelectVersioned{"repository_settings_select_versioned", R"sql(
  SELECT r.settings_version, s.body
  FROM repositories r LEFT JOIN repository_settings s ON s.repo_id = r.repo_id AND s.kind = $2
  WHERE r.repo_id = $1)sql"};

// The settings that writes and reads of objects need, in one snapshot.
constexpr db::Query kSelectCached{"repository_settings_select_cached", R"sql(
  SELECT r.settings_version, r.versioning, s.body AS branch_rules, l.body AS lifecycle
  FROM repositories r
  LEFT JOIN repository_settings s ON s.repo_id = r.repo_id AND s.kind = $2
  LEFT JOIN repository_settings l ON l.repo_id = r.repo_id AND l.kind = $3
  WHERE r.repo_id = $1)sql"};

// First in its transaction: the row lock serialises changes.
constexpr db::Query kBumpVersion{"repository_settings_bump_version", R"sql(
  UPDATE repositories SET settings_version = settings_version + 1 WHERE repo_id = $1 AND deleted_ms IS NULL)sql"};

constexpr db::Query kSelectVersioning{"repository_settings_select_versioning", R"sql(
  SELECT versioning FROM repositories WHERE repo_id = $1)sql"};

constexpr db::Query kUpdateVersioning{"repository_settings_update_versioning", R"sql(
  UPDATE repositories SET versioning = $2, settings_version = settings_version + 1
  WHERE repo_id = $1 AND deleted_ms IS NULL)sql"};

constexpr db::Query kUpsert{"repository_settings_upsert_body", R"sql(
  INSERT INTO repository_settings (repo_id, kind, body) VALUES ($1, $2, $3)
  ON CONFLICT (repo_id, kind) DO UPDATE SET body = excluded.body)sql"};

constexpr db::Query kDelete{"repository_settings_delete_body", R"sql(
  DELETE FROM repository_settings WHERE repo_id = $1 AND kind = $2)sql"};

std::string_view text_of(SettingKind kind) {
  switch (kind) {
    case SettingKind::kBranchRules:
      return "branch_rules";
    case SettingKind::kTagRules:
      return "tag_rules";
    case SettingKind::kCollectionRules:
      return "collection_rules";
    case SettingKind::kMetricFiles:
      return "metric_files";
    case SettingKind::kBucket:
      return "bucket";
    case SettingKind::kLifecycle:
      return "lifecycle";
    case SettingKind::kBranchCleanup:
      return "branch_cleanup";
    case SettingKind::kCors:
      return "cors";
  }
  check_failed("SettingKind", __FILE__, __LINE__);
}

constexpr std::string_view kEnabledText = "enabled";
constexpr std::string_view kSuspendedText = "suspended";

std::string_view text_of(Versioning versioning) {
  switch (versioning) {
    case Versioning::kOff:
      return "off";
    case Versioning::kEnabled:
      return kEnabledText;
    case Versioning::kSuspended:
      return kSuspendedText;
  }
  check_failed("Versioning", __FILE__, __LINE__);
}

Versioning versioning_from(std::string_view text) {
  if (text == kEnabledText) return Versioning::kEnabled;
  return text == kSuspendedText ? Versioning::kSuspended : Versioning::kOff;
}

std::optional<std::string> body_from(const db::Rows& rows) {
  if (rows.empty()) return std::nullopt;
  return std::string(rows.bytes(0, 0));
}

}  // namespace

std::optional<std::string> RepositorySettings::find(RepositoryId repository, SettingKind kind) {
  return body_from(pool_.run(kSelect, {static_cast<int32_t>(repository), text_of(kind)},
                             db::Pool::Retry::kRead));
}

std::optional<RepositorySettings::Versioned> RepositorySettings::find_versioned(
    RepositoryId repository, SettingKind kind) {
  struct Column {
    enum : int { kSettingsVersion, kBody };
  };
  const db::Rows rows = pool_.run(
      kSelectVersioned, {static_cast<int32_t>(repository), text_of(kind)}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  Versioned out{rows.integer(0, Column::kSettingsVersion), std::nullopt};
  if (!rows.null(0, Column::kBody)) out.body = std::string(rows.bytes(0, Column::kBody));
  return out;
}

bool RepositorySettings::update(RepositoryId repository, SettingKind kind, const Change& change) {
  const int32_t repo = static_cast<int32_t>(repository);
  return pool_.transaction([&](db::Connection& connection) {
    if (connection.run(kBumpVersion, {repo}).affected() == 0) return false;
    rewrite(connection, repository, kind, change);
    return true;
  });
}

void RepositorySettings::rewrite(db::Connection& connection, RepositoryId repository,
                                 SettingKind kind, const Change& change) {
  const int32_t repo = static_cast<int32_t>(repository);
  const std::optional<std::string> body =
      change(body_from(connection.run(kSelect, {repo, text_of(kind)})));
  if (body) {
    connection.run(kUpsert, {repo, text_of(kind), db::Bytes{*body}});
  } else {
    connection.run(kDelete, {repo, text_of(kind)});
  }
}

RepositorySettings::Cached RepositorySettings::cached(RepositoryId repository, int64_t version) {
  struct Column {
    enum : int { kSettingsVersion, kVersioning, kBranchRules, kLifecycle };
  };
  static const auto kNoRules = std::make_shared<const std::vector<BranchRule>>();
  static const auto kNoLifecycle = std::make_shared<const LifecycleRules>();
  const Cached none{0, kNoRules, Versioning::kOff, kNoLifecycle};
  if (version == 0) return none;
  {
    MutexLock lock(mutex_);
    const auto at = cached_.find(repository);
    if (at != cached_.end() && at->second.version >= version) return at->second;
  }
  const db::Rows rows =
      pool_.run(kSelectCached,
                {static_cast<int32_t>(repository), text_of(SettingKind::kBranchRules),
                 text_of(SettingKind::kLifecycle)},
                db::Pool::Retry::kRead);
  if (rows.empty()) return none;
  Cached read = none;
  read.version = rows.integer(0, Column::kSettingsVersion);
  read.versioning = versioning_from(rows.text(0, Column::kVersioning));
  if (!rows.null(0, Column::kBranchRules)) {
    read.rules = std::make_shared<const std::vector<BranchRule>>(
        decode_branch_rules(rows.bytes(0, Column::kBranchRules)));
  }
  if (!rows.null(0, Column::kLifecycle)) {
    read.lifecycle =
        std::make_shared<const LifecycleRules>(decode_lifecycle(rows.bytes(0, Column::kLifecycle)));
  }
  MutexLock lock(mutex_);
  if (cached_.size() >= kCachedMax) cached_.clear();
  Cached& kept = cached_[repository];
  if (kept.version < read.version) kept = read;
  return read;
}

std::shared_ptr<const std::vector<BranchRule>> RepositorySettings::branch_rules(
    RepositoryId repository, int64_t version) {
  return cached(repository, version).rules;
}

std::shared_ptr<const LifecycleRules> RepositorySettings::lifecycle(
    RepositoryId repository, std::optional<int64_t> version) {
  if (version) return cached(repository, *version).lifecycle;
  const std::optional<std::string> body = find(repository, SettingKind::kLifecycle);
  return std::make_shared<const LifecycleRules>(body ? decode_lifecycle(*body) : LifecycleRules{});
}

Versioning RepositorySettings::versioning(RepositoryId repository, int64_t version) {
  return cached(repository, version).versioning;
}

Versioning RepositorySettings::versioning(RepositoryId repository) {
  const db::Rows rows =
      pool_.run(kSelectVersioning, {static_cast<int32_t>(repository)}, db::Pool::Retry::kRead);
  return rows.empty() ? Versioning::kOff : versioning_from(rows.text(0, 0));
}

bool RepositorySettings::set_versioning(RepositoryId repository, Versioning versioning) {
  return pool_
             .run(kUpdateVersioning, {static_cast<int32_t>(repository), text_of(versioning)},
                  db::Pool::Retry::kRepeatable)
             .affected() == 1;
}

}  // namespace tarn::meta
