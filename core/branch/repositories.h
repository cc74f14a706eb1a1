// Verbs on repositories.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/meta/repositories.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::branch {

struct RepositoryCreation {
  RepositoryName name;
  std::string storage_namespace;
  BranchName default_branch{"main"};
  bool read_only = false;
  bool bare = false;  ///< no first commit and no branch
  bool strict_paths = false;
  BucketKind bucket_kind = BucketKind::kNone;
};

/// Makes the repository, its first commit ("Repository created", no parents, empty tree) and its
/// default branch. Throws: already_exists (the name, checked first: "error creating repository: not
/// unique"), invalid_argument (a namespace that is malformed, of an unknown store, used before, or
/// nested with another repository's), unavailable (the store cannot be written).
Repository create_repository(Engine& engine, const RepositoryCreation& creation);

/// Throws: not_found "repository not found".
Repository get_repository(Engine& engine, const RepositoryName& name);

/// Throws not_found when the repository was deleted since it was looked up. Its rows were deleted
/// with it, so a verb that found none asks.
void check_exists(Engine& engine, const Repository& repository);
/// A page of the repository's rows, after check_exists when it is empty.
template <typename Row>
Page<Row> existing(Engine& engine, const Repository& repository, Page<Row> page) {
  if (page.items.empty()) check_exists(engine, repository);
  return page;
}

/// The default branch that the bare name of a rooted bucket means; nullopt for other repositories
/// and absent ones. May be a second old after another server removed the name.
std::optional<BranchName> bucket_root(Engine& engine, const RepositoryName& name);

/// By name in byte order; `prefix` and `search` (a substring) may be empty; `limit` 1..1000. Omits
/// repositories that `visible` (empty = all) rejects.
Page<Repository> list_repositories(Engine& engine, std::string_view prefix, std::string_view search,
                                   std::string_view after, uint32_t limit,
                                   const std::function<bool(const Repository&)>& visible);

/// Longest time that a deleted repository can be restored.
constexpr std::chrono::days kDeletionGraceMax{3660};

struct RepositoryDeletion {
  bool force = false;  ///< also a read-only one
  /// How long it can be restored; nullopt: as long as the servers say; 0: not at all.
  std::optional<std::chrono::seconds> grace{std::chrono::seconds{0}};
};
/// Frees the name at once, never the namespace. Garbage collection removes bytes after the grace.
/// Throws: not_found, invalid_argument (a grace longer than kDeletionGraceMax), permission_denied
/// (reason "read_only_repository").
void delete_repository(Engine& engine, const RepositoryName& name,
                       const RepositoryDeletion& deletion);
void delete_repository(Engine& engine, const RepositoryName& name, bool force);

/// The repositories that can be restored, the newest first. `after`: the id of the last one of the
/// page before. `grace`: of those that were deleted without one. Omits those that `visible`
/// rejects. Throws invalid_argument (`after`).
Page<meta::DeletedRepository> list_deleted_repositories(
    Engine& engine, std::string_view after, uint32_t limit, std::chrono::seconds grace,
    const std::function<bool(const Repository&)>& visible);

struct RepositoryRestoration {
  RepositoryName name;                 ///< that it had
  std::optional<RepositoryId> id{};    ///< absent: the one that was deleted last
  std::optional<RepositoryName> as{};  ///< its name from now on; absent: as before
  std::chrono::seconds grace{};        ///< of repositories that were deleted without one
};
/// Brings it back as it was: branches with what was staged, tags, aliases, rules, pull requests,
/// runs, promotions, webhooks. Throws: not_found (no such deleted repository, or its grace is
/// over), already_exists (another one has the name).
Repository restore_repository(Engine& engine, const RepositoryRestoration& restoration);

/// Removes a repository whose removal loses nothing: one branch, empty and without staged objects,
/// its first commit alone, no tag and no alias. Throws: not_found, conflict (reason
/// "repository_not_empty"), permission_denied (reason "read_only_repository").
void delete_empty_repository(Engine& engine, const Repository& repository);

Metadata get_repository_metadata(Engine& engine, const RepositoryName& name);
void set_repository_metadata(Engine& engine, const RepositoryName& name, const Metadata& pairs);
void delete_repository_metadata(Engine& engine, const RepositoryName& name,
                                const std::vector<std::string>& keys);

/// Throws not_found, permission_denied (reason "read_only_repository").
void set_strict_paths(Engine& engine, const RepositoryName& name, bool strict);
/// Throws invalid_argument (reason "unplain_path") if the repository is strict and `path`, at which
/// a request of REST is about to store an object, is no plain path.
void check_new_path(const Repository& repository, std::string_view path);

/// Throws permission_denied "read-only repository" (reason "read_only_repository") unless `force`,
/// and as StoreOwners::require in any case. Every verb that writes asks first, but for deletions of
/// repositories: only collections remove from the store.
void check_writable(Engine& engine, const Repository& repository, bool force);

}  // namespace tarn::branch
