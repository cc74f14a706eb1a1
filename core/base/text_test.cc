#include "core/base/text.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace tarn {
namespace {

/// All bytes of which `is` holds, in order.
template <typename Class>
std::string all_of(Class is) {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) {
    if (is(static_cast<char>(byte))) out.push_back(static_cast<char>(byte));
  }
  return out;
}

const std::string kDigits = "0123456789";
const std::string kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const std::string kLower = "abcdefghijklmnopqrstuvwxyz";

TEST(Text, ClassesHoldAsciiCharactersOnly) {
  EXPECT_EQ(all_of(is_digit), kDigits);
  EXPECT_EQ(all_of(is_letter), kUpper + kLower);
  EXPECT_EQ(all_of(is_word), kDigits + kUpper + "_" + kLower);
  std::string controls;
  for (char c = 0; c < 0x20; ++c) controls.push_back(c);
  EXPECT_EQ(all_of(is_control), controls + '\x7f');
  EXPECT_EQ(all_of([](char c) {
              return is_token({&c, 1});
            }),
            "!#$%&'*+-." + kDigits + kUpper + "^_`" + kLower + "|~");
}

TEST(Text, LowerHexHasNoUpperCase) {
  EXPECT_EQ(all_of([](char c) { return is_lower_hex({&c, 1}); }), kDigits + "abcdef");
  EXPECT_TRUE(is_lower_hex(""));
  EXPECT_FALSE(is_lower_hex("0g"));
}

TEST(Text, TokensAreNeverEmpty) {
  EXPECT_TRUE(is_token("X-Amz-Date"));
  EXPECT_FALSE(is_token(""));
  EXPECT_FALSE(is_token("two words"));
  EXPECT_FALSE(is_token(std::string_view("nul\0", 4)));
  EXPECT_FALSE(is_token("caf\xc3\xa9"));
}

TEST(Text, ControlCharactersAreFoundAnywhere) {
  EXPECT_FALSE(has_control(""));
  EXPECT_FALSE(has_control("plain caf\xc3\xa9"));
  EXPECT_TRUE(has_control("\tx"));
  EXPECT_TRUE(has_control("x\x7f"));
  EXPECT_TRUE(has_control(std::string_view("a\0b", 3)));
}

TEST(Text, TrimmingTakesSpacesAndTabsUnlessOthersAreNamed) {
  EXPECT_EQ(trimmed(" \t a b\t "), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(" \r\na\n"), "\r\na\n");
  EXPECT_EQ(trimmed("\t a \n", " "), "\t a \n");
  EXPECT_EQ(trimmed("\t a \r\n", " \t\r\n"), "a");
  EXPECT_EQ(trimmed("\xc2\xa0x\xc2\xa0"), "\xc2\xa0x\xc2\xa0");  // no-break spaces
}

TEST(Text, CaseIsThatOfAsciiLetters) {
  EXPECT_EQ(lower("X-AMZ-Date @[`{ \xc3\x89"), "x-amz-date @[`{ \xc3\x89");
  EXPECT_TRUE(equal_ignoring_case("Content-MD5", "content-md5"));
  EXPECT_TRUE(equal_ignoring_case("", ""));
  EXPECT_FALSE(equal_ignoring_case("a", "ab"));
  EXPECT_FALSE(equal_ignoring_case("ab", "a"));
  EXPECT_FALSE(equal_ignoring_case("@", "`"));
  EXPECT_FALSE(equal_ignoring_case("[", "{"));
  EXPECT_FALSE(equal_ignoring_case("\xc3\x89", "\xc3\xa9"));
  EXPECT_TRUE(starts_with_ignoring_case("X-Amz-Meta-a", "x-amz-"));
  EXPECT_TRUE(starts_with_ignoring_case("x", ""));
  EXPECT_FALSE(starts_with_ignoring_case("x-am", "x-amz-"));
  EXPECT_FALSE(starts_with_ignoring_case("ax-amz-", "x-amz-"));
}

TEST(Text, JoiningKeepsEmptyTexts) {
  EXPECT_EQ(joined(std::vector<std::string>{}, ","), "");
  EXPECT_EQ(joined(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(joined(std::array<std::string_view, 3>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(joined(std::vector<std::string>{"", "", "x", ""}, ","), ",,x,");
}

}  // namespace
}  // namespace tarn
