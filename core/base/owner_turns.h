// Fair sharing of background workers between users.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/mutex.h"

namespace tarn {

/// Turns of one process and one kind of work. An owner holds all workers but one at most, so that
/// the work of another begins at once. Safe from any thread; outlives its turns.
class OwnerTurns {
 public:
  explicit OwnerTurns(uint32_t workers) : of_one_max_(workers > 1 ? workers - 1 : 1) {}
  /// One owner may hold any number.
  static OwnerTurns& unlimited();

  /// Ends with the object.
  class Turn {
   public:
    Turn(OwnerTurns& turns, std::string owner) : turns_(&turns), owner_(std::move(owner)) {}
    Turn(Turn&& other) noexcept : turns_(other.turns_), owner_(std::move(other.owner_)) {
      other.turns_ = nullptr;
    }
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->end(owner_);
    }

   private:
    OwnerTurns* turns_;
    std::string owner_;
  };

  /// Calls `take` with the owners at their limit; it takes work of another owner and returns that
  /// owner, or nullopt if there is none. One thread takes at a time.
  std::optional<Turn> begin(
      const std::function<std::optional<std::string>(const std::vector<std::string>& full)>& take);

 private:
  void end(const std::string& owner);

  const uint32_t of_one_max_;
  Mutex taking_;
  Mutex mutex_;
  std::map<std::string, uint32_t> held_ TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn
