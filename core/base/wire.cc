#include "core/base/wire.h"

#include "core/base/error.h"

namespace tarn {
namespace {

template <typename T>
void put_le(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

template <typename T>
T get_le(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(
        value | static_cast<T>(static_cast<T>(static_cast<uint8_t>(bytes[i])) << (8 * i)));
  }
  return value;
}

}  // namespace

void put_u16le(std::string& out, uint16_t value) { put_le(out, value); }
void put_u32le(std::string& out, uint32_t value) { put_le(out, value); }
void put_u64le(std::string& out, uint64_t value) { put_le(out, value); }
void put_u64be(std::string& out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

uint8_t WireReader::u8() { return static_cast<uint8_t>(take(1)[0]); }
uint16_t WireReader::u16le() { return get_le<uint16_t>(take(2)); }
uint32_t WireReader::u32le() { return get_le<uint32_t>(take(4)); }
uint64_t WireReader::u64le() { return get_le<uint64_t>(take(8)); }

uint64_t WireReader::u64be() {
  uint64_t value = 0;
  for (char c : take(8)) value = (value << 8) | static_cast<uint8_t>(c);
  return value;
}

uint64_t WireReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = u8();
    if (shift == 63 && byte > 1) fail("varint overflows 64 bits");
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail("varint is too long");
}

std::string_view WireReader::take(uint64_t count) {
  if (count > bytes_.size()) fail("ends early");
  const std::string_view out = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return out;
}

void WireReader::expect_end() const {
  if (!bytes_.empty()) fail("has bytes after its end");
}

void WireReader::fail(std::string_view why) const {
  throw Error(ErrorCode::kDataLoss, std::string(what_) + ": " + std::string(why));
}

}  // namespace tarn
