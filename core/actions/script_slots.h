// Slots for processes that run scripts, shared fairly between users.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "core/base/mutex.h"

namespace tarn::actions {

/// Scripts that run concurrently on a server. Scripts that another script triggers run while that
/// one waits, and take no slot.
constexpr size_t kScriptProcessesMax = 16;

/// One user holds at most all slots but one, so that another user's script starts at once. A slot
/// goes to the user who holds the fewest; among equals, to the one who has waited longest. Safe
/// from any thread; outlives its slots.
class ScriptSlots {
 public:
  explicit ScriptSlots(size_t slots = kScriptProcessesMax)
      : slots_(slots), of_one_max_(slots > 1 ? slots - 1 : 1) {}

  /// Ends with the object.
  class Slot {
   public:
    Slot(ScriptSlots& slots, std::string user) : slots_(&slots), user_(std::move(user)) {}
    Slot(Slot&& other) noexcept
        : slots_(std::exchange(other.slots_, nullptr)), user_(std::move(other.user_)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (slots_ != nullptr) slots_->end(user_);
    }

   private:
    ScriptSlots* slots_;
    std::string user_;
  };

  /// Waits for a slot. Throws resource_exhausted (reason "script_timeout") at the deadline,
  /// conflict (reason "operation_cancelled") soon after the thread's work is cancelled.
  Slot take(const std::string& user, std::chrono::steady_clock::time_point deadline);

 private:
  using Place = std::list<std::string>::iterator;  ///< of a user who waits

  void end(const std::string& user);
  bool is_next(const Place& place) const TARN_REQUIRES(mutex_);
  size_t held_by(const std::string& user) const TARN_REQUIRES(mutex_);

  const size_t slots_;
  const size_t of_one_max_;
  Mutex mutex_;
  CondVar changed_;
  std::list<std::string> waiting_ TARN_GUARDED_BY(mutex_);  ///< in the order of arrival
  std::map<std::string, size_t> held_ TARN_GUARDED_BY(mutex_);
  size_t running_ TARN_GUARDED_BY(mutex_) = 0;
};

}  // namespace tarn::actions
