#include <gtest/gtest.h>

#include "core/db/pool.h"
#include "core/jobs/jobs.h"
#include "tests/support/postgres_test.h"

namespace tarn::jobs {
namespace {

using std::chrono::seconds;

class JobTurns : public ::testing::Test {
 protected:
  void queue(const std::string& owner, int count = 1) {
    for (int i = 0; i < count; ++i) jobs.create("k", RepositoryId{1}, BranchId{1}, "", owner);
  }
  /// The owner of the job that is leased, "" when none is.
  std::string take(const std::vector<std::string>& owners_not = {}, seconds ttl = seconds{60}) {
    const auto job = jobs.take("k", ++lease, ttl, owners_not);
    return job ? job->owner : "";
  }

  testing::TestDatabase database;
  SystemClock clock;
  db::Pool pool{database.url(), {}};
  Jobs jobs{pool, clock};
  int64_t lease = 0;
};

TEST_F(JobTurns, GoToTheOwnerWithTheFewestRunning) {
  queue("ann", 4);
  queue("bob", 2);
  queue("cas");
  std::string order;
  for (std::string owner = take(); !owner.empty(); owner = take()) order += owner + " ";
  EXPECT_EQ(order, "ann bob cas ann bob ann ann ");
}

TEST_F(JobTurns, ExpiredLeasesDoNotCount) {
  queue("ann");
  EXPECT_EQ(take({}, seconds{0}), "ann");
  queue("bob");
  EXPECT_EQ(take(), "ann") << "the older one, which nobody runs";
  EXPECT_EQ(take(), "bob");
  EXPECT_EQ(take(), "");
}

TEST_F(JobTurns, SkipExcludedOwners) {
  queue("ann");
  queue("bob");
  EXPECT_EQ(take({"ann", "cas"}), "bob");
  EXPECT_EQ(take({"ann"}), "");
  EXPECT_EQ(take(), "ann");
}

constexpr db::Query kAddUsers{"jobs_test_add_users",
                              "INSERT INTO users (name, created_ms) VALUES ('ann', 0), ('bob', 0)"};
constexpr db::Query kReplaceUsers{"jobs_test_replace_users",
                                  "UPDATE users SET created_ms = 99999999999999"};

TEST_F(JobTurns, AreListedNewestFirstForTheirOwnerOrForAll) {
  pool.run(kAddUsers, {}, db::Pool::Retry::kWrite);
  queue("ann", 2);
  queue("bob");
  const auto first = jobs.list("ann", "", 1);
  ASSERT_EQ(first.items.size(), 1U);
  EXPECT_TRUE(first.has_more);
  const auto second = jobs.list("ann", first.next, 10);
  ASSERT_EQ(second.items.size(), 1U);
  EXPECT_FALSE(second.has_more);
  EXPECT_LT(second.items[0].id, first.items[0].id);
  EXPECT_EQ(second.items[0].repository, "") << "there is none with this id";
  EXPECT_EQ(jobs.list({}, "", 10).items.size(), 3U);
  EXPECT_EQ(jobs.list("", "", 10).items.size(), 0U) << "no user has this name";
  pool.run(kReplaceUsers, {}, db::Pool::Retry::kWrite);
  EXPECT_EQ(jobs.list("ann", "", 10).items.size(), 0U) << "a later user with the same name";
}

}  // namespace
}  // namespace tarn::jobs
