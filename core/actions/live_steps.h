// Steps of a run of hooks while it runs, and which of them the database lacks.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/actions/hook_work.h"
#include "core/base/mutex.h"
#include "core/events/hook_run_store.h"

namespace tarn::actions {

/// The output of a running step is stored this often at most, if it has grown,
constexpr std::chrono::milliseconds kLiveOutputInterval{1'000};
/// and less often when it is long, since it is stored as a whole: so many bytes a second.
constexpr size_t kLiveBytesPerSecond = 16 * 1024;

/// Safe from any thread; one at a time calls store().
class LiveSteps {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;
  /// Stores the steps, or throws.
  using Write = std::function<void(const std::vector<events::HookStepOutput>&)>;

  /// The step runs. `output` is read until end() returns.
  void begin(HookStep step, const HookOutput& output);
  void end(const std::string& id, HookStatus status, Instant ended);

  /// Calls `write` with the steps that began or ended since they were stored, and those whose
  /// output has grown and is due; not at all if there are none. Steps for which it throws are given
  /// to the next call again.
  void store(SteadyTime now, const Write& write);
  /// Steps of which the database does not have the newest state.
  std::vector<events::HookStepOutput> unstored() const;

 private:
  struct Entry {
    HookStep step;
    std::string output{};                 ///< of a step that has ended
    const HookOutput* running = nullptr;  ///< of one that has not
    bool stored = false;
    HookStatus stored_status{};
    size_t stored_bytes = 0;  ///< of its output, with those that were left out
    SteadyTime due{};

    size_t bytes() const { return running != nullptr ? running->bytes() : output.size(); }
    bool changed_state() const { return !stored || stored_status != step.status; }
    events::HookStepOutput copy() const {
      return {step, running != nullptr ? running->text() : output};
    }
  };

  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ TARN_GUARDED_BY(mutex_);  // by id
};

}  // namespace tarn::actions
