// Verbs on the versions of a branch's objects: the setting, reading, listing and removing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/branch/condition.h"
#include "core/branch/engine.h"
#include "core/model/object_version.h"
#include "core/model/repository.h"

namespace tarn::meta {
struct BranchLookup;
}

namespace tarn::branch {

/// Throw not_found (the repository); the second also permission_denied (read-only).
Versioning get_versioning(Engine& engine, const Repository& repository);
void set_versioning(Engine& engine, const Repository& repository, Versioning versioning);

/// One version of a key. The null version is the branch's state if no versioned write made it: it
/// existed before versioning, or came by a merge, an import, a reset ...
struct ObjectVersion {
  std::string path;
  std::optional<VersionId> id{};  ///< absent: the null version
  std::optional<Entry> entry{};   ///< absent: a delete marker
  bool latest = false;            ///< the branch shows it
  Instant created{};
  std::vector<std::string> makers{};  ///< users whose work it is; empty: its commit tells
};

/// The version that `visible` is, which the branch shows at the key; nullopt: the null version, or
/// versions were never kept. A round trip unless they never were.
std::optional<VersionId> version_shown(Engine& engine, RepositoryId repository,
                                       const Branch& branch, const Key& key, const Entry& visible);
std::optional<VersionId> version_shown(Engine& engine, BranchId branch, const Key& key,
                                       const Entry& visible);

/// `id` absent: the null version. nullopt: there is no such version, branch or repository.
std::optional<ObjectVersion> find_version(Engine& engine, const RepositoryName& repository,
                                          const BranchName& branch, const Key& key,
                                          const std::optional<VersionId>& id);

/// The delete marker that the branch shows at the key; nullopt: it shows an object or nothing, or
/// versions were never kept. For reads alone.
std::optional<VersionId> marker_shown(Engine& engine, const RepositoryName& repository,
                                      const BranchName& branch, const Key& key);

/// Removes a version below the one that the branch shows, as read with `seen` and under its
/// settings. false, and nothing was done: it is gone or shown, or something has changed.
bool remove_noncurrent(Engine& engine, const meta::BranchLookup& seen, const Key& key,
                       const std::optional<VersionId>& id);

/// Removes a version; when the branch shows it, stages the version before it in the same
/// transaction, or the deletion of the key. Returns what was removed; nullopt: there was no such
/// version. The condition is on the version that is removed, and a delete marker is no object.
/// Where versions were never kept the null version is what the branch holds. Commits keep what they
/// hold. Throws as delete_object, conflict (reason "too_many_attempts").
std::optional<ObjectVersion> remove_version(Engine& engine, const RepositoryName& repository,
                                            const BranchName& branch, const Key& key,
                                            const std::optional<VersionId>& id,
                                            const WriteTerms& terms,
                                            const Condition& condition = {});

}  // namespace tarn::branch
