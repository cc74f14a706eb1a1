// The supervisor of the embedded PostgreSQL.
#include "core/db/embedded.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include <signal.h>
#include <sys/wait.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/str_cat.h"
#include "core/db/connection.h"
#include "core/db/embedded_cluster.h"

namespace tarn::db {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Recovery after a crash replays at most max_wal_size; a slow disk takes minutes for it.
constexpr seconds kStartTimeout{600};
/// Faster polling would fill the server's log.
constexpr milliseconds kReadyPoll{20};
constexpr milliseconds kRestartPauseMin{100};
constexpr milliseconds kRestartPauseMax{5000};
/// A server that ran this long did not fail at startup.
constexpr seconds kSettled{60};
constexpr seconds kFastStop{30};
constexpr seconds kHardStop{5};

/// The server's death signal is bound to the thread that starts it: one thread starts every server
/// process and lives until the last has ended.
class Supervisor final : public EmbeddedPostgres {
 public:
  explicit Supervisor(Cluster cluster)
      : cluster_(std::move(cluster)), thread_([this] { supervise(); }) {}
  ~Supervisor() override;

  void wait_for_first_start() { started_.get_future().get(); }
  std::string url() const override { return cluster_.url(); }
  int pid() const override {
    MutexLock lock(mutex_);
    return pid_;
  }

 private:
  void supervise();
  bool run_once(bool first);
  bool launch();
  std::string wait_until_ready();
  std::string wait_for_end();
  bool pause(milliseconds duration);
  bool stopped_within(seconds limit);
  void send(int signal);

  const Cluster cluster_;
  std::promise<void> started_;
  mutable Mutex mutex_;
  CondVar changed_;
  pid_t pid_ TARN_GUARDED_BY(mutex_) =
      0;  // reaped only under the lock, so it never names another process
  bool stopping_ TARN_GUARDED_BY(mutex_) = false;
  bool finished_ TARN_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last member: it uses all of the above
};

Supervisor::~Supervisor() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  send(SIGINT);
  if (!stopped_within(kFastStop)) {
    log::warn("postgres_stop_slow", {{"directory", cluster_.data()}});
    send(SIGQUIT);
    if (!stopped_within(kHardStop)) send(SIGKILL);
  }
  thread_.join();
  cluster_.remove_socket_directory();
}

void Supervisor::send(int signal) {
  MutexLock lock(mutex_);
  if (pid_ != 0) kill(pid_, signal);
}

bool Supervisor::stopped_within(seconds limit) {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock, limit, [this]() TARN_REQUIRES(mutex_) { return finished_; });
}

/// Returns false if we must stop.
bool Supervisor::pause(milliseconds duration) {
  MutexLock lock(mutex_);
  return !changed_.wait_for(lock, duration, [this]() TARN_REQUIRES(mutex_) { return stopping_; });
}

void Supervisor::supervise() {
  milliseconds rest = kRestartPauseMin;
  bool first = true;
  for (;;) {
    const Clock::time_point start = Clock::now();
    const bool again = run_once(first);
    first = false;
    if (Clock::now() - start > kSettled) rest = kRestartPauseMin;
    if (!again || !pause(rest)) break;
    rest = std::min(rest * 2, kRestartPauseMax);
  }
  MutexLock lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

/// Runs the server process once. Returns false if there is to be no other.
bool Supervisor::run_once(bool first) {
  try {
    cluster_.stop_orphans();
    if (!launch()) return false;
    const std::string failure = wait_until_ready();
    if (failure.empty()) {
      if (first) {
        started_.set_value();
      } else {
        log::warn("postgres_restarted", {{"directory", cluster_.data()}});
      }
    }
    const std::string end = wait_for_end();
    if (first && !failure.empty()) {
      throw Error(ErrorCode::kPreconditionFailed,
                  str_cat("starting PostgreSQL: it ", failure, " ", end, ": ",
                          cluster_.last_log_line(), " (", cluster_.log_path(), ")"));
    }
    MutexLock lock(mutex_);
    if (stopping_) return false;
    log::error("postgres_died", {{"reason", end.empty() ? "it was told to stop, not by us" : end},
                                 {"directory", cluster_.data()}});
    return true;
  } catch (const std::exception& error) {
    if (first) {
      started_.set_exception(std::current_exception());
      return false;
    }
    log::error("postgres_restart_failed", {{"reason", error.what()}});
    return true;
  }
}

bool Supervisor::launch() {
  MutexLock lock(mutex_);
  if (stopping_) return false;
  pid_ = cluster_.launch();
  return true;
}

/// Waits until connections are accepted; returns "" or the problem. A leftover server that answers
/// instead does not count: PostgreSQL's own file must name our child.
std::string Supervisor::wait_until_ready() {
  const int child = pid();
  const Clock::time_point deadline = Clock::now() + kStartTimeout;
  while (!has_exited(child)) {
    if (cluster_.ready(child)) {
      try {
        Connection::open(cluster_.url());
        return "";
      } catch (const DbError&) {  // between "ready" and listening, or already stopping
      }
    }
    if (Clock::now() > deadline) {
      send(SIGQUIT);
      return "did not answer in time and";
    }
    if (!pause(kReadyPoll)) return "was stopped and";
  }
  return "ended at once,";
}

std::string Supervisor::wait_for_end() {
  const int child = pid();
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  MutexLock lock(mutex_);
  pid_ = 0;
  return reap(child);
}

}  // namespace

std::unique_ptr<EmbeddedPostgres> EmbeddedPostgres::start(const std::string& dir) {
  auto supervisor = std::make_unique<Supervisor>(Cluster::open(dir));
  supervisor->wait_for_first_start();
  log::info("postgres_started", {{"pid", supervisor->pid()}});
  return supervisor;
}

std::string EmbeddedPostgres::url_of_running(const std::string& dir) {
  return Cluster::url_of_running(dir);
}

}  // namespace tarn::db
