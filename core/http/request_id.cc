#include "core/http/request_id.h"

#include <atomic>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/time.h"
#include "core/base/wire.h"

namespace tarn::http {
namespace {

constexpr size_t kIdBytes = 12;  // seconds (4), random (4), counter (4)

uint64_t process_bits() {
  const auto seconds = static_cast<uint64_t>(to_seconds(SystemClock().now()));
  return seconds << 32 | static_cast<uint32_t>(random_u64());
}

}  // namespace

std::string next_request_id() {
  static const uint64_t kProcess = process_bits();
  static std::atomic<uint64_t> counter{0};
  std::string bytes;
  bytes.reserve(2 * sizeof(uint64_t));
  put_u64be(bytes, kProcess);
  put_u64be(bytes, counter.fetch_add(1, std::memory_order_relaxed) << 32);
  bytes.resize(kIdBytes);
  return to_base32hex(bytes);
}

}  // namespace tarn::http
