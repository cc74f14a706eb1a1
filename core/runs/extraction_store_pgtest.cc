#include <gtest/gtest.h>

#include "core/db/pool.h"
#include "core/runs/extraction_store.h"
#include "tests/support/postgres_test.h"

namespace tarn::runs {
namespace {

using std::chrono::seconds;

class ExtractionTurns : public ::testing::Test {
 protected:
  void queue(const std::string& owner, int count = 1) {
    static constexpr db::Query kQueue{
        "test_queue_extraction",
        "INSERT INTO extractions (repo_id, commit_id, owner) VALUES (1, $1, $2)"};
    for (int i = 0; i < count; ++i) {
      const CommitId commit{static_cast<uint8_t>(++commits)};
      pool.run(kQueue, {db::Bytes{view_of(commit)}, owner}, db::Pool::Retry::kWrite);
    }
  }
  /// The owner of the commit that is leased, "-" when none is.
  std::string take(const std::vector<std::string>& owners_not = {}, seconds ttl = seconds{60}) {
    const auto next = extractions.take(ttl, owners_not);
    return next ? next->owner : "-";
  }

  testing::TestDatabase database;
  db::Pool pool{database.url(), {}};
  ExtractionStore extractions{pool};
  int commits = 0;
};

TEST_F(ExtractionTurns, GoToTheOwnerWithTheFewestRunning) {
  queue("ann", 4);
  queue("");
  queue("bob", 2);
  queue("cas");
  std::string order;
  for (std::string owner = take(); owner != "-"; owner = take()) order += owner + " ";
  EXPECT_EQ(order, "ann  bob cas ann bob ann ann ");
}

TEST_F(ExtractionTurns, ExpiredLeasesDoNotCount) {
  queue("ann");
  EXPECT_EQ(take({}, seconds{0}), "ann");
  queue("bob");
  EXPECT_EQ(take(), "ann") << "the older one, which nobody reads";
  EXPECT_EQ(take(), "bob");
  EXPECT_EQ(take(), "-");
}

TEST_F(ExtractionTurns, SkipExcludedOwners) {
  queue("ann");
  queue("bob");
  EXPECT_EQ(take({"ann", "cas"}), "bob");
  EXPECT_EQ(take({"ann"}), "-");
  EXPECT_EQ(take(), "ann");
}

}  // namespace
}  // namespace tarn::runs
