#include "core/http/server.h"

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/str_cat.h"
#include "core/base/work_time.h"
#include "core/http/fair_queue.h"
#include "core/http/parking_lot.h"
#include "core/http/probe.h"
#include "core/http/request_id.h"
#include "core/http/request_loop.h"
#include "core/http/worker_limit.h"

namespace tarn::http {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// Maximum delay before a deadline is noticed.
constexpr milliseconds kSweepMax{1'000};
constexpr milliseconds kSweepMin{10};
// Interval of the overload watch and of the drain.
constexpr milliseconds kWatchStep{10};
constexpr milliseconds kDrainStep{2};
// After so many intervals with stuck workers the acceptor helps.
constexpr int kStuckLooks = 2;
// The watch ends after so many intervals without overload.
constexpr int kQuietLooks = 100;
// Pause of accepting when the process has no file descriptors left.
constexpr milliseconds kDescriptorPause{50};

// One share may use `workers` threads for long requests while the same number remains for others.
constexpr uint32_t kThreadsPerWorker = 2;
// A handler spends part of its time waiting for the database or the store.
constexpr uint32_t kContendedPerProcessor = 2;
constexpr uint32_t kContendedMin = 4;
// More threads that compute take turns, and the requests of all of them wait.
constexpr uint32_t kRunningPerProcessor = 2;
constexpr uint32_t kRunningMin = 4;
// Two users who alternate both count as active.
constexpr milliseconds kShareActive{1'000};

FairLimits fair_limits(const ServerLimits& limits) {
  const uint32_t workers = std::max(1u, limits.workers);
  const uint32_t usual =
      std::max(kContendedMin, kContendedPerProcessor * std::thread::hardware_concurrency());
  const uint32_t contended = limits.contended_workers == 0 ? usual : limits.contended_workers;
  return {.threads = workers * kThreadsPerWorker,
          .alone_max = workers,
          .contended_max = std::min(contended, workers),
          .waiting_max = limits.queued_requests_max,
          .waiting_share_max = limits.queued_per_share_max,
          .wait_max = limits.queue_timeout,
          .active_for = kShareActive};
}

uint32_t running_max(const ServerLimits& limits) {
  const uint32_t usual =
      std::max(kRunningMin, kRunningPerProcessor * std::thread::hardware_concurrency());
  return limits.running_workers == 0 ? usual : limits.running_workers;
}

/// Threads: workers wait in the parking lot and serve requests, or queue those that must wait. One
/// acceptor accepts connections, closes expired ones and, while all workers are busy, reads heads
/// into the queue.
class EpollServer final : public Server {
 public:
  EpollServer(Listener listener, ServerLimits limits, Handler handler, AdmissionPolicy admission);
  ~EpollServer() override { stop(milliseconds{0}); }

  uint16_t port() const override { return listener_.port; }
  void stop(milliseconds grace) override;

 private:
  void work();
  std::optional<FairQueue::Turn> next_turn();
  void accept_and_watch();
  bool wait_at_door();
  void accept_all();
  void admit(Accepted accepted);
  bool make_room();
  void dispose(Connection& connection, RequestLoop::Next next);
  void close(Connection& connection);
  void end_expired(RequestLoop& loop);
  void watch_overload(RequestLoop& loop);
  void queue_ready(RequestLoop& loop);
  void drain(SteadyTime until);
  void report_all_busy();
  milliseconds sweep_interval() const;

  const ServerLimits limits_;
  const Handler handler_;
  const AdmissionPolicy admission_;
  const Listener listener_;
  const uint32_t thread_count_;
  const int wake_;  // eventfd of the acceptor
  ParkingLot lot_;
  FairQueue queue_;
  WorkerLimit running_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> busy_{0};
  std::atomic<uint64_t> rounds_{0};  // connections served, by all workers
  std::atomic<bool> watching_{false};
  SteadyTime accept_after_{};  // used by the acceptor
  SteadyTime next_sweep_{};    // used by the acceptor
  uint64_t rounds_seen_ = 0;   // used by the acceptor
  int stuck_looks_ = 0;        // used by the acceptor
  int quiet_looks_ = 0;        // used by the acceptor
  Mutex stop_mutex_;           // held while stopping; taken before any other lock
  bool stopped_ TARN_GUARDED_BY(stop_mutex_) = false;
  std::jthread acceptor_;
  std::vector<std::jthread> workers_;
};

int make_wake_fd() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) throw Error(ErrorCode::kUnavailable, "starting a server: no descriptor left");
  return fd;
}

EpollServer::EpollServer(Listener listener, ServerLimits limits, Handler handler,
                         AdmissionPolicy admission)
    : limits_(limits),
      handler_(std::move(handler)),
      admission_(std::move(admission)),
      listener_(listener),
      thread_count_(fair_limits(limits).threads),
      wake_(make_wake_fd()),
      lot_(limits.connections_max),
      queue_(fair_limits(limits)),
      running_(running_max(limits)) {
  try {
    for (uint32_t i = 0; i < thread_count_; ++i) workers_.emplace_back([this] { work(); });
    acceptor_ = std::jthread([this] { accept_and_watch(); });
  } catch (const std::system_error&) {
    running_.end();
    lot_.end();  // otherwise joining the started threads would never return
    throw Error(ErrorCode::kUnavailable, "starting a server: no thread left");
  }
}

void EpollServer::work() {
  RequestLoop loop(limits_, handler_, admission_, queue_, stopping_);
  wait_observer() = &running_;
  for (bool busy = false;;) {
    // Before a rest, which may be a sleep: idle workers wait for connections, not for the queue.
    std::optional<FairQueue::Turn> turn = busy ? next_turn() : std::nullopt;
    if (!turn) {
      running_.rest(busy);
      busy = false;
      turn = next_turn();
    }
    Connection* connection = turn ? turn->connection : nullptr;
    if (!turn) {
      const ParkingLot::Arrival arrival = lot_.wait();
      if (arrival.kind == ParkingLot::Arrival::Kind::kEnd) return;
      connection = arrival.connection;
    }
    if (!std::exchange(busy, true)) running_.begin();
    if (connection == nullptr) continue;
    if (busy_.fetch_add(1) + 1 == thread_count_ || running_.exhausted()) report_all_busy();
    RequestLoop::Next next = RequestLoop::Next::kClose;
    work_time().queue = turn ? turn->waited : std::chrono::nanoseconds{0};
    try {
      next = loop.serve(*connection, turn ? turn->share : nullptr);
    } catch (const std::exception& error) {
      log::error("http_worker_failed", {{"error", error.what()}});
    }
    rounds_.fetch_add(1, std::memory_order_relaxed);
    busy_.fetch_sub(1);
    dispose(*connection, next);
  }
}

/// The next request of the queue, if one may start. If there are two, wakes another thread.
std::optional<FairQueue::Turn> EpollServer::next_turn() {
  std::optional<FairQueue::Turn> turn = queue_.next(SteadyClock::now());
  if (turn && turn->more) lot_.signal();
  return turn;
}

void EpollServer::dispose(Connection& connection, RequestLoop::Next next) {
  switch (next) {
    case RequestLoop::Next::kPark:
      return lot_.park(connection);
    case RequestLoop::Next::kClose:
      return close(connection);
    case RequestLoop::Next::kQueued:
      return;  // another thread may have closed it
  }
}

void EpollServer::close(Connection& connection) {
  lot_.close(connection);
  Probe::instance().connections.fetch_sub(1, std::memory_order_relaxed);
}

void EpollServer::report_all_busy() {
  if (watching_.load(std::memory_order_relaxed) || watching_.exchange(true)) return;
  ::eventfd_write(wake_, 1);
}

milliseconds EpollServer::sweep_interval() const {
  const milliseconds shortest =
      std::min({limits_.head_deadline, limits_.idle_timeout, limits_.queue_timeout});
  return std::clamp(shortest / 4, kSweepMin, kSweepMax);
}

void EpollServer::accept_and_watch() {
  RequestLoop loop(limits_, handler_, admission_, queue_, stopping_);
  while (!stopping_) {
    try {
      if (wait_at_door()) accept_all();
      if (watching_) watch_overload(loop);
      if (SteadyClock::now() >= next_sweep_) {
        end_expired(loop);
        next_sweep_ = SteadyClock::now() + sweep_interval();
      }
    } catch (const std::exception& error) {
      log::error("http_door_failed", {{"error", error.what()}});
    }
  }
  ::close(listener_.fd);
}

/// Whether connections are waiting to be accepted.
bool EpollServer::wait_at_door() {
  const SteadyTime now = SteadyClock::now();
  const bool accepts = now >= accept_after_;
  const bool hurries = watching_ || !accepts;
  const auto until_sweep = std::chrono::ceil<milliseconds>(next_sweep_ - now);
  const auto timeout = std::clamp(until_sweep, milliseconds{0}, hurries ? kWatchStep : kSweepMax);
  std::array<pollfd, 2> ready{{{wake_, POLLIN, 0}, {listener_.fd, POLLIN, 0}}};
  ::poll(ready.data(), accepts ? 2 : 1, static_cast<int>(timeout.count()));
  eventfd_t count = 0;
  if (ready[0].revents != 0) ::eventfd_read(wake_, &count);
  return accepts && ready[1].revents != 0;
}

void EpollServer::accept_all() {
  for (;;) {
    Accepted accepted = accept_from(listener_.fd);
    if (accepted.out_of_descriptors) {
      // Once for each pause: the shortage may be of the whole machine.
      if (make_room()) accepted = accept_from(listener_.fd);
    }
    if (accepted.out_of_descriptors) {
      log::warn("http_no_descriptors");
      accept_after_ = SteadyClock::now() + kDescriptorPause;
    }
    if (accepted.fd < 0) return;
    admit(std::move(accepted));
  }
}

void EpollServer::admit(Accepted accepted) {
  auto connection =
      std::make_unique<Connection>(accepted.fd, std::move(accepted.peer), accepted.network);
  // The deadline of the first head counts from the start of the connection.
  connection->deadline = SteadyClock::now() + std::min(limits_.head_deadline, limits_.idle_timeout);
  Probe& probe = Probe::instance();
  probe.connections.fetch_add(1, std::memory_order_relaxed);
  if (lot_.add(connection) || (make_room() && lot_.add(connection))) return;
  probe.connections.fetch_sub(1, std::memory_order_relaxed);
  const std::string text = refusal_text(503, "too many connections", next_request_id());
  const std::array<std::string_view, 1> pieces{text};
  connection->socket.send(pieces, false);
  connection->socket.finish_sending();
  connection->socket.discard(
      limits_.head_bytes_max);  // unread bytes would turn the close into a reset
  probe.answered(503);
}

/// Closes the oldest idle connection of the network that holds the most, so that no network can
/// keep the others out.
bool EpollServer::make_room() {
  Connection* idle = lot_.take_idle_of_busiest();
  if (idle == nullptr) return false;
  close(*idle);
  Probe::instance().closed_for_room();
  return true;
}

void EpollServer::end_expired(RequestLoop& loop) {
  for (Connection* connection : lot_.take_expired(SteadyClock::now())) {
    if (connection->phase == Connection::Phase::kHead) {
      dispose(*connection, loop.refuse(*connection, 408, "request head took too long"));
    } else {
      close(*connection);
    }
  }
  for (Connection* connection : queue_.take_expired(SteadyClock::now())) {
    dispose(*connection, loop.refuse_waiting(*connection, Overload::kWaitedTooLong));
  }
}

/// Called at each interval while all workers are busy. If workers finish connections between two
/// calls, only processor time is short, and pending connections are served soon. Otherwise they are
/// stuck in long requests, and connections wait without a reader.
void EpollServer::watch_overload(RequestLoop& loop) {
  const uint64_t rounds = rounds_.load(std::memory_order_relaxed);
  const uint64_t finished = rounds - std::exchange(rounds_seen_, rounds);
  if (running_.exhausted()) {
    quiet_looks_ = 0;
    if (finished == 0) running_.add_workers();
    return;
  }
  if (busy_ == thread_count_) {
    quiet_looks_ = 0;
    stuck_looks_ = finished < thread_count_ ? stuck_looks_ + 1 : 0;
    if (stuck_looks_ >= kStuckLooks) queue_ready(loop);
    return;
  }
  stuck_looks_ = 0;
  if (++quiet_looks_ < kQuietLooks) return;
  quiet_looks_ = 0;
  watching_ = false;
  if (busy_ == thread_count_ || running_.exhausted()) watching_ = true;
}

void EpollServer::queue_ready(RequestLoop& loop) {
  for (Connection* connection : lot_.take_ready()) {
    if (connection->phase == Connection::Phase::kLingering) {
      dispose(*connection, loop.serve(*connection));
      continue;
    }
    const RequestLoop::Next next = loop.queue_up(*connection);
    if (next == RequestLoop::Next::kQueued) lot_.signal();
    dispose(*connection, next);
  }
}

void EpollServer::stop(milliseconds grace) {
  MutexLock lock(stop_mutex_);
  if (std::exchange(stopped_, true)) return;
  const SteadyTime until = SteadyClock::now() + grace;
  stopping_ = true;
  ::eventfd_write(wake_, 1);
  acceptor_.join();
  drain(until);
  running_.end();
  lot_.end();
  workers_.clear();
  ::close(wake_);
}

void EpollServer::drain(SteadyTime until) {
  bool cut = false;
  while (lot_.size() > 0) {
    const SteadyTime now = SteadyClock::now();
    for (Connection* connection : lot_.take_idle()) close(*connection);
    for (Connection* connection : lot_.take_expired(now)) close(*connection);
    if (now >= until) {
      // First, so that no free thread starts one of them in vain.
      for (Connection* connection : queue_.take_all()) close(*connection);
      if (!std::exchange(cut, true)) lot_.cut_all();
    }
    if (lot_.size() > 0) std::this_thread::sleep_for(kDrainStep);
  }
}

}  // namespace

std::unique_ptr<Server> Server::start(const std::string& host, uint16_t port, ServerLimits limits,
                                      Handler handler, AdmissionPolicy admission) {
  return start(BoundAddress::bind(host, port), limits, std::move(handler), std::move(admission));
}

std::unique_ptr<Server> Server::start(BoundAddress address, ServerLimits limits, Handler handler,
                                      AdmissionPolicy admission) {
  const uint16_t port = address.port();
  const int fd = address.release();
  try {
    start_listening(fd);
  } catch (const Error&) {
    ::close(fd);
    throw;
  }
  return std::make_unique<EpollServer>(Listener{fd, port}, limits, std::move(handler),
                                       std::move(admission));
}

}  // namespace tarn::http
