// The record of the hooks that ran at one event.
#pragma once

#include <optional>
#include <string>

#include "core/base/time.h"
#include "core/model/commit.h"
#include "core/model/hook_event.h"

namespace tarn {

enum class HookRunState {
  kQueued,
  kRunning,
  kCompleted,
  kFailed,
};

struct HookRun {
  std::string id;  ///< of later ones smaller in byte order
  HookEvent event{};
  std::string branch{};              ///< "" = the event is about a tag
  std::optional<CommitId> commit{};  ///< absent until there is one
  HookRunState state = HookRunState::kRunning;
  std::string error{};  ///< the error that kept all hooks from running; "" = none
  Instant started{};
  std::optional<Instant> ended{};
};

enum class HookStatus {
  kCompleted,
  kFailed,
  kSkipped,  ///< never started: one before it failed, or its condition does not hold
  kRunning,
};

/// One hook of a run.
struct HookStep {
  std::string id;  ///< "0000_0001": indexes of action and hook
  std::string action;
  std::string hook;
  HookStatus status = HookStatus::kSkipped;
  Instant started{};
  std::optional<Instant> ended{};
};

}  // namespace tarn
