#include "s3gateway/wire/list_query.h"

#include <gtest/gtest.h>

#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

uint32_t limit_of(std::optional<std::string> max_keys) {
  return check_list_parameters({"", std::nullopt, std::nullopt, std::move(max_keys)}, "max-keys",
                               "")
      .limit;
}

TEST(ListQuery, CapsTheNumberOfKeys) {
  EXPECT_EQ(limit_of(std::nullopt), 1000u);
  EXPECT_EQ(limit_of(""), 1000u);
  EXPECT_EQ(limit_of("0"), 0u);
  EXPECT_EQ(limit_of("1"), 1u);
  EXPECT_EQ(limit_of("5000"), 1000u);
  EXPECT_EQ(limit_of("2147483647"), 1000u);
}

TEST(ListQuery, RefusesInvalidNumbers) {
  for (const char* text : {"blah", "-1", "2147483648", "1.5", " 1", "99999999999999999999"}) {
    EXPECT_THROW(limit_of(text), Refusal) << text;
  }
}

TEST(ListQuery, TakesUrlAsTheOnlyEncoding) {
  EXPECT_FALSE(check_list_parameters({}, "max-keys", "").url_encoding);
  EXPECT_TRUE(check_list_parameters({"", {}, "url", {}}, "max-keys", "").url_encoding);
  EXPECT_THROW(check_list_parameters({"", {}, "base64", {}}, "max-keys", ""), Refusal);
}

TEST(ListQuery, TakesAnEmptyDelimiterForNone) {
  EXPECT_EQ(check_list_parameters({"p", "", {}, {}}, "max-keys", "").delimiter, "");
  EXPECT_EQ(check_list_parameters({"p", "ab", {}, {}}, "max-keys", "").delimiter, "ab");
}

TEST(ListQuery, RefusesTextThatNoKeyCanHold) {
  EXPECT_THROW(check_list_parameters({"\xff", {}, {}, {}}, "max-keys", ""), Refusal);
  EXPECT_THROW(check_list_parameters({"", {}, {}, {}}, "max-keys", std::string("a\0b", 3)),
               Refusal);
}

TEST(ListQuery, ContinuationTokensRoundTripAndAreOpaque) {
  for (const std::string& key :
       {std::string("main/a"), std::string("main/\n\xC3\xA9"), std::string()}) {
    EXPECT_EQ(decode_continuation(encode_continuation(key)), key);
  }
  EXPECT_EQ(encode_continuation("main/a").find("main"), std::string::npos) << "must look opaque";
}

TEST(ListQuery, RefusesForeignTokens) {
  for (std::string_view token : {"", "main/a", "dGFybg", "!!!", "dGFybjI6YQ"}) {
    EXPECT_THROW(decode_continuation(token), Refusal) << token;
  }
  for (const std::string& last : {std::string("\xff"), std::string("a\0b", 3)}) {
    EXPECT_THROW(decode_continuation(encode_continuation(last)), Refusal) << "no text";
  }
}

}  // namespace
}  // namespace tarn::s3
