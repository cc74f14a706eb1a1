// Commit rows. Immutable, so cached without expiry.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/db/pool.h"
#include "core/model/commit.h"
#include "core/model/names.h"

namespace tarn::meta {

class CommitGraph;

/// Names of the users whose work a commit is.
struct CommitMakers {
  std::string user;  ///< who made or recorded it, whatever its committer says; "" = nobody known
  std::vector<std::string> others{};  ///< who staged its changes, or whose work went into it
};

/// Safe from any thread.
class Commits {
 public:
  explicit Commits(db::Pool& pool) : pool_(pool) {}

  std::optional<Commit> find(RepositoryId repository, const CommitId& id);
  /// Throws data_loss when a commit that others refer to is missing.
  Commit get(RepositoryId repository, const CommitId& id);
  /// The existing commits among the ids, by id; one round trip for all that are not cached.
  std::map<CommitId, Commit> find_all(RepositoryId repository, std::span<const CommitId> ids);
  /// The only commit whose hex id starts with `digits` (lower-case hex); nullopt if none or several
  /// match.
  std::optional<CommitId> find_by_prefix(RepositoryId repository, std::string_view digits);
  /// Any commit with this tree, one whose data has expired last; nullopt when no commit of the
  /// repository has it. Reads them all.
  std::optional<Commit> find_by_root(RepositoryId repository, const Hash128& hash);
  /// The makers of the existing commits among the ids. One round trip.
  std::map<CommitId, CommitMakers> makers(RepositoryId repository, std::span<const CommitId> ids);
  /// The times when the commits were stored, by the database's clock.
  std::map<CommitId, Instant> stored(RepositoryId repository, std::span<const CommitId> ids);
  /// Inserts the commit unless it exists. For commits that no branch publishes (the first of a
  /// repository).
  static void insert(db::Connection& connection, RepositoryId repository, const Commit& commit,
                     const CommitMakers& makers);
  /// Keeps garbage collection from removing these commits, and their data from expiring, until the
  /// caller's transaction ends. false: one of them is gone. Throws gone (reason "expired").
  static bool hold(db::Connection& connection, RepositoryId repository,
                   std::span<const CommitId> ids);
  /// For walks over long histories; shared by the requests of this process until it forgets.
  std::shared_ptr<CommitGraph> graph(RepositoryId repository);
  /// The same as forget_all if garbage collection has removed commits since the last call. true: it
  /// has.
  bool forget_removed();
  /// Clears the cache: after a failover to a standby that lacked commits, they are gone.
  void forget_all();

 private:
  using CacheKey = std::pair<RepositoryId, CommitId>;
  std::optional<Commit> cached(const CacheKey& key);
  uint64_t epoch() const;
  /// `epoch`: when it was requested.
  void remember(RepositoryId repository, const Commit& commit, uint64_t epoch);
  /// How many commits to read from this one on; more where an earlier line ended before it.
  int32_t line_from(const CacheKey& key);
  void end_line(RepositoryId repository, const Commit& last);

  db::Pool& pool_;
  mutable Mutex mutex_;
  uint64_t epoch_ TARN_GUARDED_BY(mutex_) = 0;    ///< how often all was forgotten
  int64_t removals_ TARN_GUARDED_BY(mutex_) = 0;  ///< of garbage collection, when last read
  std::map<CacheKey, Commit> cache_ TARN_GUARDED_BY(mutex_);
  size_t cached_bytes_ TARN_GUARDED_BY(mutex_) = 0;
  /// The commits at which walks that read the lines before will go on.
  std::set<CacheKey> line_ends_ TARN_GUARDED_BY(mutex_);
  std::map<RepositoryId, std::shared_ptr<CommitGraph>> graphs_ TARN_GUARDED_BY(mutex_);
};

/// key, value, key, value ... as the metadata columns keep it.
std::vector<std::string> metadata_to_array(const Metadata& metadata);
Metadata metadata_from_array(const std::vector<std::string>& array);

}  // namespace tarn::meta
