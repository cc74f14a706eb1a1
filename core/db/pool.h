// Exclusive leases of connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/db/connection.h"

namespace tarn::db {

/// Serialization failures and deadlocks are retried this often, with jitter.
constexpr int kConflictRetriesMax = 5;

struct PoolOptions {
  uint32_t connections_max = 16;
  /// Then unavailable: the database is overloaded or gone.
  std::chrono::milliseconds lease_timeout{10'000};
};

/// After a refused connection no other is tried for this long: requests fail at once instead of
/// piling up on a database that is down.
constexpr std::chrono::milliseconds kRefusedPause{200};

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

  /// Throws unavailable after lease_timeout, or at once when a new connection is refused (or was,
  /// less than kRefusedPause ago). Connections that died in the pool are replaced.
  Lease lease();

  /// One statement as its own transaction. Retried once on a fresh connection when the old one
  /// turned out broken before anything was sent or when the statement only reads (`Retry::kRead`).
  enum class Retry { kRead, kWrite };
  Rows run(const Query& query, std::initializer_list<Param> params, Retry retry);
  /// Connection::run_pipelined under the same rule.
  std::vector<Rows> run_pipelined(const Query& query, std::span<const std::vector<Param>> params,
                                  Retry retry);

  /// Runs `body` between BEGIN and COMMIT; retries the whole body on conflict (40001, 40P01).
  template <typename Body>
  auto transaction(Body&& body) {
    for (int attempt = 1;; ++attempt) {
      try {
        return transaction_once(body);
      } catch (const DbError& error) {
        if (error.code() != ErrorCode::kConflict || attempt >= kConflictRetriesMax) throw;
      }
      wait_before_retry(attempt);  // without a lease
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  template <typename Body>
  auto transaction_once(Body& body) {
    Lease lease = this->lease();
    lease->begin();
    try {
      if constexpr (std::is_void_v<decltype(body(*lease))>) {
        body(*lease);
        lease->commit();
      } else {
        auto result = body(*lease);
        lease->commit();
        return result;
      }
    } catch (...) {
      lease->rollback();
      throw;
    }
  }
  template <typename Body>
  auto retried(Retry retry, Body&& body);
  static void wait_before_retry(int attempt);
  void give_back(std::unique_ptr<Connection> connection) noexcept;
  std::unique_ptr<Connection> take_idle_or_reserve(MutexLock& lock, Clock::time_point deadline)
      TARN_REQUIRES(mutex_);
  std::unique_ptr<Connection> connect();
  void forget_one();

  const std::string url_;
  const PoolOptions options_;
  Mutex mutex_;
  CondVar returned_;
  std::vector<std::unique_ptr<Connection>> idle_ TARN_GUARDED_BY(mutex_);
  uint32_t open_ TARN_GUARDED_BY(mutex_) = 0;  ///< leased, idle or being opened
  Clock::time_point refused_until_ TARN_GUARDED_BY(mutex_){};
  std::string refusal_ TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn::db
