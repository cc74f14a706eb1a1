#include "s3gateway/wire/user_metadata.h"

#include <gtest/gtest.h>

#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

using Fields = std::vector<http::Headers::Field>;

Fields shown(const Metadata& metadata) {
  http::Headers headers;
  add_user_metadata(headers, metadata);
  return headers.all();
}

TEST(UserMetadata, IsReadFromItsHeaders) {
  http::Headers headers;
  headers.add("x-amz-meta-color", "red");
  headers.add("X-Amz-Meta-Size", " big ");
  headers.add("x-amz-meta-", "no name");
  headers.add("x-amz-metadata-directive", "COPY");
  headers.add("x-amz-meta-COLOR", "blue");
  EXPECT_EQ(parse_user_metadata(headers), (Metadata{{"color", "red,blue"}, {"size", " big "}}));
}

TEST(UserMetadata, HasALimit) {
  http::Headers headers;
  headers.add("x-amz-meta-a", std::string(kUserMetadataBytesMax - 1, 'x'));
  EXPECT_EQ(parse_user_metadata(headers).size(), 1u);
  headers.add("x-amz-meta-b", "");
  EXPECT_THROW(parse_user_metadata(headers), Refusal);
}

TEST(UserMetadata, RefusesBytesThatAreNoText) {
  http::Headers headers;
  headers.add("x-amz-meta-a", "\xff");
  EXPECT_THROW(parse_user_metadata(headers), Refusal);
}

TEST(UserMetadata, IsShownInLowerCaseOnce) {
  EXPECT_EQ(shown({{"Alpha", "1"}, {"alpha", "2"}, {"b c", "3"}, {"::lakefs::x", "4"}}),
            (Fields{{"x-amz-meta-alpha", "1"}, {"x-amz-missing-meta", "2"}}));
  EXPECT_EQ(shown({}), Fields{});
}

TEST(UserMetadata, IsShownUnderTheNamesOfLakeFsWithoutTheirPrefix) {
  EXPECT_EQ(shown({{"X-Amz-Meta-Color", "red"}, {"size", "1"}}),
            (Fields{{"x-amz-meta-color", "red"}, {"x-amz-meta-size", "1"}}));
  EXPECT_EQ(shown({{"x-amz-meta-a", "a client's own"}}),
            (Fields{{"x-amz-meta-x-amz-meta-a", "a client's own"}}));
  EXPECT_EQ(shown({{"X-Amz-Meta-a", "1"}, {"a", "2"}, {"X-Amz-Meta-", "3"}}),
            (Fields{{"x-amz-meta-a", "1"}, {"x-amz-missing-meta", "2"}}));
}

TEST(UserMetadata, CarriesAnyTextThroughHeaders) {
  for (std::string_view text :
       {"plain", "caf\xC3\xA9", "=?UTF-8?B?eA==?=", "tab\there", "", "100% =ab"}) {
    EXPECT_EQ(decode_words(encode_words(text)), text);
  }
  for (std::string_view text :
       {"plain", "a =? b", "=?", "tab\there", "=?UTF-8?", "=?UTF-8?B?!!?=", "=?latin1?q?a?="}) {
    EXPECT_EQ(encode_words(text), text);
    EXPECT_EQ(decode_words(text), text);
  }
  for (std::string_view text : {"=?UTF-8?B?eA==?=", "a =?utf-8?q?b?= c", "line\nbreak", "\x7f"}) {
    EXPECT_NE(encode_words(text), text);
    EXPECT_EQ(decode_words(encode_words(text)), text);
  }
  EXPECT_EQ(encode_words("\xC3\xA9"), "=?UTF-8?B?w6k=?=");
}

TEST(UserMetadata, ReadsEncodedWordsOfOthers) {
  EXPECT_EQ(decode_words("=?utf-8?q?caf=C3=A9_au?= =?UTF-8?B?w6k=?= x"),
            "caf\xC3\xA9 au\xC3\xA9 x");
  EXPECT_EQ(decode_words("=?iso-8859-1?q?a?="), "=?iso-8859-1?q?a?=");
  EXPECT_EQ(decode_words("a =? b"), "a =? b");
  EXPECT_EQ(decode_words("=?UTF-8?B?!!?="), "=?UTF-8?B?!!?=");
  EXPECT_EQ(decode_words("=?UTF-8?"), "=?UTF-8?");
}

}  // namespace
}  // namespace tarn::s3
