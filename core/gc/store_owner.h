// Ownership of a repository's store: the one database whose collections may remove objects from it.
//
// A copy of a database (a restored backup, a replica that was promoted on its own) refers to the
// objects of the original, and takes those that the original stored later for garbage. So the store
// names its database: a record below `_tarn/` of the repository's namespace, which the first
// collection writes. Records are numbered, never changed, and the newest one counts.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/base/mutex.h"
#include "core/blob/stores.h"
#include "core/db/pool.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// Distinguishes this database from copies of it: PostgreSQL's system identifier, the database in
/// the cluster, and the timeline, which recovery to a point in time and the promotion of a standby
/// change. A copy of the files that is started without recovery is not distinguished.
std::string database_identity(db::Pool& pool);

/// The identities that this process has seen its own database under: a failover changes the
/// identity, but a process that lived through it is no copy. Safe from any thread.
class OwnIdentities {
 public:
  /// Notes the identity that the database has now, and returns it.
  std::string note(db::Pool& pool);
  bool contains(const std::string& identity) const;
  bool empty() const;

 private:
  mutable Mutex mutex_;
  std::set<std::string> identities_ TARN_GUARDED_BY(mutex_);
};

/// The database that owns the store of a repository; nullopt = none yet.
std::optional<std::string> store_owner(blob::Stores& stores, const Repository& repository);

/// Makes this database the owner if there is none, or if the owner is another identity of the same
/// database. Otherwise returns the reason why it may not collect, with what to do. A
/// namespace that the repository does not own (core/branch/namespace_marker.h) is left without an
/// owner: it may be another installation's, or not be writable.
std::optional<std::string> claim_store(blob::Stores& stores, const Repository& repository,
                                       db::Pool& pool, OwnIdentities& identities);

/// Makes this database the owner. The collections of the former owner refuse from then on.
void adopt_store(blob::Stores& stores, const Repository& repository, db::Pool& pool);

}  // namespace tarn::versioning
