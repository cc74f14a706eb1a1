#include "core/base/memory_share.h"

#include <map>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn {
namespace {

using Used = std::atomic<size_t>;

thread_local std::shared_ptr<Used> current;

class Users {
 public:
  std::shared_ptr<Used> used_by(std::string_view user) {
    MutexLock lock(mutex_);
    const auto at = users_.find(user);
    if (at != users_.end()) {
      if (auto used = at->second.lock()) return used;
    }
    if (users_.size() > kRememberedMax) {
      std::erase_if(users_, [](const auto& one) { return one.second.expired(); });
    }
    auto used = std::make_shared<Used>(0);
    users_.insert_or_assign(std::string(user), used);
    return used;
  }

 private:
  static constexpr size_t kRememberedMax = 1024;  // those without a request are dropped then
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<Used>, std::less<>> users_ TARN_GUARDED_BY(mutex_);
};

Users& users() {
  static Users* const all = new Users;  // never destroyed: threads may end later
  return *all;
}

}  // namespace

MemoryScope::MemoryScope(std::string_view user)
    : outer_(std::exchange(current, users().used_by(user))) {}

MemoryScope::MemoryScope() : outer_(std::exchange(current, nullptr)) {}

MemoryScope::~MemoryScope() { current = std::move(outer_); }

/// Whether the user is within the limit.
bool MemoryHold::count(size_t bytes) {
  if (bytes < kAnswerPieceBytesMin || !current) return true;
  used_ = current;
  bytes_ = bytes;
  return used_->fetch_add(bytes) + bytes <= kAnswerBytesPerUserMax;
}

MemoryHold MemoryHold::unlimited(size_t bytes) {
  MemoryHold out;
  out.count(bytes);
  return out;
}

MemoryHold::MemoryHold(size_t bytes) {
  if (!count(bytes)) {
    used_->fetch_sub(bytes);
    throw Error(
        ErrorCode::kUnavailable, reason::kOverloaded,
        str_cat("the answers to the requests of this user take ", kAnswerBytesPerUserMax >> 20,
                " MiB, which is the most: ask for fewer at once, or for smaller pages"));
  }
}

MemoryHold::~MemoryHold() {
  if (used_) used_->fetch_sub(bytes_);
}

MemoryHold::MemoryHold(MemoryHold&& other) noexcept
    : used_(std::move(other.used_)), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryHold& MemoryHold::operator=(MemoryHold&& other) noexcept {
  std::swap(used_, other.used_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace tarn
