#include <gtest/gtest.h>

#include "core/db/pool.h"
#include "core/jobs/jobs.h"
#include "tests/support/postgres_test.h"

namespace tarn::meta {
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

}  // namespace
}  // namespace tarn::meta
