#include "core/http/worker_limit.h"

#include <algorithm>
#include <utility>

namespace tarn::http {
namespace {

thread_local bool waited = false;  // since the calling worker last rested

}  // namespace

/// Applies `step`, then wakes a worker if none is left to take the next connection.
template <typename Step>
void WorkerLimit::change(Step step) {
  uint64_t before = counts_.load(std::memory_order_relaxed);
  for (;;) {
    Counts counts = unpack(before);
    step(counts);
    const bool wakes = counts.idle == 0 && counts.busy < max_ && counts.asleep > 0;
    if (wakes) {
      --counts.asleep;
      ++counts.idle;
    }
    if (counts_.compare_exchange_weak(before, pack(counts), std::memory_order_acq_rel)) {
      if (wakes) wake_.release();
      return;
    }
  }
}

void WorkerLimit::rest(bool finished) {
  const bool may_sleep = !std::exchange(waited, false);
  bool sleeps = false;
  change([&](Counts& counts) {
    if (finished) --counts.busy;
    // A worker that starts must not be the first to sleep while all are busy: the last of those to
    // begin saw none asleep, so that nobody watches for them.
    const bool is_watched = finished || counts.idle > 0;
    sleeps = may_sleep && is_watched && !counts.ended && counts.busy + counts.idle >= max_;
    ++(sleeps ? counts.asleep : counts.idle);
  });
  if (sleeps) wake_.acquire();  // by a worker that has made this one idle
}

void WorkerLimit::begin() {
  change([](Counts& counts) {
    --counts.idle;
    ++counts.busy;
  });
}

void WorkerLimit::wait_begins() noexcept {
  waited = true;
  change([](Counts& counts) { --counts.busy; });
}

void WorkerLimit::wait_ends() noexcept {
  change([](Counts& counts) { ++counts.busy; });
}

bool WorkerLimit::exhausted() const {
  const Counts counts = unpack(counts_.load(std::memory_order_relaxed));
  return counts.idle == 0 && counts.asleep > 0;
}

void WorkerLimit::add_workers() {
  uint32_t woken = 0;
  change([&](Counts& counts) {
    woken = std::min(counts.asleep, max_);
    counts.asleep -= woken;
    counts.idle += woken;
  });
  wake_.release(woken);
}

void WorkerLimit::end() {
  uint32_t woken = 0;
  change([&](Counts& counts) {
    counts.ended = true;
    woken = std::exchange(counts.asleep, 0);
    counts.idle += woken;
  });
  wake_.release(woken);
}

}  // namespace tarn::http
