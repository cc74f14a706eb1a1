// A limit on the workers of a server that run at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <semaphore>

#include "core/base/wait_scope.h"

namespace tarn::http {

/// A worker is idle (waits for a connection), busy, waiting (inside a WaitScope of a request) or
/// asleep. While `max` are idle or busy, a worker that has finished goes to sleep; one is woken
/// when fewer than `max` are busy and none is idle. So few threads compete for the processors, each
/// finishes its request without being preempted by the others, and connections are served in the
/// order in which they became ready. Workers that return from a wait run at once, also above `max`.
/// A wait outside of a WaitScope counts as busy; `add_workers` is the remedy. Safe from any thread.
class WorkerLimit final : public WaitObserver {
 public:
  explicit WorkerLimit(uint32_t max) : max_(max) {}

  /// Makes the calling worker idle, perhaps after a sleep. `finished`: it was busy.
  void rest(bool finished);
  /// The calling worker, which was idle, is busy.
  void begin();

  void wait_begins() noexcept override;
  void wait_ends() noexcept override;

  /// Whether all that may run are busy while others sleep.
  bool exhausted() const;
  /// Wakes up to `max` workers that sleep, whatever runs.
  void add_workers();
  /// Wakes all workers; none sleeps from now on.
  void end();

 private:
  struct Counts {
    uint32_t busy = 0;
    uint32_t idle = 0;
    uint32_t asleep = 0;
    bool ended = false;
  };
  static constexpr uint32_t kBits = 21;
  static constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  static Counts unpack(uint64_t word) {
    return {static_cast<uint32_t>(word & kMask), static_cast<uint32_t>((word >> kBits) & kMask),
            static_cast<uint32_t>((word >> (2 * kBits)) & kMask), (word >> (3 * kBits)) != 0};
  }
  static uint64_t pack(const Counts& counts) {
    return counts.busy | (uint64_t{counts.idle} << kBits) |
           (uint64_t{counts.asleep} << (2 * kBits)) | (uint64_t{counts.ended} << (3 * kBits));
  }
  template <typename Step>
  void change(Step step);

  const uint32_t max_;
  std::atomic<uint64_t> counts_{0};
  std::counting_semaphore<> wake_{0};
};

}  // namespace tarn::http
