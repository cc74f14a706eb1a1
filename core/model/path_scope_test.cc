#include "core/model/path_scope.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

TEST(PathScope, ContainsWhatAnyPatternMatches) {
  const PathScope scope({"models/**", "*.json"});
  EXPECT_TRUE(scope.contains("models/a/b.pkl"));
  EXPECT_TRUE(scope.contains("config.json"));
  EXPECT_FALSE(scope.contains("data/config.json"));
  EXPECT_FALSE(scope.contains("models"));
}

TEST(PathScope, SkipsToTheNextPossibleMatch) {
  const PathScope scope({"models/**", "data/*.csv"});
  EXPECT_EQ(scope.skip_to("a"), "data/");
  EXPECT_EQ(scope.skip_to("data/x"), "data/x") << "inside a prefix nothing is skipped";
  EXPECT_EQ(scope.skip_to("data0"), "models/");
  EXPECT_EQ(scope.skip_to("models/z"), "models/z");
  EXPECT_EQ(scope.skip_to("models0"), std::nullopt);
  EXPECT_EQ(PathScope({"*.csv", "models/**"}).skip_to("z"), "z")
      << "a pattern without a prefix may match anywhere";
}

TEST(PathScope, RefusesNoneTooManyAndMalformedPatterns) {
  EXPECT_THROW(PathScope({}), Error);
  EXPECT_THROW(PathScope(std::vector<std::string>(kPathPatternsMax + 1, "a")), Error);
  EXPECT_THROW(PathScope({"a", "[b"}), Error);
}

}  // namespace
}  // namespace tarn
