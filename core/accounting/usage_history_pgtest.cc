// Sizes by day: each repository once a day, by one server.
#include <gtest/gtest.h>

#include "core/accounting/usage_day_store.h"
#include "core/accounting/usage_history.h"
#include "core/accounting/usage_oracle_fixture.h"
#include "core/db/pool.h"
#include "tests/support/repository_test.h"

namespace tarn::accounting {
namespace {

constexpr db::Query kAge{"test_usage_age", R"sql(
  UPDATE usage_days SET day = day - $2::integer WHERE repo_id = $1)sql"};
constexpr db::Query kCount{"test_usage_count",
                           "SELECT count(*) FROM usage_days WHERE repo_id = $1"};

/// On a database of their own: they measure all repositories.
class UsageHistory : public ::testing::Test {
 protected:
  void measure() {
    while (measure_usage_of_today(*engine, {})) {
    }
  }
  void age(int32_t days) {
    engine.pool.run(kAge, {static_cast<int32_t>(repo.id), days}, db::Pool::Retry::kWrite);
  }
  std::vector<UsageDay> days(std::string_view after = "", uint32_t limit = 100) {
    return usage_history(*engine, repo, after, limit).items;
  }

  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
};

TEST_F(UsageHistory, HasOneRowForEachDayTheNewestFirst) {
  EXPECT_TRUE(days().empty());
  engine.put(repo, "main", "a", "12345");
  measure();
  engine.put(repo, "main", "b", "123");
  measure();
  ASSERT_EQ(days().size(), 1u) << "once a day";
  EXPECT_EQ(days()[0].logical, (Amount{1, 5}));
  age(2);
  measure();
  ASSERT_EQ(days().size(), 2u);
  EXPECT_EQ(days()[0].logical, (Amount{2, 8}));
  EXPECT_EQ(days()[1].logical, (Amount{1, 5}));
  EXPECT_EQ(days(days()[0].day), std::vector<UsageDay>{days()[1]});
  const auto page = usage_history(*engine, repo, "", 1);
  EXPECT_TRUE(page.has_more);
  EXPECT_EQ(page.next, days()[0].day);
}

TEST_F(UsageHistory, ClaimsARepositoryOnce) {
  engine.make_repository("other");
  UsageDayStore store(engine.pool);
  EXPECT_EQ(store.claim(1).size(), 1u);
  EXPECT_EQ(store.claim(100).size(), 1u);
  EXPECT_TRUE(store.claim(100).empty());
  EXPECT_TRUE(days().empty()) << "a claim is no size";
}

TEST_F(UsageHistory, GoesWithItsRepository) {
  measure();
  const auto count = [&] {
    return engine.pool.run(kCount, {static_cast<int32_t>(repo.id)}, db::Pool::Retry::kRead)
        .integer(0, 0);
  };
  EXPECT_EQ(count(), 1);
  branch::delete_repository(*engine, repo.name, false);
  EXPECT_EQ(count(), 0);
  EXPECT_FALSE(measure_usage_of_today(*engine, {})) << "deleted repositories have no size";
  EXPECT_EQ(testing::reason_of([&] { days(); }), "repository_not_found");
}

TEST_F(UsageHistory, RefusesAnAfterThatIsNoDay) {
  for (const char* text : {"x", "2026-1-1", "2026-11-24 ", "2026/11/24"}) {
    EXPECT_EQ(testing::reason_of([&] { days(text); }), "invalid_argument") << text;
  }
  EXPECT_TRUE(days("2026-02-31").empty());
}

}  // namespace
}  // namespace tarn::accounting
