#include "core/base/encoding.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

using std::nullopt;
using namespace std::string_literals;

std::string all_bytes() {
  std::string out(256, '\0');
  for (size_t i = 0; i < 256; ++i) out[i] = static_cast<char>(i);
  return out;
}

TEST(Hex, IsLowerCaseAndReadsBoth) {
  EXPECT_EQ(to_hex("\x00\x9f\xff"s), "009fff");
  EXPECT_EQ(from_hex("009fFF"), "\x00\x9f\xff"s);
  EXPECT_EQ(from_hex(""), "");
  EXPECT_EQ(from_hex(to_hex(all_bytes())), all_bytes());
  for (const char* bad : {"0", "0g", "g0", " 00", "0x00", "00:"})
    EXPECT_EQ(from_hex(bad), nullopt) << bad;
}

struct Pair {
  std::string bytes;
  std::string text;
};

TEST(Base64, MatchesItsRfc) {
  for (const Pair& p : {Pair{"", ""},
                        {"f", "Zg=="},
                        {"fo", "Zm8="},
                        {"foo", "Zm9v"},
                        {"foob", "Zm9vYg=="},
                        {"fooba", "Zm9vYmE="},
                        {"foobar", "Zm9vYmFy"},
                        {"\xfb\xff", "+/8="}}) {
    EXPECT_EQ(to_base64(p.bytes), p.text);
    EXPECT_EQ(from_base64(p.text), p.bytes);
  }
}

TEST(Base64, IsStrict) {
  for (const char* bad : {"Zg", "Zg=", "Zg===", "=", "====", "Z===", "Zh==", "Zm9=", "Zm 9v",
                          "Zm9v\n", "Z=g=", "-_8=", "Zg==Zg=="}) {
    EXPECT_EQ(from_base64(bad), nullopt) << bad;
  }
}

TEST(Base64, RoundTripsEveryLength) {
  const std::string bytes = all_bytes();
  for (size_t n = 0; n <= bytes.size(); ++n) {
    EXPECT_EQ(from_base64(to_base64(bytes.substr(0, n))), bytes.substr(0, n));
    EXPECT_EQ(from_base64url(to_base64url(bytes.substr(0, n))), bytes.substr(0, n));
    EXPECT_EQ(from_base32hex(to_base32hex(bytes.substr(0, n))), bytes.substr(0, n));
  }
}

TEST(Base64Url, HasNoPaddingAndItsOwnAlphabet) {
  EXPECT_EQ(to_base64url("\xfb\xff"), "-_8");
  EXPECT_EQ(from_base64url("-_8"), "\xfb\xff");
  for (const char* bad : {"-_8=", "+/8", "A", "-_9"})
    EXPECT_EQ(from_base64url(bad), nullopt) << bad;
}

TEST(Base32Hex, MatchesItsRfcInLowerCaseWithoutPadding) {
  for (const Pair& p : {Pair{"", ""},
                        {"f", "co"},
                        {"fo", "cpng"},
                        {"foo", "cpnmu"},
                        {"foob", "cpnmuog"},
                        {"fooba", "cpnmuoj1"},
                        {"foobar", "cpnmuoj1e8"}}) {
    EXPECT_EQ(to_base32hex(p.bytes), p.text);
    EXPECT_EQ(from_base32hex(p.text), p.bytes);
  }
  for (const char* bad : {"CO", "c", "cp", "cpn", "w0", "co======"})
    EXPECT_EQ(from_base32hex(bad), nullopt) << bad;
}

TEST(Base32Hex, SortsAsTheBytesDo) {
  std::string before = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"s;
  for (int i = 1; i < 2000; ++i) {
    std::string next = before;
    for (size_t at = next.size(); at-- > 0;) {
      next[at] = static_cast<char>(static_cast<uint8_t>(next[at]) + 37);
      if (static_cast<uint8_t>(next[at]) >= 37) break;  // no carry
    }
    ASSERT_LT(to_base32hex(before), to_base32hex(next));
    before = next;
  }
}

TEST(Percent, KeepsOnlyUnreservedCharacters) {
  EXPECT_EQ(percent_encode("AZaz09-._~"), "AZaz09-._~");
  EXPECT_EQ(percent_encode(" /+\xc3\xa9'"), "%20%2F%2B%C3%A9%27");
  EXPECT_EQ(percent_encode("a/b c", true), "a/b%20c");
  EXPECT_EQ(percent_decode(percent_encode(all_bytes())), all_bytes());
}

TEST(Percent, DecodingIsStrictAboutEscapes) {
  EXPECT_EQ(percent_decode("%41%2f%2F+"), "A//+");
  EXPECT_EQ(form_decode("%41+b%2B"), "A b+");
  EXPECT_EQ(percent_decode("%00"), "\0"s);
  for (const char* bad : {"%", "%4", "%4g", "%g4", "a%", "%%41"}) {
    EXPECT_EQ(percent_decode(bad), nullopt) << bad;
    EXPECT_EQ(form_decode(bad), nullopt) << bad;
  }
}

TEST(Utf8, AcceptsWellFormedTextOfEveryLength) {
  for (const std::string& good : {""s, "a"s, "\0"s, "\xc2\x80"s, "\xdf\xbf"s, "\xe0\xa0\x80"s,
                                  "\xed\x9f\xbf"s, "\xee\x80\x80"s, "\xef\xbf\xbf"s,
                                  "\xf0\x90\x80\x80"s, "\xf4\x8f\xbf\xbf"s, "a\xc3\xa9z"s}) {
    EXPECT_TRUE(is_utf8(good)) << to_hex(good);
  }
}

TEST(Utf8, RefusesOverlongSurrogateTruncatedAndStrayBytes) {
  for (const std::string& bad :
       {"\x80"s, "\xbf"s, "\xc0\x80"s, "\xc1\xbf"s, "\xc2"s, "\xc2 "s, "\xe0\x9f\xbf"s, "\xe0\xa0"s,
        "\xed\xa0\x80"s, "\xed\xbf\xbf"s, "\xf0\x8f\xbf\xbf"s, "\xf0\x90\x80"s, "\xf4\x90\x80\x80"s,
        "\xf5\x80\x80\x80"s, "\xff"s, "a\xc3"s, "\xe2\x82\xac\x82"s}) {
    EXPECT_FALSE(is_utf8(bad)) << to_hex(bad);
  }
}

TEST(Utf8, AppendsCodePointsOfEveryLength) {
  std::string out = "x";
  for (const uint32_t code : {0x0u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xffffu, 0x10000u, 0x10ffffu}) {
    append_utf8(out, code);
  }
  EXPECT_EQ(out, std::string("x\0\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"
                             "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
                             21));
  EXPECT_TRUE(is_utf8(out));
}

}  // namespace
}  // namespace tarn
