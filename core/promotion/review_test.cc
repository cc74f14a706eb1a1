#include "core/promotion/review.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/promotion/gate_candidate_fixture.h"

namespace tarn::promotion {
namespace {

using Strings = std::vector<std::string>;

TEST(Review, ListsChangedMembersByName) {
  EXPECT_EQ(changes_between(R"({"commit":"a","values":{"acc":{"candidate":"0.9"}}})",
                            R"({"commit":"a","values":{"acc":{"candidate":"0.6"}},"paths":["x"]})"),
            (Strings{"values.acc.candidate was 0.9 and is 0.6", "paths.0 was nothing and is x"}));
  EXPECT_EQ(changes_between(R"({"a":null})", R"({"a":"b"})"), (Strings{"a was nothing and is b"}));
  EXPECT_TRUE(changes_between(R"({"a":[1,2]})", R"({"a":[1,2]})").empty());
  EXPECT_THROW(changes_between("{", "{}"), Error);
}

TEST(Review, ListsABoundedNumberOfChanges) {
  std::string many = "{";
  for (size_t i = 0; i < kReviewChangesShownMax + 3; ++i)
    many += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":1";
  const Strings changes = changes_between("{}", many + "}");
  ASSERT_EQ(changes.size(), kReviewChangesShownMax + 1);
  EXPECT_EQ(changes.back(), "3 more");
}

/// Members of the review that a change of one input changes, by their names.
TEST(Review, CoversEverythingThatIsShown) {
  const GatePolicy policy = policy_of("metrics: [{name: a}, {name: b, split: test}]");
  const ReviewContext context{.promotion = "p1",
                              .destination = BranchName("main"),
                              .method = PromotionMethod::kMerge,
                              .paths = {"x"},
                              .policy = "digits",
                              .policy_version = 3,
                              .policy_digest = "ab",
                              .alias = "champion",
                              .champion = commit(7),
                              .destination_head = commit(8)};
  const GateCandidate candidate = candidate_of({metric("a", 0.9)});
  CommitFacts baseline;
  baseline.commit = commit(7);
  baseline.metrics = {metric("a", 0.8)};
  const std::string before = review_of(context, policy, candidate, &baseline);
  const auto changed_by = [&](auto change) {
    ReviewContext other = context;
    GateCandidate one = candidate;
    CommitFacts bar = baseline;
    change(other, one, bar);
    std::string names;
    for (const std::string& text : changes_between(before, review_of(other, policy, one, &bar)))
      names += (names.empty() ? "" : " ") + text.substr(0, text.find(' '));
    return names;
  };
  using Context = ReviewContext;
  using Candidate = GateCandidate;
  EXPECT_EQ(changed_by([](Context&, Candidate&, CommitFacts&) {}), "");
  EXPECT_EQ(changed_by([](Context& c, Candidate&, CommitFacts&) { c.promotion = "p2"; }),
            "promotion");
  EXPECT_EQ(
      changed_by([](Context& c, Candidate&, CommitFacts&) { c.method = PromotionMethod::kSquash; }),
      "method");
  EXPECT_EQ(changed_by([](Context& c, Candidate&, CommitFacts&) { c.paths = {"y"}; }), "paths.0");
  EXPECT_EQ(changed_by([](Context& c, Candidate&, CommitFacts&) { c.policy_version = 4; }),
            "policy.version");
  EXPECT_EQ(changed_by([](Context& c, Candidate&, CommitFacts&) { c.champion = commit(9); }),
            "champion.commit");
  EXPECT_EQ(changed_by([](Context&, Candidate& c, CommitFacts&) { c.ref = "other"; }), "candidate");
  EXPECT_EQ(changed_by([](Context&, Candidate& c, CommitFacts&) { c.facts.commit = commit(5); }),
            "commit");
  EXPECT_EQ(changed_by([](Context&, Candidate& c, CommitFacts&) {
              c.facts.metrics = {metric("a", 0.91)};
            }),
            "values.a.candidate");
  EXPECT_EQ(changed_by([](Context&, Candidate& c, CommitFacts&) {
              c.facts.metrics[0].replicates = {.by = "seed", .counted = {{"1", 0.9}}};
            }),
            "values.a.candidate values.a.candidate_runs.mean values.a.candidate_runs.sd "
            "values.a.candidate_runs.n values.a.candidate_runs.by");
  EXPECT_EQ(changed_by([](Context&, Candidate& c, CommitFacts&) {
              c.facts.metrics = {metric("a", std::numeric_limits<double>::quiet_NaN())};
            }),
            "values.a.candidate");
  EXPECT_EQ(
      changed_by([](Context&, Candidate&, CommitFacts& bar) { bar.metrics = {metric("a", 0.7)}; }),
      "values.a.champion");
  EXPECT_EQ(changed_by([](Context&, Candidate&, CommitFacts& bar) { bar.commit = commit(6); }),
            "champion.measured");
  EXPECT_EQ(changed_by([](Context&, Candidate& c, CommitFacts&) {
              c.objects.required_count = 1;
              c.objects.required_digest = "cd";
            }),
            "objects.count objects.digest");
}

TEST(Review, WithoutAliasNamesTheDestinationsHead) {
  ReviewContext context{.promotion = "p1",
                        .destination = BranchName("main"),
                        .policy = "digits",
                        .policy_digest = "ab",
                        .alias = "",
                        .champion = std::nullopt,
                        .destination_head = commit(8)};
  const std::string before = review_of(context, policy_of(""), candidate_of({}), nullptr);
  context.destination_head = commit(9);
  EXPECT_EQ(
      changes_between(before, review_of(context, policy_of(""), candidate_of({}), nullptr)),
      (Strings{"champion.commit was " + to_text(commit(8)) + " and is " + to_text(commit(9))}));
}

}  // namespace
}  // namespace tarn::promotion
