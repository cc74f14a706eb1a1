#include <gtest/gtest.h>

#include "server/api/json/writer.h"

namespace tarn::api::json {
namespace {

TEST(ListBody, EndsWithAnEmptyOffset) {
  const auto write = [](Writer& out, int item) { out.number(item); };
  EXPECT_EQ(
      list_of(Page<int>{}, 8, write),
      R"({"pagination":{"has_more":false,"max_per_page":1000,"next_offset":"","results":0},"results":[]})"
      "\n");
  const auto next_of = [](int item) { return std::to_string(item); };
  EXPECT_EQ(
      list_of(Page<int>{.items = {1, 2}, .has_more = true, .next = "2", .next_of = next_of}, 8,
              write),
      R"({"pagination":{"has_more":true,"max_per_page":1000,"next_offset":"2","results":2},"results":[1,2]})"
      "\n");
  EXPECT_NE(list_of(Page<int>{.items = {1}, .has_more = false, .next = "1"}, 8, write)
                .find("\"next_offset\":\"\""),
            std::string::npos);
}

TEST(ListBody, EndsByBytesAfterAnItem) {
  const auto write = [](Writer& out, int) { out.text(std::string(kPageBytesMax / 3, 'x')); };
  const Page<int> page{
      .items = {1, 2, 3, 4, 5}, .has_more = false, .next = "", .next_of = [](int item) {
        return std::to_string(item);
      }};
  const std::string cut = list_of(page, 8, write);
  EXPECT_NE(
      cut.find(
          R"({"has_more":true,"max_per_page":1000,"next_offset":"3","results":3},"results":[)"),
      std::string::npos);
  EXPECT_LT(cut.size(), kPageBytesMax + kPageBytesMax / 3);
}

TEST(ListBody, RefusesAPageThatNothingEndsByBytes) {
  const auto write = [](Writer& out, int item) { out.number(item); };
  EXPECT_THROW(list_of(Page<int>{.items = {1}, .has_more = true, .next = "1"}, 8, write), Error);
}

}  // namespace
}  // namespace tarn::api::json
