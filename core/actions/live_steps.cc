#include "core/actions/live_steps.h"

#include <algorithm>
#include <utility>

namespace tarn::actions {

void LiveSteps::begin(HookStep step, const HookOutput& output) {
  MutexLock lock(mutex_);
  step.status = HookStatus::kRunning;
  std::string id = step.id;
  entries_[std::move(id)] = {.step = std::move(step), .running = &output};
}

void LiveSteps::end(const std::string& id, HookStatus status, Instant ended) {
  MutexLock lock(mutex_);
  Entry& entry = entries_.at(id);
  entry.step.status = status;
  entry.step.ended = ended;
  entry.output = entry.running->text();
  entry.running = nullptr;
}

void LiveSteps::store(SteadyTime now, const Write& write) {
  std::vector<events::HookStepOutput> steps;
  std::vector<size_t> bytes;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, entry] : entries_) {
      // Before the text is read, which may grow meanwhile.
      const size_t size = entry.bytes();
      const bool has_grown = entry.running != nullptr && size != entry.stored_bytes;
      if (!entry.changed_state() && !(has_grown && now >= entry.due)) continue;
      steps.push_back(entry.copy());
      bytes.push_back(size);
    }
  }
  if (steps.empty()) return;
  write(steps);
  MutexLock lock(mutex_);
  for (size_t i = 0; i < steps.size(); ++i) {
    Entry& entry = entries_.at(steps[i].step.id);
    entry.stored = true;
    entry.stored_status = steps[i].step.status;
    entry.stored_bytes = bytes[i];
    const std::chrono::milliseconds pause(1'000 * steps[i].output.size() / kLiveBytesPerSecond);
    entry.due = now + std::max(kLiveOutputInterval, pause);
  }
}

std::vector<events::HookStepOutput> LiveSteps::unstored() const {
  MutexLock lock(mutex_);
  std::vector<events::HookStepOutput> out;
  for (const auto& [id, entry] : entries_) {
    if (entry.running != nullptr || entry.changed_state()) out.push_back(entry.copy());
  }
  return out;
}

}  // namespace tarn::actions
