#include "server/api/json/list.h"

#include <gtest/gtest.h>

namespace tarn::api::json {
namespace {

TEST(ListBody, EndsWithAnEmptyOffset) {
  const auto write = [](Writer& out, int item) { out.number(item); };
  EXPECT_EQ(
      list_of(Page<int>{}, 8, write),
      R"({"pagination":{"has_more":false,"max_per_page":1000,"next_offset":"","results":0},"results":[]})"
      "\n");
  EXPECT_EQ(
      list_of(Page<int>{.items = {1, 2}, .has_more = true, .next = "2"}, 8, write),
      R"({"pagination":{"has_more":true,"max_per_page":1000,"next_offset":"2","results":2},"results":[1,2]})"
      "\n");
  EXPECT_NE(list_of(Page<int>{.items = {1}, .has_more = false, .next = "1"}, 8, write)
                .find("\"next_offset\":\"\""),
            std::string::npos);
}

}  // namespace
}  // namespace tarn::api::json
