// Exclusive leases of connections.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
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

/// A statement that meets read leases is repeated this often after they were ended.
constexpr int kReadLeaseRetriesMax = 8;

struct PoolOptions {
  uint32_t connections_max = 16;
  /// After this time the lease throws unavailable: the database is overloaded or gone.
  std::chrono::milliseconds lease_timeout{10'000};
  Faults* faults = nullptr;  ///< tests only; outlives the pool
  /// Is asked before connections to a server that was not entered before are leased. One that it
  /// refuses is closed, and the next host of the URL is tried.
  Witness* witness = nullptr;
  size_t first_host = 0;  ///< of the URL, to be tried first
  /// Ends the read leases that an error with kStateReadLeased names, before its statement or
  /// transaction is repeated. The calling thread holds no connection.
  std::function<void(const DbError&)> end_read_leases{};
};

/// After a refused connection no other is tried for this long: requests fail at once instead of
/// piling up on a database that is down.
constexpr std::chrono::milliseconds kRefusedPause{200};

/// A database that does not answer a probe for this long hangs.
constexpr std::chrono::milliseconds kProbeLimit{2'000};

/// Timeout of each statement that checks whether a write took effect, and of waiting for the
/// database before that.
constexpr std::chrono::milliseconds kDurableLimit{10'000};
constexpr std::chrono::milliseconds kReturnLimit{3'000};

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
  /// less than kRefusedPause ago) or the last probe found that the database hangs. Connections that
  /// died in the pool are replaced.
  Lease lease();

  /// Probes the database, on a connection of its own. Without an answer, every connection to that
  /// server is broken, and none is leased until a probe finds a server again, trying the URL's
  /// hosts in turn. While an answer takes longer than kProbeLimit, it also checks where a new
  /// connection leads: those to another server (the primary before a failover, behind a balancer
  /// that keeps its sessions) are broken too. Takes kProbeLimit and the time to connect at most.
  void probe();

  /// Whether the database lacks what was acknowledged, as far as is known: nothing is to be
  /// answered from memory.
  bool went_back() const { return went_back_; }

  /// One statement as its own transaction. Repeated on conflict (40001, 40P01), since it did
  /// nothing then, and after read leases were ended. Retried once on a fresh connection when the
  /// old one turned out broken before anything was sent, or when the statement only reads or may be
  /// repeated.
  enum class Retry {
    kRead,
    kRepeatable,  ///< writes, and a second time changes nothing that others did in between
    kWrite,
  };
  Rows run(const Query& query, std::initializer_list<Param> params, Retry retry);
  /// Runs `body` between BEGIN and COMMIT; retries the whole body on conflict (40001, 40P01) and
  /// after read leases were ended.
  template <typename Body>
  auto transaction(Body&& body) {
    for (Attempts attempts;;) {
      try {
        return transaction_once(body);
      } catch (const DbError& error) {
        if (!wait_before_retry(error, attempts)) throw;
      }
    }
  }

  /// Runs `look` in a transaction: whether the effect of a write whose answer was lost is there.
  /// true only when all commits that it saw have reached what synchronous_commit waits for: a row
  /// that is seen need not have, since its server may not have waited. nullopt: unknown. Waits
  /// kReturnLimit at most until the database can be reached, and kDurableLimit for each answer.
  std::optional<bool> look_durably(const std::function<bool(Connection&)>& look) noexcept;

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
  struct Attempts {
    int conflicts = 1;
    int read_leases = 1;
  };
  template <typename Body>
  auto retried(Retry retry, Body&& body);
  bool wait_before_retry(const DbError& error, Attempts& attempts);
  bool end_read_leases(const DbError& error, Attempts& attempts);
  Lease leased(std::unique_ptr<Connection> connection);
  Lease lease_after_return();
  void give_back(std::unique_ptr<Connection> connection) noexcept;
  bool somebody_waits_long();
  void open_probe() TARN_REQUIRES(probe_mutex_);
  void leave_server(const std::string& server, std::string_view why);
  std::optional<size_t> enter(Connection& connection, bool may_lead);
  bool is_left(const Connection& connection) const TARN_REQUIRES(mutex_);
  void drop_left() TARN_REQUIRES(mutex_);
  [[noreturn]] void refuse() TARN_REQUIRES(mutex_);
  std::unique_ptr<Connection> take_idle_or_reserve(MutexLock& lock, Clock::time_point deadline)
      TARN_REQUIRES(mutex_);
  std::unique_ptr<Connection> connect();
  std::unique_ptr<Connection> open();
  void forget_one();

  const std::string url_;
  const PoolOptions options_;
  Mutex enter_mutex_;  ///< taken before mutex_
  Mutex mutex_;
  CondVar returned_;
  std::vector<std::unique_ptr<Connection>> idle_ TARN_GUARDED_BY(mutex_);
  uint32_t open_ TARN_GUARDED_BY(mutex_) = 0;  ///< leased, idle or being opened
  std::set<Connection*> leased_ TARN_GUARDED_BY(mutex_);
  std::string entered_ TARN_GUARDED_BY(mutex_);      ///< the server; others' are dropped
  std::string left_server_ TARN_GUARDED_BY(mutex_);  ///< its connections are dropped
  bool hangs_ TARN_GUARDED_BY(mutex_) = false;       ///< nothing is leased
  size_t first_host_ TARN_GUARDED_BY(mutex_) = 0;
  Clock::time_point refused_until_ TARN_GUARDED_BY(mutex_){};
  std::string refusal_ TARN_GUARDED_BY(mutex_);
  std::atomic<bool> went_back_ = false;
  Mutex probe_mutex_;  ///< taken before mutex_
  std::unique_ptr<Connection> probe_ TARN_GUARDED_BY(probe_mutex_);
  bool unreached_ TARN_GUARDED_BY(probe_mutex_) = false;  ///< the last attempt to connect failed
};

}  // namespace tarn::db
