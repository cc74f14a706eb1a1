// A limit on failed logins.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "core/base/mutex.h"

namespace tarn::auth {

/// So many failures may come at once, and one more each time `one_per` has passed.
struct FailureAllowance {
  double burst;
  std::chrono::milliseconds one_per;
};

/// Counts by address, and by access key and address together: failures of others elsewhere do not
/// keep a key's owner from signing in. `now` is the uptime. Safe from any thread.
class FailedLogins {
 public:
  static constexpr FailureAllowance kOfKey{10, std::chrono::seconds{6}};
  static constexpr FailureAllowance kOfAddress{100, std::chrono::milliseconds{600}};
  static constexpr size_t kCountedMax = 10'000;  ///< of each kind; beyond, all are forgotten

  /// Whether a failure more is within the allowances.
  bool allows_another(std::string_view access_key_id, std::string_view address,
                      std::chrono::milliseconds now) const;
  /// `access_key_id` is "" for a key that does not exist: only the address counts then.
  void add(std::string_view access_key_id, std::string_view address, std::chrono::milliseconds now);

 private:
  /// Failures that still count at that uptime; fewer as time passes.
  struct Count {
    double failures = 0;
    std::chrono::milliseconds at{};
  };
  using Counts = std::map<std::string, Count, std::less<>>;
  static double failures_at(const Counts& counts, std::string_view name,
                            const FailureAllowance& allowance, std::chrono::milliseconds now);
  static void add_to(Counts& counts, std::string name, const FailureAllowance& allowance,
                     std::chrono::milliseconds now);

  mutable Mutex mutex_;
  Counts of_keys_ TARN_GUARDED_BY(mutex_);  // by "key address"
  Counts of_addresses_ TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn::auth
