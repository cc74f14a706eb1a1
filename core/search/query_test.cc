#include "core/search/query.h"

#include <gtest/gtest.h>

namespace tarn::search {
namespace {

Entry entry_of(uint64_t size, int64_t mtime_ms, std::string type, const Metadata& metadata) {
  Entry entry;
  entry.size_bytes = size;
  entry.mtime = from_millis(mtime_ms);
  entry.content_type = std::move(type);
  entry.set_user_metadata(metadata);
  return entry;
}

Query of_type(std::string type) {
  Query query;
  query.content_type = std::move(type);
  return query;
}

Query of_pair(std::string key, std::optional<std::string> value) {
  Query query;
  query.metadata.push_back({std::move(key), std::move(value)});
  return query;
}

TEST(Query, IsEmptyOnlyWithoutAnyCondition) {
  EXPECT_TRUE(Query().empty());
  EXPECT_TRUE(Requirement(Query()).empty());
  Query prefix;
  prefix.prefix = "a";
  EXPECT_FALSE(prefix.empty());
  EXPECT_TRUE(Requirement(prefix).empty());
  EXPECT_FALSE(of_type("text/csv").empty());
  EXPECT_FALSE(Requirement(of_type("text/csv")).empty());
}

TEST(Query, ComparesSizesInclusively) {
  Query query;
  query.size_min_bytes = 10;
  query.size_max_bytes = 20;
  EXPECT_FALSE(query.matches_entry(entry_of(9, 0, "", {})));
  EXPECT_TRUE(query.matches_entry(entry_of(10, 0, "", {})));
  EXPECT_TRUE(query.matches_entry(entry_of(20, 0, "", {})));
  EXPECT_FALSE(query.matches_entry(entry_of(21, 0, "", {})));
}

TEST(Query, TakesTheBeginningOfATimeSpanAndNotItsEnd) {
  Query query;
  query.modified_from = from_millis(1000);
  query.modified_before = from_millis(2000);
  EXPECT_FALSE(query.matches_entry(entry_of(0, 999, "", {})));
  EXPECT_TRUE(query.matches_entry(entry_of(0, 1000, "", {})));
  EXPECT_TRUE(query.matches_entry(entry_of(0, 1999, "", {})));
  EXPECT_FALSE(query.matches_entry(entry_of(0, 2000, "", {})));
}

TEST(Query, KnowsTypesAndTheirClasses) {
  EXPECT_TRUE(of_type("image/png").matches_entry(entry_of(0, 0, "image/png", {})));
  EXPECT_FALSE(of_type("image/png").matches_entry(entry_of(0, 0, "image/pngx", {})));
  EXPECT_TRUE(of_type("image/*").matches_entry(entry_of(0, 0, "image/png", {})));
  EXPECT_FALSE(of_type("image/*").matches_entry(entry_of(0, 0, "imagex/png", {})));
  EXPECT_FALSE(of_type("image/*").matches_entry(entry_of(0, 0, "text/plain", {})));
  EXPECT_TRUE(of_type("application/octet-stream").matches_entry(entry_of(0, 0, "", {})));
  EXPECT_TRUE(of_type("application/*").matches_entry(entry_of(0, 0, "", {})));
}

TEST(Query, RequiresAKeyOrAPairOfUserMetadata) {
  const Entry entry = entry_of(0, 0, "", {{"label", "cat"}, {"empty", ""}});
  EXPECT_TRUE(of_pair("label", std::nullopt).matches_entry(entry));
  EXPECT_TRUE(of_pair("label", "cat").matches_entry(entry));
  EXPECT_FALSE(of_pair("label", "ca").matches_entry(entry));
  EXPECT_FALSE(of_pair("Label", "cat").matches_entry(entry));
  EXPECT_TRUE(of_pair("empty", "").matches_entry(entry));
  EXPECT_FALSE(of_pair("label", "").matches_entry(entry));
  EXPECT_FALSE(of_pair("absent", std::nullopt).matches_entry(entry));
  Query both = of_pair("label", "cat");
  both.metadata.push_back({"absent", std::nullopt});
  EXPECT_FALSE(both.matches_entry(entry));
}

TEST(Query, UsesTheLongerOfTwoPrefixes) {
  Query query;
  query.glob = Glob("data/2024/*.csv");
  query.prefix = "data/";
  EXPECT_EQ(query.key_prefix(), "data/2024/");
  EXPECT_TRUE(query.matches_path("data/2024/a.csv"));
  query.prefix = "data/2024/ab";
  EXPECT_EQ(query.key_prefix(), "data/2024/ab");
  EXPECT_TRUE(query.matches_path("data/2024/abc.csv"));
  EXPECT_FALSE(query.matches_path("data/2024/a.csv"));
  query.prefix = "other/";
  EXPECT_FALSE(query.matches_path("other/a.csv"));
  EXPECT_FALSE(query.matches_path("data/2024/a.csv"));
}

}  // namespace
}  // namespace tarn::search
