#include "core/base/wire.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/error.h"

namespace tarn {
namespace {

using namespace std::string_literals;

std::string varint(uint64_t value) {
  std::string out;
  put_varint(out, value);
  return out;
}

template <typename Read>
std::string failure_of(std::string_view bytes, Read&& read) {
  try {
    WireReader in(bytes, "thing");
    read(in);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    return error.message();
  }
}

TEST(Wire, VarintsHaveTheBytesOfLeb128) {
  EXPECT_EQ(to_hex(varint(0)), "00");
  EXPECT_EQ(to_hex(varint(127)), "7f");
  EXPECT_EQ(to_hex(varint(128)), "8001");
  EXPECT_EQ(to_hex(varint(300)), "ac02");
  EXPECT_EQ(to_hex(varint(UINT64_MAX)), "ffffffffffffffffff01");
}

TEST(Wire, VarintsReadBack) {
  for (int shift = 0; shift < 64; ++shift) {
    for (const uint64_t value :
         {uint64_t{1} << shift, (uint64_t{1} << shift) - 1, UINT64_MAX >> shift}) {
      const std::string bytes = varint(value);
      WireReader in(bytes, "thing");
      EXPECT_EQ(in.varint(), value);
      EXPECT_TRUE(in.done());
    }
  }
}

TEST(Wire, VarintsThatDoNotFitAreRefused) {
  const auto read = [](WireReader& in) { in.varint(); };
  EXPECT_EQ(failure_of("\x80", read), "thing: ends early");
  EXPECT_EQ(failure_of(std::string(9, '\xff') + "\x02", read), "thing: varint overflows 64 bits");
  EXPECT_NE(failure_of(std::string(11, '\x80'), read), "");
}

TEST(Wire, ZigzagKeepsSmallMagnitudesSmall) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(-1), 1u);
  EXPECT_EQ(zigzag(1), 2u);
  EXPECT_EQ(zigzag(INT64_MIN), UINT64_MAX);
  for (const int64_t value :
       {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MIN, INT64_MAX, int64_t{-123456789}}) {
    EXPECT_EQ(unzigzag(zigzag(value)), value);
  }
}

TEST(Wire, FixedIntegersAreBigEndian) {
  std::string out;
  put_u64be(out, 0x1112131415161718);
  EXPECT_EQ(to_hex(out), "1112131415161718");
  WireReader in(out, "thing");
  EXPECT_EQ(in.u64be(), 0x1112131415161718u);
  in.expect_end();
}

TEST(Wire, HighBytesAreNotSignExtended) {
  const std::string ones(8, '\xff');
  EXPECT_EQ(WireReader(ones, "t").u8(), 0xff);
  EXPECT_EQ(WireReader(ones, "t").u64be(), UINT64_MAX);
}

TEST(Wire, BytesAreLengthPrefixedViews) {
  std::string out;
  put_bytes(out, "hello");
  put_bytes(out, "");
  put_bytes(out, "\0x"s);
  EXPECT_EQ(out, "\5hello\0\2\0x"s);
  WireReader in(out, "thing");
  EXPECT_EQ(in.bytes(), "hello");
  EXPECT_EQ(in.bytes(), "");
  EXPECT_EQ(in.left(), 3u);
  EXPECT_EQ(in.bytes(), "\0x"s);
  EXPECT_TRUE(in.done());
}

TEST(Wire, ReadingPastTheEndNamesTheThing) {
  EXPECT_EQ(failure_of("", [](WireReader& in) { in.u8(); }), "thing: ends early");
  EXPECT_EQ(failure_of("abc", [](WireReader& in) { in.u64be(); }), "thing: ends early");
  EXPECT_EQ(failure_of("\x05"
                       "abcd",
                       [](WireReader& in) { in.bytes(); }),
            "thing: ends early");
  EXPECT_EQ(failure_of(varint(UINT64_MAX) + "a", [](WireReader& in) { in.bytes(); }),
            "thing: ends early");
  EXPECT_EQ(failure_of("a", [](WireReader& in) { in.expect_end(); }),
            "thing: has bytes after its end");
}

}  // namespace
}  // namespace tarn
