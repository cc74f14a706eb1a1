// Many branches of one user do not stop the candidate of another.

#include <nlohmann/json.hpp>

#include "core/base/acting_user.h"
#include "core/branch/hooks.h"
#include "core/branch/repositories.h"
#include "core/promotion/contenders.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/promotions_fixture.h"

namespace tarn::promotion {
namespace {

using Json = nlohmann::json;

class Contending : public Promotions {
 protected:
  /// Branches of the user at one commit of their own, with a value that passes if `accuracy` is
  /// given.
  void make_junk(const std::string& user, int count, const std::string& accuracy) {
    const ActingUser acting(user, {}, {});
    const std::string first = "exp-" + user + "-0";
    candidate(first, accuracy);
    for (int i = 1; i < count; ++i)
      branch::create_branch(
          *engine, repo,
          {.name = BranchName("exp-" + user + "-" + std::to_string(i)), .source = first});
  }
  static Json evidence_of(const Promotion& promotion) { return Json::parse(promotion.evidence); }
};

TEST_F(Contending, BranchesWithoutTheMetricLeaveRoomForThoseThatHaveIt) {
  apply_policy();
  make_junk("mallory", 1000, "");
  {
    const ActingUser eve("eve", {}, {});
    branch::create_branch(*engine, repo,
                          {.name = BranchName("exp-eve"), .source = "exp-mallory-0"});
  }
  {
    const ActingUser dana("dana", {}, {});
    candidate("exp-good", "0.9");
  }
  const Promotion promotion = promote({"exp-*"});
  EXPECT_EQ(outcome(promotion), "promoted");
  EXPECT_EQ(promotion.winner_ref, "exp-good");
  EXPECT_EQ(evidence_of(promotion)["candidates"].size(), 1u);
  EXPECT_FALSE(evidence_of(promotion).contains("left_out"));
}

TEST_F(Contending, VerdictReportsThatAllLackTheMetric) {
  apply_policy();
  make_junk("mallory", 1000, "");
  make_junk("eve", 1, "");
  EXPECT_EQ(outcome(promote({"exp-*"})), "rejected metric_missing");
}

TEST_F(Contending, CreatorsTakeTurnsAndTheVerdictNamesIgnoredOnes) {
  apply_policy();
  {
    const ActingUser dana("dana", {}, {});
    candidate("exp-good", "0.9");
  }
  make_junk("mallory", 1000, "0.8");
  make_junk("eve", 1, "0.7");
  const Promotion promotion = promote({"exp-*"});
  EXPECT_EQ(outcome(promotion), "promoted");
  EXPECT_EQ(promotion.winner_ref, "exp-good");
  const Json evidence = evidence_of(promotion);
  EXPECT_EQ(evidence["candidates"].size(), kPromotionCandidatesMax);
  EXPECT_EQ(evidence["left_out"], Json::parse(R"([{"creator":"mallory","branches":2}])"));
  EXPECT_EQ(evidence["warnings"].at(0),
            "2 branches were not judged, since there are too many: 2 of mallory");
}

TEST_F(Contending, GateCheckSelectsTheSameCandidates) {
  apply_policy();
  {
    const ActingUser dana("dana", {}, {});
    candidate("exp-good", "0.9");
  }
  make_junk("mallory", 1000, "0.8");
  const GateAnswer answer =
      evaluate_gate(*engine, repo, {.policy = "digits", .candidates = {"exp-*"}});
  EXPECT_EQ(answer.candidates.size(), kGateCandidatesMax);
  EXPECT_EQ(answer.candidates.front().candidate.ref, "exp-good");
  EXPECT_EQ(
      answer.warnings,
      std::vector<std::string>{"1 branch was not judged, since there are too many: 1 of mallory"});
}

TEST_F(Contending, NewestBranchesOfEachCreatorAreJudged) {
  apply_policy();
  make_junk("mallory", 3, "0.7");
  const CommitId late = train("exp-mallory-1", "0.8");
  {
    const ActingUser eve("eve", {}, {});
    candidate("exp-eve", "0.65");
  }
  const Repository repository = branch::get_repository(*engine, repo);
  const GatePolicy policy = policy_of(get_gate_policy(*engine, repo, "digits"));
  const std::vector<std::string> words = {"exp-*"};
  const Contenders chosen = choose_contenders(
      *engine, repository, policy,
      branch::find_candidates(*engine, repository, words, kPromotionBranchesSeenMax),
      branch::resolve_commit(*engine, repo, "main"), 2);
  ASSERT_EQ(chosen.judged.size(), 2u);
  EXPECT_EQ(chosen.judged[0].ref, "exp-eve");
  EXPECT_EQ(chosen.judged[1].commit.id, late);
  EXPECT_EQ(chosen.left_out, (std::vector<LeftOut>{{"mallory", 2}}));
}

TEST_F(Contending, ARefThatIsNamedStaysWhateverAGlobMatches) {
  apply_policy();
  make_junk("mallory", 3, "0.7");
  {
    const ActingUser mallory("mallory", {}, {});
    candidate("named", "0.8");
  }
  const Repository repository = branch::get_repository(*engine, repo);
  const GatePolicy policy = policy_of(get_gate_policy(*engine, repo, "digits"));
  const std::vector<std::string> words = {"exp-*", "named"};
  const Contenders chosen = choose_contenders(
      *engine, repository, policy,
      branch::find_candidates(*engine, repository, words, kPromotionBranchesSeenMax),
      branch::resolve_commit(*engine, repo, "main"), 1);
  ASSERT_EQ(chosen.judged.size(), 1u);
  EXPECT_EQ(chosen.judged[0].ref, "named");
}

}  // namespace
}  // namespace tarn::promotion
