#include "server/api/conditional.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::api {
namespace {

TEST(WriteCondition, IsNoneWithoutHeaders) { EXPECT_TRUE(write_condition({}).none()); }

TEST(WriteCondition, TakesIfNoneMatchOfAnything) {
  http::Headers headers;
  headers.add("if-none-match", "*");
  EXPECT_TRUE(write_condition(headers).if_absent);
}

TEST(WriteCondition, TakesIfMatchOfOneEtag) {
  http::Headers headers;
  headers.add("If-Match", "\"abc-2\"");
  const branch::Condition condition = write_condition(headers);
  ASSERT_EQ(condition.if_match.size(), 1u);
  EXPECT_EQ(condition.if_match[0], "abc-2");
  EXPECT_FALSE(condition.if_absent);
}

TEST(WriteCondition, RefusesEverythingElseAsNotImplemented) {
  const std::pair<const char*, const char*> cases[] = {
      {"If-None-Match", "\"abc\""}, {"If-Match", "*"},    {"If-Match", ""},
      {"If-Match", "\"\""},         {"If-Match", "abc"},  {"If-Match", "W/\"abc\""},
      {"If-Match", "\"a\", \"b\""}, {"If-None-Match", ""}};
  for (const auto& [name, value] : cases) {
    http::Headers headers;
    headers.add(name, value);
    try {
      write_condition(headers);
      ADD_FAILURE() << name << ": " << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnimplemented);
      EXPECT_EQ(error.message(), "Not Implemented");
    }
  }
}

}  // namespace
}  // namespace tarn::api
