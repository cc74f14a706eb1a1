#include "server/api/search_query.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::api {
namespace {

search::Query query_of(std::string_view text) { return search_query_of(http::Query::parse(text)); }

TEST(SearchQuery, HasNoConditionThatIsNotGiven) {
  EXPECT_TRUE(query_of("").empty());
  EXPECT_TRUE(query_of("amount=10&after=a&min_size=&glob=&modified_after=").empty());
}

TEST(SearchQuery, TakesEveryCondition) {
  const search::Query query = query_of(
      "prefix=data/&glob=**/*.csv&min_size=1&max_size=9&modified_after=1700000000&"
      "modified_before=2023-11-15&content_type=text/*&metadata=label&metadata=k%3Dv%3Dw");
  EXPECT_EQ(query.prefix, "data/");
  EXPECT_EQ(query.glob->pattern(), "**/*.csv");
  EXPECT_EQ(query.size_min_bytes, 1u);
  EXPECT_EQ(query.size_max_bytes, 9u);
  EXPECT_EQ(query.modified_from, from_millis(1'700'000'000'000));
  EXPECT_EQ(query.modified_before, from_millis(1'700'006'400'000));
  EXPECT_EQ(query.content_type, "text/*");
  ASSERT_EQ(query.metadata.size(), 2u);
  EXPECT_EQ(query.metadata[0].key, "label");
  EXPECT_EQ(query.metadata[0].value, std::nullopt);
  EXPECT_EQ(query.metadata[1].key, "k");
  EXPECT_EQ(query.metadata[1].value, "v=w");
}

TEST(SearchQuery, TakesAnExpressionToo) {
  const search::Query query = query_of("min_size=1&where=loss+%3C+0.02+and+path+~+data/*");
  ASSERT_TRUE(query.where);
  EXPECT_EQ(query.key_prefix(), "data/");
  EXPECT_EQ(query.size_min_bytes, 1u);
  EXPECT_FALSE(query_of("where=has+path").empty());
  EXPECT_TRUE(query_of("where=").empty());
  EXPECT_THROW(query_of("where=loss"), Error);
}

TEST(SearchQuery, RefusesMetadataWithoutAKeyAndTooMuchOfIt) {
  EXPECT_THROW(query_of("metadata="), Error);
  EXPECT_THROW(query_of("metadata=%3Dv"), Error);
  std::string many;
  for (size_t i = 0; i < search::kMetadataConditionsMax; ++i) many += "&metadata=k";
  EXPECT_EQ(query_of(many).metadata.size(), search::kMetadataConditionsMax);
  EXPECT_THROW(query_of(many + "&metadata=k"), Error);
}

}  // namespace
}  // namespace tarn::api
