// Cyclic redundancy checks of object storage: CRC-32, CRC-32C and CRC-64/NVME, incremental and
// mergeable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tarn {

enum class CrcKind {
  kCrc32,      ///< IEEE 802.3, as zlib
  kCrc32c,     ///< Castagnoli, RFC 3720
  kCrc64Nvme,  ///< NVM Express, 64-bit guard
};

/// A running CRC. One thread at a time; cheap to copy.
class Crc {
 public:
  explicit Crc(CrcKind kind);

  void update(std::string_view bytes);
  /// The CRC of everything so far; more bytes may follow.
  uint64_t value() const;
  /// The same as 4 or 8 big-endian bytes, the form S3 puts into base64.
  std::string digest() const;

 private:
  CrcKind kind_;
  uint64_t state_;
};

/// 4 or 8.
size_t crc_bytes(CrcKind kind);

uint64_t crc_of(CrcKind kind, std::string_view bytes);

/// The CRC of A followed by B, from those of A and of B and the length of B. Time grows with log2
/// of the length.
uint64_t combine_crc(CrcKind kind, uint64_t crc_a, uint64_t crc_b, uint64_t length_b);

/// Between value and big-endian digest. `crc_value` takes crc_bytes(kind) bytes.
std::string crc_digest(CrcKind kind, uint64_t value);
uint64_t crc_value(CrcKind kind, std::string_view digest);

}  // namespace tarn
