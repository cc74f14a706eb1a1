#include "core/http/request_id.h"

#include <atomic>
#include <chrono>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/time.h"
#include "core/base/wire.h"

namespace tarn::http {
namespace {

constexpr int kCounterBits = 40;  // 10^12 requests of one process

/// Seconds since 1970 (24 low bits repeat after half a year) and randomness, above the counter.
uint64_t process_bits() {
  const auto seconds = static_cast<uint64_t>(to_seconds(SystemClock().now()));
  return seconds << kCounterBits;
}

}  // namespace

std::string next_request_id() {
  static const uint64_t kProcess = process_bits();
  static const auto kRandom = static_cast<uint32_t>(random_u64());
  static std::atomic<uint64_t> counter{0};
  std::string bytes;
  put_u32le(bytes, kRandom);
  put_u64be(bytes, kProcess | counter.fetch_add(1, std::memory_order_relaxed));
  return to_base32hex(bytes);
}

}  // namespace tarn::http
