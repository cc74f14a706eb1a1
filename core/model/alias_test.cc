#include "core/model/alias.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

using namespace std::string_literals;

TEST(AliasNames, AreWordsWithHyphensAndDotsInside) {
  for (const std::string& good :
       {"a"s, "_x"s, "champion"s, "v1.0"s, "a..b"s, "a-"s, "0"s, std::string(255, 'a')}) {
    EXPECT_TRUE(is_alias_name(good)) << good;
    EXPECT_EQ(parse_alias_name(good).str(), good);
  }
  for (const std::string& bad :
       {""s, "@"s, "@champion"s, "-a"s, ".a"s, "a/b"s, "a~1"s, "a^"s, "a@"s, "a$"s, "a b"s, "a:b"s,
        "a\n"s, "a\0b"s, "\xc3\xa9"s, std::string(256, 'a')}) {
    EXPECT_FALSE(is_alias_name(bad)) << bad;
    try {
      parse_alias_name(bad);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << bad;
    }
  }
}

}  // namespace
}  // namespace tarn
