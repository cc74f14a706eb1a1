#include "core/actions/hook_work.h"

#include "core/base/str_cat.h"
#include "core/events/hook_run_store.h"

namespace tarn::actions {
namespace {

constexpr size_t kFirstBytesMax = events::kHookOutputBytesMax / 2;
constexpr size_t kLastBytesMax = events::kHookOutputBytesMax / 2 - 100;  // room for the note

}  // namespace

void HookOutput::add(std::string_view text) { keep(masking_.add(text)); }

void HookOutput::end() { keep(masking_.rest()); }

void HookOutput::keep(const std::string& shown) {
  MutexLock lock(mutex_);
  const size_t fits = std::min(shown.size(), kFirstBytesMax - first_.size());
  first_.append(shown, 0, fits);
  last_.append(shown, fits);
  if (last_.size() > kLastBytesMax) {
    left_out_ += last_.size() - kLastBytesMax;
    last_.erase(0, last_.size() - kLastBytesMax);
  }
}

std::string HookOutput::text() const {
  MutexLock lock(mutex_);
  if (left_out_ == 0) return first_ + last_;
  return str_cat(first_, "\n... ", left_out_, " bytes left out ...\n", last_);
}

size_t HookOutput::bytes() const {
  MutexLock lock(mutex_);
  return first_.size() + left_out_ + last_.size();
}

}  // namespace tarn::actions
