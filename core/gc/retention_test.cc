#include "core/gc/retention.h"

#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/gc/retention_oracle_fixture.h"
#include "tests/support/long_tests.h"

namespace tarn::gc {
namespace {

constexpr int64_t kDay = 86'400;

CommitId id(uint8_t number) {
  CommitId out;
  out.bytes[0] = number;
  return out;
}

/// Commits 1, 2, 3 ... of one branch, by their ages in days.
History line(const std::vector<int64_t>& ages, uint32_t days) {
  History out;
  uint8_t number = 0;
  for (const int64_t age : ages) {
    HistoryCommit commit{id(++number), {}, age * kDay, true};
    if (number > 1) commit.parents.push_back(id(number - 1));
    out.commits.push_back(commit);
  }
  out.branches = {{"main", id(number)}};
  out.named = {id(number)};
  out.rules = CollectionRules{.default_retention_days = days, .retention_days = {}};
  return out;
}

std::string expiring(const History& history) {
  std::string out;
  for (const ExpiringCommit& commit : expiring_commits(history)) {
    out += str_cat(int{commit.id.bytes[0]}, " ");
  }
  return out;
}

TEST(Retention, WithoutRulesNothingExpires) {
  History history = line({400, 300, 200, 100}, 1);
  history.rules.reset();
  EXPECT_EQ(expiring(history), "");
}

TEST(Retention, CommitsStayWhileTheyOrTheirSuccessorsAreYoung) {
  // Commit 3 was the head until commit 4, nine days ago.
  EXPECT_EQ(expiring(line({40, 30, 20, 9, 1}, 10)), "1 2 ");
  EXPECT_EQ(expiring(line({40, 30, 20, 10, 1}, 10)), "1 2 3 ");
}

TEST(Retention, TheHeadStays) { EXPECT_EQ(expiring(line({40, 30}, 10)), "1 "); }

TEST(Retention, TheBranchsRuleCounts) {
  History history = line({40, 30, 20, 1}, 10);
  history.rules->retention_days = {{"main", 35}};
  EXPECT_EQ(expiring(history), "");
  history.rules->retention_days = {{"main", 0}};
  EXPECT_EQ(expiring(history), "1 2 3 ");
  EXPECT_EQ(expiring_commits(history)[0].rule, "the history of branch \"main\" is kept for 0 days");
}

TEST(Retention, OneBranchesLongerRuleKeepsWhatTheyShare) {
  History history = line({40, 30, 20, 1}, 10);
  history.branches.push_back({"audit", id(3)});
  history.named.push_back(id(3));
  history.rules->retention_days = {{"audit", 35}};
  EXPECT_EQ(expiring(history), "");
}

TEST(Retention, WhatAMergeBroughtStaysWithTheMerge) {
  History history = line({40, 30, 5}, 10);
  history.commits.push_back({id(4), {id(1)}, 35 * kDay, true});  // merged by 3
  history.commits[2].parents.push_back(id(4));
  EXPECT_EQ(expiring(history), "1 ");
  history.commits[2].age_s = 11 * kDay;
  EXPECT_EQ(expiring(history), "1 2 4 ");
}

TEST(Retention, BranchesKeepTheirMergeBase) {
  History history = line({40, 30, 20, 1}, 0);
  history.commits.push_back({id(5), {id(2)}, 0, true});
  history.branches.push_back({"feature", id(5)});
  history.named.push_back(id(5));
  EXPECT_EQ(expiring(history), "1 2 3 ");
  history.heads = {id(4), id(5)};
  EXPECT_EQ(expiring(history), "1 3 ");
  // Two branches of that branch, which is gone.
  history.commits.push_back({id(6), {id(5)}, 0, true});
  history.commits.push_back({id(7), {id(5)}, 0, true});
  history.named = {id(4), id(6), id(7)};
  history.branches = {{"main", id(4)}, {"one", id(6)}, {"two", id(7)}};
  history.heads = {id(4), id(6)};
  EXPECT_EQ(expiring(history), "1 3 5 ");
  history.heads = {id(4), id(6), id(7)};
  EXPECT_EQ(expiring(history), "1 3 ");
}

std::string bases(const History& history, const std::vector<CommitId>& heads) {
  std::string out;
  for (const CommonBase& base : merge_bases(history.commits, heads)) {
    out +=
        str_cat(int{base.id.bytes[0]}, "(", int{base.a.bytes[0]}, ",", int{base.b.bytes[0]}, ") ");
  }
  return out;
}

TEST(Retention, MergeBasesNameAPair) {
  History history = line({4, 3, 2}, 0);
  EXPECT_EQ(bases(history, {id(3)}), "");
  EXPECT_EQ(bases(history, {id(3), id(3)}), "");
  EXPECT_EQ(bases(history, {id(3), id(9)}), "");
  EXPECT_EQ(bases(history, {id(3), id(2)}), "2(2,3) ");
  history.commits.push_back({id(4), {id(2)}, 0, true});
  EXPECT_EQ(bases(history, {id(3), id(4)}), "2(3,4) ");
  // Both were merged with each other: two bases.
  history.commits.push_back({id(5), {id(3), id(4)}, 0, true});
  history.commits.push_back({id(6), {id(4), id(3)}, 0, true});
  EXPECT_EQ(bases(history, {id(5), id(6)}), "3(5,6) 4(5,6) ");
  // Of three heads each two have a base of their own, so the root is none.
  History three = line({1}, 0);
  for (uint8_t i = 2; i <= 4; ++i) three.commits.push_back({id(i), {id(1)}, 0, true});
  three.commits.push_back({id(5), {id(2), id(3)}, 0, true});
  three.commits.push_back({id(6), {id(3), id(4)}, 0, true});
  three.commits.push_back({id(7), {id(4), id(2)}, 0, true});
  EXPECT_EQ(bases(three, {id(5), id(6), id(7)}), "2(5,7) 3(5,6) 4(6,7) ");
}

TEST(Retention, HoldsKeepAncestorsToo) {
  History history = line({40, 30, 20, 1}, 0);
  history.held = {id(2)};
  EXPECT_EQ(expiring(history), "3 ");
}

TEST(Retention, EmptyAndExpiredTreesDoNotExpire) {
  History history = line({40, 30, 1}, 1);
  history.commits[0].has_tree = false;
  EXPECT_EQ(expiring(history), "2 ");
}

/// Up to twelve commits with any parents and ages, some of them of branches or named.
History random_history(std::mt19937& random) {
  const auto pick = [&random](int count) {
    return std::uniform_int_distribution<int>(0, count - 1)(random);
  };
  History out;
  const int commits = 1 + pick(12);
  const bool ordered = pick(3) > 0;
  const auto any = [&] { return id(static_cast<uint8_t>(1 + pick(commits))); };
  for (int i = 1; i <= commits; ++i) {
    HistoryCommit commit{id(static_cast<uint8_t>(i)), {}, 0, pick(8) > 0};
    const int64_t days = ordered ? (commits - i) / 2 : pick(6);
    commit.age_s = days * kDay + pick(2) * (kDay - 1);
    for (int parents = i == 1 ? 0 : pick(10) == 0 ? 0 : 1 + pick(5) / 3; parents > 0; --parents) {
      commit.parents.push_back(id(static_cast<uint8_t>(1 + pick(i - 1))));
    }
    out.commits.push_back(std::move(commit));
  }
  const int branches = 1 + pick(4);
  for (int i = 0; i < branches; ++i) {
    out.branches.push_back({str_cat("b", i), any()});
    out.named.push_back(out.branches.back().head);
  }
  if (pick(2) == 0) out.named.push_back(any());
  if (pick(5) == 0) out.held.push_back(any());
  if (pick(4) > 0) {
    for (const HistoryBranch& branch : out.branches) out.heads.push_back(branch.head);
  }
  if (pick(10) > 0) {
    out.rules = CollectionRules{.default_retention_days = static_cast<uint32_t>(pick(6)),
                                .retention_days = {}};
    for (int i = 0; i < branches; ++i) {
      if (pick(2) == 0) out.rules->retention_days[str_cat("b", i)] = static_cast<uint32_t>(pick(7));
    }
  }
  return out;
}

TEST(Retention, AgreesWithBruteForce) {
  const int histories = testing::is_long() ? 10'000 : 500;
  size_t expired = 0;
  for (int seed = 0; seed < histories; ++seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    const History history = random_history(random);
    const RetentionOracle oracle(history);
    std::set<CommitId> found;
    for (const ExpiringCommit& commit : expiring_commits(history)) found.insert(commit.id);
    ASSERT_EQ(found, oracle.expiring()) << "seed " << seed;
    expired += found.size();
    const int64_t kept = 2 * kDay;
    const auto unreachable = unreachable_commits(history, std::chrono::seconds{kept});
    ASSERT_EQ(std::set<CommitId>(unreachable.begin(), unreachable.end()), oracle.unreachable(kept))
        << "seed " << seed;
  }
  EXPECT_GT(expired, static_cast<size_t>(histories) / 2);
}

}  // namespace
}  // namespace tarn::gc
