// Rules for branches, tags and collection: what they block, and their forms in the database.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/model/branch_rule.h"
#include "core/model/collection_rules.h"
#include "core/model/tag_rule.h"

namespace tarn {
namespace {

constexpr BranchAction kAllActions[] = {
    BranchAction::kStage,  BranchAction::kCommit, BranchAction::kMerge,
    BranchAction::kDelete, BranchAction::kRevert, BranchAction::kCherryPick,
    BranchAction::kReset,  BranchAction::kImport, BranchAction::kRestore};

std::string blocked(const BranchRule& rule) {
  std::string out;
  for (const BranchAction action : kAllActions) {
    if (rule.blocks(action)) out += std::string(name_of(action)) + " ";
  }
  return out;
}

TEST(BranchRule, BlocksWritesCommitsAndResetsByDefault) {
  BranchRule rule{.pattern = Glob("main")};
  EXPECT_EQ(blocked(rule), "stage commit reset ");
  rule.blocked_actions.emplace();
  EXPECT_EQ(blocked(rule), "");
  rule.blocked_actions = {BranchAction::kMerge, BranchAction::kDelete};
  EXPECT_EQ(blocked(rule), "merge delete ");
}

TEST(BranchRule, PermitsEveryMergeMethodUnlessItNamesSome) {
  BranchRule rule{.pattern = Glob("main")};
  EXPECT_TRUE(rule.permits(MergeMethod::kSquash));
  rule.merge_methods.emplace();
  EXPECT_TRUE(rule.permits(MergeMethod::kSquash));
  rule.merge_methods = {MergeMethod::kMerge};
  EXPECT_TRUE(rule.permits(MergeMethod::kMerge));
  EXPECT_FALSE(rule.permits(MergeMethod::kSquash));
}

TEST(BranchRule, ActionNamesRoundTrip) {
  for (const BranchAction action : kAllActions) {
    EXPECT_EQ(parse_branch_action(name_of(action)), action);
  }
  EXPECT_EQ(parse_branch_action("push"), std::nullopt);
  EXPECT_EQ(parse_merge_method("squash"), MergeMethod::kSquash);
  EXPECT_EQ(parse_merge_method("rebase"), std::nullopt);
}

TEST(BranchRule, PatternsAreCheckedBeforeTheyAreStored) {
  EXPECT_EQ(rule_pattern_problem("release-*"), "");
  EXPECT_EQ(rule_pattern_problem(""), "must not be empty");
  EXPECT_EQ(rule_pattern_problem("[a"), "'[' without ']' at byte 0");
  EXPECT_EQ(rule_pattern_problem(std::string(256, 'a')), "is longer than 255 bytes");
}

template <typename T>
void expect_survives(const T& value, std::string (*encode)(const T&),
                     T (*decode)(std::string_view)) {
  const std::string bytes = encode(value);
  EXPECT_EQ(decode(bytes), value);
  EXPECT_EQ(encode(decode(bytes)), bytes);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(decode(bytes.substr(0, length)), Error) << length;
  }
  EXPECT_THROW(decode(bytes + "x"), Error);
}

TEST(Rules, RoundTripAndTruncationIsRefused) {
  expect_survives<std::vector<BranchRule>>(
      {{.pattern = Glob("main")},
       {.pattern = Glob("release-{1,2}"),
        .blocked_actions = std::set<BranchAction>{BranchAction::kRestore, BranchAction::kStage},
        .merge_methods = std::set<MergeMethod>{MergeMethod::kSquash},
        .approvals = 2},
       {.pattern = Glob("*"),
        .blocked_actions = std::set<BranchAction>{},
        .merge_methods = {},
        .approvals = 0}},
      encode_branch_rules, decode_branch_rules);
  expect_survives<std::vector<TagRule>>(
      {{.pattern = Glob("v*"), .may_create = true, .may_delete = false},
       {.pattern = Glob("x"), .may_create = false, .may_delete = true}},
      encode_tag_rules, decode_tag_rules);
  expect_survives<CollectionRules>({.default_retention_days = 7, .retention_days = {{"main", 9}}},
                                   encode_collection_rules, decode_collection_rules);
}

}  // namespace
}  // namespace tarn
