#include <limits>

#include <gtest/gtest.h>

#include "core/promotion/ranking.h"

namespace tarn::promotion {
namespace {

using Rows = std::vector<std::vector<double>>;
constexpr double kMissing = -std::numeric_limits<double>::infinity();

TEST(Dominance, NeedsNoWorseAndOneBetterScore) {
  EXPECT_EQ(find_dominated(Rows{{1, 1}, {2, 1}, {1, 2}, {0, 3}}),
            (std::vector<bool>{true, false, false, false}));
}

TEST(Dominance, EqualsDoNotBeatEachOther) {
  EXPECT_EQ(find_dominated(Rows{{1, 1}, {1, 1}}), (std::vector<bool>{false, false}));
  EXPECT_EQ(find_dominated(Rows{{}, {}}), (std::vector<bool>{false, false}));
  EXPECT_EQ(find_dominated(Rows{}), std::vector<bool>{});
}

TEST(Dominance, AMissingScoreIsTheWorst) {
  EXPECT_EQ(find_dominated(Rows{{1, kMissing}, {1, -9}, {2, kMissing}}),
            (std::vector<bool>{true, false, false}));
}

TEST(Dominance, AgreesWithComparingAllPairs) {
  Rows rows;
  unsigned random = 7;
  for (int i = 0; i < 200; ++i) {
    std::vector<double>& row = rows.emplace_back();
    for (int k = 0; k < 3; ++k) row.push_back((random = random * 1664525u + 1013904223u) >> 28);
  }
  const std::vector<bool> found = find_dominated(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    bool expected = false;
    for (const auto& other : rows) {
      bool as_good = true;
      for (size_t k = 0; k < 3; ++k) as_good = as_good && other[k] >= rows[i][k];
      expected = expected || (as_good && other != rows[i]);
    }
    EXPECT_EQ(found[i], expected) << i;
  }
}

}  // namespace
}  // namespace tarn::promotion
