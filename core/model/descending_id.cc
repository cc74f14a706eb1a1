#include "core/model/descending_id.h"

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr size_t kIdBytes = 12;
constexpr size_t kTimeBytes = 6;

}  // namespace

std::string make_descending_id(Instant now) {
  std::string time;
  put_u64be(time, ~static_cast<uint64_t>(to_millis(now)));
  return to_base32hex(time.substr(time.size() - kTimeBytes) + random_bytes(kIdBytes - kTimeBytes));
}

bool is_descending_id(std::string_view text) {
  const auto bytes = from_base32hex(text);
  return bytes && bytes->size() == kIdBytes;
}

}  // namespace tarn
