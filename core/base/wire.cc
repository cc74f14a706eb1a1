#include "core/base/wire.h"

#include "core/base/error.h"

namespace tarn {

void put_u64be(std::string& out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

uint8_t WireReader::u8() { return static_cast<uint8_t>(take(1)[0]); }

uint64_t WireReader::u64be() {
  uint64_t value = 0;
  for (char c : take(8)) value = (value << 8) | static_cast<uint8_t>(c);
  return value;
}

uint64_t WireReader::long_varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = u8();
    if (shift == 63 && byte > 1) fail("varint overflows 64 bits");
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail("varint is too long");
}

void WireReader::expect_end() const {
  if (!bytes_.empty()) fail("has bytes after its end");
}

void WireReader::fail(std::string_view why) const {
  throw Error(ErrorCode::kDataLoss, std::string(what_) + ": " + std::string(why));
}

}  // namespace tarn
