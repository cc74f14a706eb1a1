// Logical sizes: pages of breakdowns, large staging areas, and what they read.
#include <gtest/gtest.h>

#include "core/accounting/logical_size.h"
#include "core/accounting/usage_oracle_fixture.h"
#include "core/base/str_cat.h"
#include "core/meta/staging.h"
#include "core/versioning/move.h"
#include "core/versioning/reset.h"
#include "tests/support/repository_test.h"

namespace tarn::accounting {
namespace {

class LogicalSize : public testing::RepositoryTest {
 protected:
  void stage_many(size_t from, size_t to, bool present, const std::string& branch = "main") {
    std::vector<meta::StagedRow> rows;
    for (size_t i = from; i < to; ++i) {
      Entry entry;
      entry.size_bytes = i;
      entry.etag = "e";
      entry.address = new_own_address(engine.clock.now());
      rows.push_back(
          {str_cat("d", i % 7, "/", 100'000 + i), present ? std::optional(entry) : std::nullopt});
    }
    const BranchId id = branch::get_branch(*engine, repo, BranchName(branch)).id;
    ASSERT_EQ((*engine).staging.stage_many(id, std::move(rows)),
              meta::Staging::StageOutcome::kDone);
  }
  std::vector<UsageItem> in_pages(const std::string& ref, const std::string& prefix,
                                  uint32_t limit) {
    std::vector<UsageItem> out;
    std::string after;
    for (;;) {
      const auto page = usage_by_prefix(*engine, repo, ref, prefix, after, limit);
      EXPECT_LE(page.items.size(), limit);
      out.insert(out.end(), page.items.begin(), page.items.end());
      if (!page.has_more) return out;
      after = page.next;
    }
  }
  void compare(const std::string& ref) {
    EXPECT_EQ(logical_size(*engine, repo, ref, ""), slow_logical_size(*engine, repo, ref, ""));
    EXPECT_EQ(logical_size(*engine, repo, ref, "d3/"),
              slow_logical_size(*engine, repo, ref, "d3/"));
    for (const uint32_t limit : {1u, 2u, 1000u}) {
      EXPECT_EQ(in_pages(ref, "", limit), slow_usage_by_prefix(*engine, repo, ref, "")) << limit;
    }
  }
};

TEST_F(LogicalSize, OfNothingIsZero) {
  EXPECT_EQ(logical_size(*engine, repo, "main", ""), (Amount{0, 0}));
  EXPECT_TRUE(usage_by_prefix(*engine, repo, "main", "", "", 10).items.empty());
}

TEST_F(LogicalSize, ManyStagedChangesAreAppliedOverManyPages) {
  stage_many(0, 6'000, true);
  compare("main");
  engine.commit(repo, "main");
  stage_many(1'000, 4'000, true);
  stage_many(3'000, 6'000, false);
  stage_many(6'000, 7'000, true);
  engine.put(repo, "main", "top", "12345");
  compare("main");
  compare("main@");
  versioning::reset_prefix(*engine, repo, BranchName("main"), "d3/", false);
  stage_many(5'000, 5'100, true);
  compare("main");
}

TEST_F(LogicalSize, APrefixWhoseObjectsAreAllDeletedIsNoItem) {
  engine.put(repo, "main", "a/1", "1");
  engine.put(repo, "main", "b/1", "1");
  engine.commit(repo, "main");
  engine.remove(repo, "main", "a/1");
  const auto page = usage_by_prefix(*engine, repo, "main", "", "", 10);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].path, "b/");
  EXPECT_FALSE(page.has_more);
}

TEST_F(LogicalSize, MovedPrefixesHideWhatTheTreeHasThere) {
  stage_many(0, 3'000, true);
  engine.commit(repo, "main");
  versioning::MoveRequest request;
  request.source = "d3/";
  request.destination = "moved/";
  request.prefixes = true;
  versioning::move_objects(*engine, repo, BranchName("main"), request);
  engine.put(repo, "main", "d3/100010", "12345");
  engine.remove(repo, "main", "d3/100017");
  compare("main");
  EXPECT_EQ(logical_size(*engine, repo, "main", "d3/"), (Amount{1, 5}));
}

TEST_F(LogicalSize, APageAfterAPathInsideAPrefixBeginsWithTheNext) {
  engine.put(repo, "main", "a/1", "1");
  engine.put(repo, "main", "a/2", "1");
  engine.put(repo, "main", "b/1", "1");
  const auto page = usage_by_prefix(*engine, repo, "main", "", "a/1", 10);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].path, "b/");
}

TEST_F(LogicalSize, AnUnknownRefIsNotFound) {
  EXPECT_EQ(testing::reason_of([&] { logical_size(*engine, repo, "nowhere", ""); }),
            "ref_not_found");
}

}  // namespace
}  // namespace tarn::accounting
