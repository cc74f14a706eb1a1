#include "cli/suggestion.h"

#include <gtest/gtest.h>

namespace tarn::cli {
namespace {

const std::vector<std::string> kNames{"repo",    "branch", "branch-protect",
                                      "promote", "policy", "gc"};

std::string closest(std::string_view word) { return closest_word(word, kNames).value_or(""); }

TEST(Suggestion, FindsWordsWithOneMistake) {
  EXPECT_EQ(closest("brnch"), "branch");
  EXPECT_EQ(closest("branhc"), "branch");
  EXPECT_EQ(closest("rep"), "repo");
  EXPECT_EQ(closest("polcy"), "policy");
  EXPECT_EQ(closest("g"), "gc");
}

TEST(Suggestion, LongWordsMayHaveMoreMistakes) {
  EXPECT_EQ(closest("brnach-portect"), "branch-protect");
}

TEST(Suggestion, IsNoneForOtherWords) {
  EXPECT_EQ(closest("experiment"), "");
  EXPECT_EQ(closest(""), "");
  EXPECT_EQ(closest("xyz"), "");
  EXPECT_EQ(closest(std::string(1'000'000, 'b')), "");
}

}  // namespace
}  // namespace tarn::cli
