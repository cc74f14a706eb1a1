// A fair queue of requests: workers are shared out between users, not between
// connections.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/http/connection.h"

namespace tarn::http {

struct FairLimits {
  uint32_t threads = 0;            ///< requests that can run at once
  uint32_t alone_max = 0;          ///< of them for a share while no other is active
  uint32_t contended_max = 0;      ///< of them for a share while others are
  uint32_t waiting_max = 0;        ///< requests that wait, of all shares
  uint32_t waiting_share_max = 0;  ///< requests that wait, of one share
  std::chrono::milliseconds wait_max{0};
  /// A share counts as active for so long after its last request.
  std::chrono::milliseconds active_for{0};
};

/// A request starts while its share runs fewer than its allowance and fewer than there are threads
/// free; the second keeps threads for later shares, however long the running requests take. What
/// cannot start waits under its share. A thread that comes free takes from the share that runs the
/// fewest, in turn among equals. The share named "" makes no other one contended. Every operation
/// takes O(log shares). Safe from any thread.
class FairQueue {
 public:
  explicit FairQueue(FairLimits limits) : limits_(limits) {}
  ~FairQueue();

  struct Share;

  /// Starts a request of the share unless others of it wait, or its allowance is used up: nullptr.
  /// Pass the result to `leave` when the request is over.
  Share* start(std::string_view name, SteadyTime now);
  void leave(Share* share, SteadyTime now);

  enum class Entry { kWaits, kShareFull, kFull };
  /// kWaits: the connection, with its request in `held`, is the queue's until it comes out of
  /// `next`, `take_expired` or `take_all`. The caller then calls `next` or wakes a thread that
  /// does.
  Entry wait(std::string_view name, Connection* connection, SteadyTime now);

  struct Turn {
    Connection* connection = nullptr;
    Share* share = nullptr;  ///< started; goes to `leave`
    bool more = false;       ///< another could be started now, by another thread
    std::chrono::nanoseconds waited{0};
  };
  /// The waiting request whose turn it is, if one may start.
  std::optional<Turn> next(SteadyTime now);

  /// Requests that have waited too long.
  std::vector<Connection*> take_expired(SteadyTime now);
  std::vector<Connection*> take_all();

  bool anyone_waits() const { return waiting_.load(std::memory_order_relaxed) > 0; }

 private:
  struct Waiting {
    Connection* connection;
    SteadyTime since;
  };
  using Rank = std::tuple<uint32_t, uint64_t, Share*>;  // requests that run, turn

 public:
  struct Share {
    std::string name;
    uint32_t running = 0;
    uint64_t turn = 0;  // when it came or last took or left a thread, as a count of such events
    std::deque<Waiting> waiting;
    SteadyTime idle_since{};
    std::optional<std::list<Share*>::iterator> idle;  // its place in idle_
  };

 private:
  Share& find_or_add(std::string_view name) TARN_REQUIRES(mutex_);
  void forget_idle(SteadyTime now) TARN_REQUIRES(mutex_);
  void settle(Share& share, SteadyTime now) TARN_REQUIRES(mutex_);
  bool may_start(const Share& share) const TARN_REQUIRES(mutex_);
  void set_running(Share& share, uint32_t running) TARN_REQUIRES(mutex_);
  void count_waiting(int64_t change);
  static Rank rank_of(Share& share) { return {share.running, share.turn, &share}; }

  const FairLimits limits_;
  std::atomic<int64_t> waiting_{0};
  Mutex mutex_;
  std::unordered_map<std::string_view, std::unique_ptr<Share>> shares_ TARN_GUARDED_BY(mutex_);
  std::set<Rank> queued_ TARN_GUARDED_BY(mutex_);   // shares of which requests wait
  std::list<Share*> idle_ TARN_GUARDED_BY(mutex_);  // shares without requests, oldest first
  uint32_t running_ TARN_GUARDED_BY(mutex_) = 0;
  uint64_t turns_ TARN_GUARDED_BY(mutex_) = 0;
};

}  // namespace tarn::http
