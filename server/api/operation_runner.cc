#include "server/api/operation_runner.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <utility>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/pause.h"

namespace tarn::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

constexpr seconds kLease{15};
constexpr seconds kRenewEvery{1};
constexpr milliseconds kPoll{100};
/// An answer that cannot be stored at once is tried again, after 1, 2, 4 ... seconds.
constexpr int kStoreAttemptsMax = 5;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<seconds> wait_of(std::string_view preference) {
  constexpr std::string_view kWait = "wait=";
  if (preference == "respond-async") return seconds{0};
  if (!preference.starts_with(kWait)) return std::nullopt;
  preference.remove_prefix(kWait.size());
  uint32_t value = 0;
  const char* last = preference.data() + preference.size();
  const auto [end, error] = std::from_chars(preference.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return std::min(seconds{value}, kOperationWaitMax);
}

meta::OperationState state_of(int status, bool cancelled) {
  if (cancelled) return meta::OperationState::kCancelled;
  return status < 400 ? meta::OperationState::kDone : meta::OperationState::kFailed;
}

}  // namespace

std::optional<seconds> preferred_wait(const http::Request& request) {
  std::optional<seconds> found;
  for (const auto& [name, value] : request.headers.all()) {
    if (!http::equal_ignoring_case(name, "Prefer")) continue;
    std::string_view left = value;
    for (;;) {
      const size_t comma = left.find(',');
      const std::optional<seconds> wait = wait_of(trimmed(left.substr(0, comma)));
      // "respond-async, wait=5" waits.
      if (wait && (!found || *wait > *found)) found = wait;
      if (comma == std::string_view::npos) break;
      left.remove_prefix(comma + 1);
    }
  }
  return found;
}

struct OperationRunner::Running {
  explicit Running(OperationWork given) : work(std::move(given)) {}

  const OperationWork work;
  std::stop_source stop;
  Mutex mutex;
  CondVar changed;
  bool ended TARN_GUARDED_BY(mutex) = false;
  http::Response response TARN_GUARDED_BY(mutex);
  std::exception_ptr thrown TARN_GUARDED_BY(mutex);
  std::string id TARN_GUARDED_BY(mutex);  ///< "" while its client still waits
  std::atomic<bool> finished = false;     ///< its thread does nothing more
};

/// One of the requests that may wait; `admitted` false: there are too many.
class OperationRunner::Waiter {
 public:
  explicit Waiter(OperationRunner& runner) : runner_(runner) {
    MutexLock lock(runner_.mutex_);
    admitted = runner_.waiters_ < kOperationWaitersMax;
    if (admitted) ++runner_.waiters_;
  }
  ~Waiter() {
    if (!admitted) return;
    MutexLock lock(runner_.mutex_);
    --runner_.waiters_;
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  bool admitted = false;

 private:
  OperationRunner& runner_;
};

OperationRunner::OperationRunner(db::Pool& pool, const Clock& clock)
    : rows_(pool, clock), renewer_([this](std::stop_token stop) {
        while (!stop.stop_requested()) {
          pause(stop, kRenewEvery);
          renew_leases();
        }
      }) {}

OperationRunner::~OperationRunner() {
  renewer_ = {};
  std::list<Slot> left;
  {
    MutexLock lock(mutex_);
    left.swap(slots_);
  }
  for (const Slot& slot : left) slot.running->stop.request_stop();
  left.clear();  // joins
}

OperationRunner::Outcome OperationRunner::run(OperationWork work, seconds wait) {
  const auto running = std::make_shared<Running>(std::move(work));
  {
    MutexLock lock(mutex_);
    slots_.remove_if([](const Slot& slot) { return slot.running->finished.load(); });
    if (slots_.size() >= kOperationsRunningMax) {
      throw Error(ErrorCode::kUnavailable, "too_many_operations",
                  "too many operations are running, try again later");
    }
    slots_.push_back({running, std::jthread([this, running] {
                        run_to_end(*running);
                        running->finished = true;
                      })});
  }
  const Waiter waiter(*this);
  if (!waiter.admitted) wait = seconds{0};
  {
    MutexLock lock(running->mutex);
    running->changed.wait_for(lock, wait, [&] { return running->ended; });
    if (running->ended) {
      if (running->thrown) std::rethrow_exception(running->thrown);
      return {std::move(running->response), ""};
    }
  }
  const OperationWork& given = running->work;
  const std::string id = rows_.start(given.name, given.target, given.owner, kLease);
  bool ended = false;
  {
    MutexLock lock(running->mutex);
    running->id = id;
    ended = running->ended;
  }
  if (ended) keep_answer(*running);  // it ended while its row was made
  return {std::nullopt, id};
}

void OperationRunner::run_to_end(Running& running) {
  http::Response response;
  std::exception_ptr thrown;
  try {
    const CancellationScope scope(running.stop.get_token());
    response = running.work.work();
  } catch (...) {
    thrown = std::current_exception();
  }
  bool named = false;
  {
    MutexLock lock(running.mutex);
    running.response = std::move(response);
    running.thrown = thrown;
    running.ended = true;
    named = !running.id.empty();
  }
  running.changed.notify_all();
  if (named) keep_answer(running);
}

void OperationRunner::keep_answer(Running& running) {
  std::string id;
  http::Response response;
  std::exception_ptr thrown;
  {
    MutexLock lock(running.mutex);
    id = running.id;
    response = std::move(running.response);
    thrown = running.thrown;
  }
  bool cancelled = false;
  if (thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      cancelled = error.reason() == "operation_cancelled";
      response = running.work.failure(error);
    } catch (const std::exception& error) {
      response = running.work.failure(error);
    }
  }
  for (int attempt = 1;; ++attempt) {
    try {
      rows_.finish(id, state_of(response.status, cancelled), response.status, response.body);
      break;
    } catch (const std::exception& error) {
      log::warn("operation_not_stored",
                {{"operation", id}, {"attempt", attempt}, {"message", error.what()}});
      if (attempt == kStoreAttemptsMax) break;  // its lease runs out: it shows as lost
      pause({}, seconds{1 << (attempt - 1)});
    }
  }
  log::info("operation_ended",
            {{"operation", id}, {"name", running.work.name}, {"status", response.status}});
}

void OperationRunner::renew_leases() {
  std::vector<std::shared_ptr<Running>> named;
  {
    MutexLock lock(mutex_);
    for (const Slot& slot : slots_) {
      MutexLock lock_running(slot.running->mutex);
      if (!slot.running->ended && !slot.running->id.empty()) named.push_back(slot.running);
    }
  }
  for (const auto& running : named) {
    std::string id;
    {
      MutexLock lock(running->mutex);
      id = running->id;
    }
    try {
      if (rows_.renew(id, kLease)) running->stop.request_stop();
    } catch (const std::exception& error) {
      log::warn("operation_lease", {{"operation", id}, {"message", error.what()}});
    }
  }
}

std::optional<meta::Operation> OperationRunner::wait_for(std::string_view owner,
                                                         std::string_view id, seconds wait) {
  const Waiter waiter(*this);
  const auto deadline = SteadyClock::now() + (waiter.admitted ? wait : seconds{0});
  for (;;) {
    std::optional<meta::Operation> found = rows_.find(owner, id);
    if (!found || found->state != meta::OperationState::kRunning ||
        SteadyClock::now() + kPoll > deadline) {
      return found;
    }
    pause({}, kPoll);
  }
}

}  // namespace tarn::api
