#include "core/base/owner_turns.h"

#include <limits>

namespace tarn {

OwnerTurns& OwnerTurns::unlimited() {
  static OwnerTurns turns(std::numeric_limits<uint32_t>::max());
  return turns;
}

std::optional<OwnerTurns::Turn> OwnerTurns::begin(
    const std::function<std::optional<std::string>(const std::vector<std::string>& full)>& take) {
  MutexLock taking(taking_);
  std::vector<std::string> full;
  {
    MutexLock lock(mutex_);
    for (const auto& [owner, count] : held_) {
      if (count >= of_one_max_) full.push_back(owner);
    }
  }
  std::optional<std::string> owner = take(full);
  if (!owner) return std::nullopt;
  {
    MutexLock lock(mutex_);
    ++held_[*owner];
  }
  return std::optional<Turn>(std::in_place, *this, *std::move(owner));
}

void OwnerTurns::end(const std::string& owner) {
  MutexLock lock(mutex_);
  if (--held_[owner] == 0) held_.erase(owner);
}

}  // namespace tarn
