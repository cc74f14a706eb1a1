// The observer of the commits that a pool's connections saw succeed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tarn::db {

class Connection;

/// Position of a commit in the database's write-ahead log.
struct CommitPosition {
  int64_t transaction = 0;
  int64_t log = 0;  ///< after the first record of the transaction, before that of its commit
};

/// Decides which servers the connections of a pool may lead to. Safe from any thread; outlives the
/// pool.
class Witness {
 public:
  virtual ~Witness() = default;
  /// Runs before connections to a start of a server are leased, one at a time. From then on only
  /// commits of that server are acknowledged. Throws DbError with kStateWentBack if its database
  /// lacks what was acknowledged.
  virtual void enter(Connection& connection) = 0;
  /// Host of the URL to try before the one of the connection, which leads to a start that was not
  /// entered: one on a later timeline.
  virtual std::optional<size_t> newer_host(const Connection& connection) = 0;
  /// Whether the database that was entered may be used still. Throws DbError.
  virtual bool permits(Connection& connection) = 0;
  /// Notes a commit that succeeded. false: the pool has left its server meanwhile, so the commit
  /// may not be acknowledged.
  virtual bool acknowledge(const Connection& connection, const CommitPosition& commit) = 0;
  virtual void close(const Connection& connection) noexcept = 0;
};

}  // namespace tarn::db
