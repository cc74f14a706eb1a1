#include "core/base/crc.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace tarn {
namespace {

constexpr CrcKind kKinds[] = {CrcKind::kCrc32, CrcKind::kCrc32c, CrcKind::kCrc64Nvme};

/// Bit by bit, straight from the definition.
uint64_t slow_crc(CrcKind kind, std::string_view bytes) {
  const uint64_t polynomial = kind == CrcKind::kCrc32    ? 0xedb88320
                              : kind == CrcKind::kCrc32c ? 0x82f63b78
                                                         : 0x9a6c9329ac4bc9b5;
  const uint64_t ones = kind == CrcKind::kCrc64Nvme ? ~uint64_t{0} : 0xffffffff;
  uint64_t state = ones;
  for (char c : bytes) {
    state ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? polynomial : 0);
  }
  return state ^ ones;
}

std::string pattern(size_t count) {
  std::string out(count, '\0');
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<char>(i * 167 + i / 256 + 13);
  return out;
}

TEST(Crc, HasTheCheckValuesOfTheCatalogue) {
  EXPECT_EQ(crc_of(CrcKind::kCrc32, "123456789"), 0xcbf43926u);
  EXPECT_EQ(crc_of(CrcKind::kCrc32c, "123456789"), 0xe3069283u);
  EXPECT_EQ(crc_of(CrcKind::kCrc64Nvme, "123456789"), 0xae8b14860a799888u);
  for (const CrcKind kind : kKinds) EXPECT_EQ(crc_of(kind, ""), 0u);
}

TEST(Crc, EveryLengthAndOffsetAgreesWithTheDefinition) {
  const std::string bytes = pattern(700);
  for (const CrcKind kind : kKinds) {
    for (size_t length = 0; length < 600; ++length) {
      const std::string_view piece = std::string_view(bytes).substr(length % 17, length);
      ASSERT_EQ(crc_of(kind, piece), slow_crc(kind, piece)) << length;
    }
  }
}

TEST(Crc, PiecesOfAnySizeGiveTheWhole) {
  const std::string bytes = pattern(20000);
  for (const CrcKind kind : kKinds) {
    const uint64_t whole = slow_crc(kind, bytes);
    for (const size_t step : {1u, 7u, 8u, 255u, 256u, 257u, 319u, 4096u, 20000u}) {
      Crc crc(kind);
      for (size_t at = 0; at < bytes.size(); at += step) {
        crc.update(std::string_view(bytes).substr(at, step));
      }
      ASSERT_EQ(crc.value(), whole) << step;
      ASSERT_EQ(crc.value(), whole) << "asking must not change it";
    }
  }
}

TEST(Crc, CombiningMatchesConcatenation) {
  const std::string bytes = pattern(10000);
  for (const CrcKind kind : kKinds) {
    for (const size_t cut : {0u, 1u, 8u, 4999u, 9999u, 10000u}) {
      const std::string_view a = std::string_view(bytes).substr(0, cut);
      const std::string_view b = std::string_view(bytes).substr(cut);
      ASSERT_EQ(combine_crc(kind, crc_of(kind, a), crc_of(kind, b), b.size()), crc_of(kind, bytes));
    }
  }
}

TEST(Crc, CombiningIsAssociativeForHugeParts) {
  constexpr uint64_t kPart = uint64_t{5} << 40;
  for (const CrcKind kind : kKinds) {
    const uint64_t a = 0x1234567, b = 0x89abcde, c = 0xf012345;
    EXPECT_EQ(combine_crc(kind, combine_crc(kind, a, b, kPart), c, kPart + 1),
              combine_crc(kind, a, combine_crc(kind, b, c, kPart + 1), 2 * kPart + 1));
  }
}

TEST(Crc, DigestsAreBigEndian) {
  Crc crc(CrcKind::kCrc64Nvme);
  crc.update("123456789");
  EXPECT_EQ(to_base64(crc.digest()), "rosUhgp5mIg=");
  EXPECT_EQ(to_base64(crc_digest(CrcKind::kCrc32c, 0xe3069283)), "4waSgw==");
  EXPECT_EQ(to_base64(crc_digest(CrcKind::kCrc32, 0xcbf43926)), "y/Q5Jg==");
  for (const CrcKind kind : kKinds) {
    const uint64_t value = crc_of(kind, "x");
    EXPECT_EQ(crc_digest(kind, value).size(), crc_bytes(kind));
    EXPECT_EQ(crc_value(kind, crc_digest(kind, value)), value);
  }
}

}  // namespace
}  // namespace tarn
