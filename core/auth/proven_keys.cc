#include "core/auth/proven_keys.h"

#include "core/base/str_cat.h"

namespace tarn::auth {
namespace {

/// Unambiguous, because neither an access key id nor an address contains a space.
std::string name_of(std::string_view access_key_id, std::string_view address) {
  return str_cat(access_key_id, ' ', address);
}

}  // namespace

void ProvenKeys::add(std::string_view access_key_id, std::string_view address,
                     std::chrono::milliseconds now) {
  std::string name = name_of(access_key_id, address);
  MutexLock lock(mutex_);
  if (last_proof_.size() >= kKeysMax && !last_proof_.contains(name)) last_proof_.clear();
  last_proof_.insert_or_assign(std::move(name), now);
}

bool ProvenKeys::contains(std::string_view access_key_id, std::string_view address,
                          std::chrono::milliseconds now) const {
  const std::string name = name_of(access_key_id, address);
  MutexLock lock(mutex_);
  const auto at = last_proof_.find(name);
  return at != last_proof_.end() && now - at->second < kLife;
}

}  // namespace tarn::auth
