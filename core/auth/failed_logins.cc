#include "core/auth/failed_logins.h"

#include <algorithm>

#include "core/base/str_cat.h"

namespace tarn::auth {

double FailedLogins::failures_at(const Counts& counts, std::string_view name,
                                 const FailureAllowance& allowance, std::chrono::milliseconds now) {
  const auto at = counts.find(name);
  if (at == counts.end()) return 0;
  const std::chrono::duration<double> passed = now - at->second.at;
  const std::chrono::duration<double> each = allowance.one_per;
  return std::max(0.0, at->second.failures - passed / each);
}

void FailedLogins::add_to(Counts& counts, std::string name, const FailureAllowance& allowance,
                          std::chrono::milliseconds now) {
  const double failures = failures_at(counts, name, allowance, now) + 1;
  if (counts.size() >= kCountedMax && !counts.contains(name)) counts.clear();
  counts.insert_or_assign(std::move(name), Count{std::min(failures, allowance.burst), now});
}

bool FailedLogins::allows_another(std::string_view access_key_id, std::string_view address,
                                  std::chrono::milliseconds now) const {
  const std::string of_key = str_cat(access_key_id, ' ', address);
  MutexLock lock(mutex_);
  return failures_at(of_keys_, of_key, kOfKey, now) + 1 <= kOfKey.burst &&
         failures_at(of_addresses_, address, kOfAddress, now) + 1 <= kOfAddress.burst;
}

void FailedLogins::add(std::string_view access_key_id, std::string_view address,
                       std::chrono::milliseconds now) {
  MutexLock lock(mutex_);
  add_to(of_addresses_, std::string(address), kOfAddress, now);
  if (!access_key_id.empty()) {
    add_to(of_keys_, str_cat(access_key_id, ' ', address), kOfKey, now);
  }
}

}  // namespace tarn::auth
