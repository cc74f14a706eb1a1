#include "core/actions/script_slots.h"

#include <algorithm>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/reasons.h"

namespace tarn::actions {
namespace {

/// Interval at which a waiting thread checks for cancellation.
constexpr std::chrono::milliseconds kLook{100};

}  // namespace

size_t ScriptSlots::held_by(const std::string& user) const {
  const auto at = held_.find(user);
  return at == held_.end() ? 0 : at->second;
}

bool ScriptSlots::is_next(const Place& place) const {
  const size_t held = held_by(*place);
  if (running_ == slots_ || held == of_one_max_) return false;
  bool arrived_before = true;
  for (auto other = waiting_.begin(); other != waiting_.end(); ++other) {
    if (other == Place(place)) {
      arrived_before = false;
      continue;
    }
    const size_t of_other = held_by(*other);
    if (of_other < held || (of_other == held && arrived_before)) return false;
  }
  return true;
}

ScriptSlots::Slot ScriptSlots::take(const std::string& user,
                                    std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(mutex_);
  const Place place = waiting_.insert(waiting_.end(), user);
  const auto leave = [&]() TARN_REQUIRES(mutex_) {
    waiting_.erase(place);
    changed_.notify_all();  // another waiter may be the next
  };
  while (!is_next(place)) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      leave();
      throw Error(ErrorCode::kResourceExhausted, reason::kScriptTimeout,
                  "the script's time passed while it waited for other scripts to end");
    }
    if (cancellation_token().stop_requested()) {
      leave();
      throw_if_cancelled();
    }
    changed_.wait_until(lock, std::min(deadline, now + kLook));
  }
  ++held_[user];
  ++running_;
  leave();
  return Slot(*this, user);
}

void ScriptSlots::end(const std::string& user) {
  MutexLock lock(mutex_);
  --running_;
  if (--held_[user] == 0) held_.erase(user);
  changed_.notify_all();
}

}  // namespace tarn::actions
