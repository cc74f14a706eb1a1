#include "core/base/lease.h"

#include <cstdlib>
#include <string_view>

#include "core/base/digest.h"
#include "core/base/quantity.h"

namespace tarn {
namespace {

constexpr std::chrono::seconds kLease{30};
constexpr Unit kSeconds[] = {{"", 1}};

std::chrono::seconds read_lease_seconds() {
  const char* const text = std::getenv("TARN_LEASE_SECONDS");
  const std::chrono::seconds shortened{
      text == nullptr ? 0 : parse_quantity(text, kSeconds).value_or(0)};
  return shortened.count() >= 1 && shortened < kLease ? shortened : kLease;
}

}  // namespace

std::chrono::milliseconds lease_time() {
  static const std::chrono::milliseconds value = read_lease_seconds();
  return value;
}

int64_t new_lease_owner() { return static_cast<int64_t>(random_u64() >> 1); }

}  // namespace tarn
