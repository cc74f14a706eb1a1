// Exclusive leases of connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/db/connection.h"

namespace tarn::db {

/// Serialization failures and deadlocks are retried this often, with jitter.
constexpr int kConflictRetriesMax = 5;

struct PoolOptions {
  uint32_t connections_max = 16;
  std::chrono::milliseconds lease_timeout{10'000};  ///< then unavailable: the database is overloaded or gone
};

/// Safe from any thread. A request leases at most one connection at a time.
class Pool {
 public:
  Pool(std::string url, PoolOptions options);
  ~Pool();

  /// Returns the connection on destruction; a broken one is dropped.
  class Lease {
   public:
    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }
    Lease(Lease&&) noexcept = default;
    ~Lease();

   private:
    friend class Pool;
    Lease(Pool& pool, std::unique_ptr<Connection> connection)
        : pool_(&pool), connection_(std::move(connection)) {}
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  /// Throws unavailable after lease_timeout, or at once when a new connection is refused.
  Lease lease();

  /// One statement as its own transaction. Retried once on a fresh connection when the old one turned out broken
  /// before anything was sent or when the statement only reads (`Retry::kRead`).
  enum class Retry { kRead, kWrite };
  Rows run(const Query& query, std::initializer_list<Param> params, Retry retry);

  /// Runs `body` between BEGIN and COMMIT; retries the whole body on conflict (40001, 40P01).
  template <typename Body>
  auto transaction(Body&& body) {
    for (int attempt = 1;; ++attempt) {
      Lease lease = this->lease();
      try {
        lease->begin();
        if constexpr (std::is_void_v<decltype(body(*lease))>) {
          body(*lease);
          lease->commit();
          return;
        } else {
          auto result = body(*lease);
          lease->commit();
          return result;
        }
      } catch (const DbError& error) {
        lease->rollback();
        if (error.code() != ErrorCode::kConflict || attempt >= kConflictRetriesMax) throw;
        wait_before_retry(attempt);
      } catch (...) {
        lease->rollback();
        throw;
      }
    }
  }

 private:
  static void wait_before_retry(int attempt);
  void give_back(std::unique_ptr<Connection> connection);

  const std::string url_;
  const PoolOptions options_;
  Mutex mutex_;
  CondVar returned_;
  std::vector<std::unique_ptr<Connection>> idle_ TARN_GUARDED_BY(mutex_);
  uint32_t open_ TARN_GUARDED_BY(mutex_) = 0;
};

}  // namespace tarn::db
