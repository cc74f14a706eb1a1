// Settings of repositories: one document of each kind, and a cache of the rules that every write
// checks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/db/pool.h"
#include "core/model/branch_rule.h"
#include "core/model/lifecycle.h"
#include "core/model/names.h"
#include "core/model/object_version.h"

namespace tarn::meta {

/// The format of a document's bytes is defined in core/model.
enum class SettingKind {
  kBranchRules,
  kTagRules,
  kCollectionRules,
  kMetricFiles,
  kBucket,
  kLifecycle,
  kBranchCleanup,
  kCors,
};

/// Safe from any thread.
class RepositorySettings {
 public:
  explicit RepositorySettings(db::Pool& pool) : pool_(pool) {}

  /// nullopt: never set, or removed.
  std::optional<std::string> find(RepositoryId repository, SettingKind kind);
  struct Versioned {
    int64_t version = 0;  ///< of all settings of the repository (Branch::settings_version)
    std::optional<std::string> body;
  };
  /// Document and version of one moment. nullopt: the repository does not exist.
  std::optional<Versioned> find_versioned(RepositoryId repository, SettingKind kind);

  /// Makes the document of the present one; nullopt means none. What it throws ends the change.
  using Change =
      std::function<std::optional<std::string>(const std::optional<std::string>& present)>;
  /// One change of a repository's settings at a time, over all servers. false: the repository is
  /// gone.
  bool update(RepositoryId repository, SettingKind kind, const Change& change);
  /// The same inside a transaction that has increased the settings version.
  static void rewrite(db::Connection& connection, RepositoryId repository, SettingKind kind,
                      const Change& change);

  /// The branch rules as of `version` (Branch::settings_version) or later; a round trip for a
  /// version not seen before, none for 0.
  std::shared_ptr<const std::vector<BranchRule>> branch_rules(RepositoryId repository,
                                                              int64_t version);
  /// The same as branch_rules; never null. Without a version those of now, by a round trip.
  std::shared_ptr<const LifecycleRules> lifecycle(RepositoryId repository,
                                                  std::optional<int64_t> version);
  /// The same as branch_rules: whether writes are kept as versions.
  Versioning versioning(RepositoryId repository, int64_t version);
  Versioning versioning(RepositoryId repository);
  /// A change of the settings. false: the repository is gone.
  bool set_versioning(RepositoryId repository, Versioning versioning);

 private:
  struct Cached {
    int64_t version = 0;
    std::shared_ptr<const std::vector<BranchRule>> rules;  ///< shared with those who ask them
    Versioning versioning = Versioning::kOff;
    std::shared_ptr<const LifecycleRules> lifecycle;
  };
  /// The settings of `version` or later; a round trip for a version not seen before.
  Cached cached(RepositoryId repository, int64_t version);

  db::Pool& pool_;
  Mutex mutex_;
  std::map<RepositoryId, Cached> cached_ TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn::meta
