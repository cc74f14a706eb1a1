// Writers and readers of byte formats: varints, big-endian integers, bounds-checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tarn {

/// LEB128: seven bits a byte, least significant first, at most ten bytes.
inline void put_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

/// Maps small magnitudes of either sign to small varints.
inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

void put_u64be(std::string& out, uint64_t value);

/// varint length, then the bytes.
inline void put_bytes(std::string& out, std::string_view bytes) {
  put_varint(out, bytes.size());
  out.append(bytes);
}

/// Reads from the front of a buffer it does not own. Every read past the end or malformed varint
/// throws data_loss naming `what`, so corrupted stored bytes never become a crash. One thread at a
/// time.
class WireReader {
 public:
  WireReader(std::string_view bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  uint8_t u8();
  uint64_t u64be();
  uint64_t varint() {
    // Most lengths and tags take one byte.
    if (bytes_.empty() || static_cast<uint8_t>(bytes_.front()) >= 0x80) return long_varint();
    const auto value = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  /// A view into the buffer.
  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) fail("ends early");
    const std::string_view out = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return out;
  }
  /// varint length, then that many bytes.
  std::string_view bytes() { return take(varint()); }
  bool done() const { return bytes_.empty(); }
  size_t left() const { return bytes_.size(); }
  /// Throws data_loss when anything is left.
  void expect_end() const;
  [[noreturn]] void fail(std::string_view why) const;

 private:
  uint64_t long_varint();

  std::string_view bytes_;
  std::string_view what_;
};

}  // namespace tarn
