#include "core/objects/search_token.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/error.h"

namespace tarn::objects {
namespace {

constexpr uint64_t kQuestion = 7;

SearchToken token_at(const std::string& text) {
  SearchToken out{.question = kQuestion, .position = {"lake", "main", text}};
  out.above = SortedPlace{.place = {"lake", text, "a"}};
  out.candidates = {SortedPlace{.place = {text, "main", "b"}}};
  return out;
}

bool is_refused(const std::string& token) {
  try {
    SearchToken::decode(token, kQuestion);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.message();
    return true;
  }
}

TEST(SearchToken, ReadsItsOwn) {
  EXPECT_EQ(SearchToken::decode(token_at("a/\xC3\xA9").encode(), kQuestion).position.path,
            "a/\xC3\xA9");
}

// The database takes no such text.
TEST(SearchToken, RefusesNamesThatAreNoText) {
  for (const std::string& text : {std::string("\xff"), std::string("a\0b", 3)}) {
    SearchToken at;
    at.question = kQuestion;
    at.position.path = text;
    EXPECT_TRUE(is_refused(at.encode()));
    at = {.question = kQuestion};
    at.above = SortedPlace{.place = {"lake", text, "a"}};
    EXPECT_TRUE(is_refused(at.encode()));
    at = {.question = kQuestion};
    at.candidates = {SortedPlace{.place = {text, "main", "b"}}};
    EXPECT_TRUE(is_refused(at.encode()));
  }
}

TEST(SearchToken, AnyChangeIsReadOrRefused) {
  const std::string bytes = *from_base64url(token_at("path").encode());
  size_t refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      refused += is_refused(to_base64url(changed));
    }
    refused += is_refused(to_base64url(bytes.substr(0, i)));  // all but one: it may end here
  }
  EXPECT_GT(refused, 2 * bytes.size());
}

}  // namespace
}  // namespace tarn::objects
