#include "core/meta/row_id.h"

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/wire.h"

namespace tarn::meta {

std::string new_row_id(Instant now) {
  std::string time;
  put_u64be(time, static_cast<uint64_t>(to_millis(now)));
  return to_base32hex(time.substr(2) + random_bytes(6));
}

}  // namespace tarn::meta
