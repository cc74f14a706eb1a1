// Repository rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/db/pool.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::meta {

/// How long the kind of a bucket's name is cached.
constexpr std::chrono::seconds kRootAgeMax{1};
/// Names whose kind is remembered.
constexpr size_t kRootsMax = 10'000;
/// Names whose repository is remembered.
constexpr size_t kKnownNamesMax = 10'000;

struct DeletedRepository {
  Repository repository;
  Instant deleted{};
  Instant purged{};  ///< until then it can be restored
};

/// Safe from any thread.
class Repositories {
 public:
  explicit Repositories(db::Pool& pool) : pool_(pool) {}

  std::optional<Repository> find(const RepositoryName& name);
  /// The repository as it was last found under this name, without asking the database; it may have
  /// been deleted since, and another may have the name. Only for callers whose next statement
  /// proves that it exists. At most kKnownNamesMax are kept.
  std::optional<Repository> known(const RepositoryName& name);
  /// By id, deleted ones too; cached (these facts never change, except for the name of one that was
  /// restored, the default branch and strict_paths, which are those of the last `find` or
  /// `current`).
  Repository get(RepositoryId id);
  /// The same as it is now, for work that depends on the default branch. A round trip.
  Repository current(RepositoryId id);
  Page<Repository> list(std::string_view prefix, std::string_view search, std::string_view after,
                        uint32_t limit);

  /// Inside a transaction: the repository is neither deleted nor given other settings until it
  /// ends. Throws not_found (reason "repository_not_found"). First in its transaction, since all
  /// that changes a repository locks its row before anything of it.
  static void hold(db::Connection& connection, RepositoryId id);
  /// Inserts the row; nullopt when the name is taken. Throws DbError already_exists when the
  /// namespace was used.
  static std::optional<RepositoryId> insert(db::Connection& connection,
                                            const Repository& repository);
  /// false: the repository is gone.
  bool set_strict_paths(RepositoryId id, bool strict);
  /// Namespaces of repositories, deleted ones too, that hold a URL that begins with `prefix`: as
  /// stores list, by text and not by directories. End a namespace or an object with '/' to compare
  /// it as a whole.
  std::vector<std::string> overlapping_namespaces(std::string_view prefix);
  /// Inside a transaction that inserts a repository: until it ends no other repository is inserted.
  /// false = the namespaces of others overlap `prefix`, which ends with '/'.
  static bool lock_free_namespace(db::Connection& connection, std::string_view prefix);
  /// Marks it deleted, for the user `actor`. It can be restored until `grace` is over (nullopt: the
  /// grace of servers); with a grace of 0 its rows go at once. false = no such name.
  bool remove(const RepositoryName& name, std::string_view actor, Instant now,
              std::optional<std::chrono::seconds> grace);
  /// The repositories that can be restored, the newest first: ids less than `before`. `grace`: of
  /// those that have none of their own.
  std::vector<DeletedRepository> list_deleted(int32_t before, uint32_t limit, Instant now,
                                              std::chrono::seconds grace);
  enum class Restored { kDone, kNotFound, kNameTaken };
  /// Gives the deleted repository (`id`; nullopt: the one of this name that was deleted last) the
  /// name `as`, and all that it had.
  Restored restore(const RepositoryName& name, std::optional<RepositoryId> id,
                   const RepositoryName& as, Instant now, std::chrono::seconds grace);
  /// Removes the rows of a deleted repository: branches, tags, settings, pull requests and so on;
  /// its staged rows are retired. In a transaction of garbage collection. `grace`: of those that
  /// have none of their own. false: it was restored, or its grace is not over.
  static bool purge(db::Connection& connection, RepositoryId id, std::chrono::seconds grace);
  /// The same as remove, but only if the repository has one branch at its only commit, with an
  /// empty tree, no staged object and no tag. Concurrent writes, commits, branches and tags either
  /// are noticed here or find their branch or commit gone. Throws conflict, reason
  /// "repository_not_empty".
  bool remove_empty(const Repository& repository, std::string_view actor, Instant now);

  /// The default branch that the bare name of a rooted bucket means; nullopt for other repositories
  /// and absent ones. A removal by another server is noticed within kRootAgeMax.
  std::optional<BranchName> bucket_root(const RepositoryName& name);
  /// The next bucket_root reads it again.
  void forget_root(const RepositoryName& name);

  /// Records that `reader` may hold addresses of objects that `owner` owns.
  void record_reader(RepositoryId owner, RepositoryId reader);

  Metadata metadata(RepositoryId id);
  void set_metadata(RepositoryId id, const Metadata& set, const std::vector<std::string>& removed);

 private:
  db::Pool& pool_;
  Mutex mutex_;
  std::map<RepositoryId, Repository> by_id_ TARN_GUARDED_BY(mutex_);
  std::map<RepositoryName, RepositoryId> known_ TARN_GUARDED_BY(mutex_);
  struct Root {
    std::chrono::steady_clock::time_point read;
    std::optional<BranchName> branch;
  };
  std::map<RepositoryName, Root> roots_ TARN_GUARDED_BY(mutex_);  ///< of repositories that exist
};

}  // namespace tarn::meta
