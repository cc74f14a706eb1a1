// Lifecycle rules of a repository as an S3 bucket, and the job that applies them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "core/branch/engine.h"
#include "core/model/lifecycle.h"
#include "core/model/repository.h"

namespace tarn::objects {

/// nullopt if none are set. Throws not_found "repository not found".
std::optional<LifecycleRules> get_lifecycle(branch::Engine& engine, const Repository& repository);
/// Replaces all rules; an empty list removes them. After the return, nothing is deleted by earlier
/// rules. Throws as get_lifecycle, and permission_denied in a read-only repository.
void set_lifecycle(branch::Engine& engine, const Repository& repository,
                   const LifecycleRules& rules);
/// The rules for response headers, of `settings_version` (Branch::settings_version) or later;
/// without one those of now, by a round trip. May be empty.
std::shared_ptr<const LifecycleRules> shown_lifecycle(branch::Engine& engine,
                                                      RepositoryId repository,
                                                      std::optional<int64_t> settings_version);

/// Limits of one turn, after which others come first.
struct LifecycleLimits {
  uint32_t objects_max = 10'000;   ///< examined
  uint32_t uploads_max = 100'000;  ///< examined; the rest waits for the next day
  std::chrono::seconds time_max{10};
};

/// One turn for the repository whose rules have waited longest: aborts uploads, and stages the
/// deletion of objects of the default branch of a rooted bucket, whose time has come by the
/// database's clock. Each is deleted only while it is the one that was examined and the rules are
/// the same; commits keep theirs. Files of hooks stay. A branch that may not be written is looked
/// at again after an hour. Returns whether there was one.
bool run_one_lifecycle_scan(branch::Engine& engine, const std::stop_token& stop,
                            const LifecycleLimits& limits = {});

}  // namespace tarn::objects
