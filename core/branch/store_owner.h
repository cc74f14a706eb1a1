// Ownership of a repository's store: the one database that may write there and remove from it.
//
// A copy of a database (a restored backup, a dump, a replica that was promoted on its own, a copy
// of its files) refers to the objects of the original, takes those that the original stores later
// for garbage, and stores objects that are garbage to the original. So the store names its
// database. The marker of the namespace does so from its creation on; records below
// `_tarn/collector/` are numbered, never changed, and the newest one counts. A record has three
// words: the identity of the database, a nonce, and the number of its row in the table
// `store_claims`, which is there before the record is written. A database is not the owner if its
// identity is another one, or if it lacks the nonce, or has it with a lower number: every verb that
// writes and every collection refuses. A server claims a nonce again, with a greater number, if it
// could not write the record. A copy that was made in between has the lower number.
//
// The identity changes with a failover. A process that has seen its database under the former
// identity takes the store over, since it has lived through the failover; the identity never goes
// back within a process. Every process writes a record of its own before its first write to a
// repository and before each collection, so that of two copies of the same files the one that was
// copied earlier lacks the nonce. docs/design/047-store-owners.md has the reasons.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/blob/stores.h"
#include "core/db/pool.h"
#include "core/model/repository.h"

namespace tarn::meta {
class Repositories;
}

namespace tarn::branch {

/// Longest time that an answer of the store is used without asking again. A database that was
/// replaced by an adoption refuses to write that much later at most.
constexpr std::chrono::seconds kOwnerTrusted{10};
/// The same of an answer that refuses.
constexpr std::chrono::seconds kRefusalTrusted{2};

/// Distinguishes a database from copies of it: PostgreSQL's system identifier, the database in the
/// cluster, and the timeline, which recovery to a point in time and the promotion of a standby
/// change.
std::string database_identity(db::Pool& pool);

/// The identity that the store of a repository names; nullopt = none.
std::optional<std::string> store_owner(blob::Stores& stores, const Repository& repository);

/// Makes a database the owner of a store that was just filled with a copy of all objects.
void name_store_owner(blob::Stores& stores, const std::string& storage_namespace,
                      const std::string& identity);

/// One record of a store. Number 0 is the marker of the namespace.
struct OwnerRecord {
  uint64_t number = 0;
  std::string identity{};
  std::string nonce{};
  int64_t claim = 0;  ///< number of the claim of the nonce
};

struct RefusedStore {
  RepositoryId id{};
  std::string repository;
  std::string why;
};

struct StoreOwnerOptions {
  /// Also takes stores over from an earlier timeline of the same database that this process has not
  /// seen: where the old primary is fenced after each failover.
  bool adopts_failovers = false;
  /// Number of losses of acknowledged writes that were accepted: after one the database may be on
  /// an earlier timeline than this process has seen.
  std::function<uint64_t()> losses{};
  /// Returns the present identity of the database; tests replace it.
  std::function<std::string()> identify{};
};

/// Owners of the stores as this process knows them. Safe from any thread.
class StoreOwners {
 public:
  StoreOwners(db::Pool& pool, blob::Stores& stores, StoreOwnerOptions options = {});

  /// The present identity of the database, which a new namespace is marked with.
  std::string identity();

  /// Why this database may not write to the store, with what to do; nullopt = it may. Asks the
  /// store when the last answer is older than kOwnerTrusted; while the store fails, the last answer
  /// holds. Throws as stores and the database do if there is no answer yet.
  std::optional<std::string> refusal(const Repository& repository);
  /// Throws permission_denied, reason "owned_by_another_database", for a refusal().
  void require(const Repository& repository);
  /// Asks the store now and writes a record, so that copies notice; returns what refusal() does.
  std::optional<std::string> refusal_to_collect(const Repository& repository);

  /// Makes this database the owner. The former one refuses to write at most kOwnerTrusted later.
  /// Throws precondition_failed, reason "owned_by_another_database", if the marker of the namespace
  /// is another repository's.
  void adopt(const Repository& repository);

  /// Asks the stores of up to `limit` repositories that were not asked since the identity changed:
  /// after a failover the stores are taken over before an old primary can. true = more are left.
  /// The next call asks the stores again that did not answer.
  bool watch(meta::Repositories& repositories, uint32_t limit);
  /// Up to `limit` repositories whose last answer is a refusal.
  std::vector<RefusedStore> refused(size_t limit) const;
  /// Drops what is known of a repository that was deleted.
  void forget(RepositoryId id);

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct Known {
    std::string name;
    std::string own{};  ///< the identity that asked
    OwnerRecord newest{};
    std::string nonce{};  ///< claimed, and in no record yet: the store took none
    std::optional<std::string> refusal{};
    SteadyClock::time_point asked{};
    bool answered = false;
    bool recorded = false;  ///< this process has written a record
    bool being_asked = false;
    bool failed = false;  ///< the last question was not answered
  };
  enum class Record : uint8_t { kOnce, kAlways };

  std::optional<std::string> ask(const Repository& repository, Record wanted);
  void look(const Repository& repository, Record wanted, Known& known);
  bool is_answered(const Repository& repository);
  std::optional<OwnerRecord> take(const Repository& repository, const OwnerRecord& newest,
                                  const std::string& own, std::string& nonce);
  bool has_claim(const Repository& repository, const OwnerRecord& record);
  bool succeeds(const std::string& own, const std::string& former) const;
  bool went_back(const std::string& own) const;

  db::Pool& pool_;
  blob::Stores& stores_;
  const StoreOwnerOptions options_;
  mutable Mutex mutex_;
  std::map<RepositoryId, Known> known_ TARN_GUARDED_BY(mutex_);
  /// Identities of the database in the order in which this process has seen them.
  std::vector<std::string> identities_ TARN_GUARDED_BY(mutex_);
  /// Former identities whose writes an accepted loss gave up. The next promotion uses the number of
  /// such a timeline again: the identity is a new one then. The database that was given up does not
  /// come back, since the pool connects to none that lacks what was written after the loss.
  std::set<std::string> lost_ TARN_GUARDED_BY(mutex_);
  uint64_t losses_ TARN_GUARDED_BY(mutex_) = 0;  ///< accepted when the identity was asked last
  std::string watched_identity_ TARN_GUARDED_BY(mutex_);
  std::string watched_until_ TARN_GUARDED_BY(mutex_);  ///< name of the last repository asked
  bool watched_all_ TARN_GUARDED_BY(mutex_) = false;
  bool watch_again_ TARN_GUARDED_BY(mutex_) = false;  ///< a store did not answer
};

}  // namespace tarn::branch
