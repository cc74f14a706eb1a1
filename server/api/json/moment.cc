#include "server/api/json/moment.h"

namespace tarn::api::json {
namespace {

constexpr int64_t kSecondsMin = -62'135'596'800;  // 0001-01-01
constexpr int64_t kSecondsMax = 253'402'300'799;  // 9999-12-31

}  // namespace

Instant instant_of(const Value& seconds) {
  return from_millis(seconds.integer(kSecondsMin, kSecondsMax) * 1000);
}

}  // namespace tarn::api::json
