// Verdicts over a real repository: what candidates hold, bring and measure.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/events/webhook_store.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/gate_policies.h"
#include "core/runs/runs.h"
#include "core/versioning/merge.h"
#include "tests/support/repository_test.h"

namespace tarn::promotion {
namespace {

using testing::message_of;
using testing::reason_of;

class Gate : public testing::RepositoryTest {
 protected:
  Gate() {
    engine.put(repo, "main", "data/a", "1");
    engine.put(repo, "main", "_lakefs_actions/check.yaml", "name: check");
    engine.commit(repo, "main");
    branch::create_tag(*engine, repo, TagName("dataset-v1"), "main", false);
    engine.branch(repo, "exp-1", "main");
    engine.branch(repo, "exp-2", "main");
  }

  void set(std::string_view more) {
    set_gate_policy(*engine, repo, "gate",
                    {.document = str_cat("destination: main\n", more), .author = "ann"});
  }
  void record(const std::string& ref, std::vector<RunMetric> metrics) {
    runs::record_run(*engine, repo,
                     {.experiment = "x",
                      .commit = engine.head(repo, ref),
                      .branch = ref,
                      .metrics = std::move(metrics),
                      .owner = "ann"});
  }
  GateAnswer judge(std::vector<std::string> candidates,
                   std::optional<std::string> champion = std::nullopt) {
    return evaluate_gate(*engine, repo,
                         {.policy = "gate",
                          .version = std::nullopt,
                          .candidates = std::move(candidates),
                          .champion = std::move(champion)});
  }
  /// "rule:code" of what did not pass in the verdict on one candidate.
  std::string complaints(const std::string& candidate,
                         std::optional<std::string> champion = std::nullopt) {
    const GateAnswer answer = judge({candidate}, std::move(champion));
    std::string out;
    for (const RuleResult& rule : answer.candidates.at(0).verdict.rules) {
      if (rule.outcome != RuleOutcome::kPass) out += str_cat(rule.rule, ":", rule.code, " ");
    }
    return out;
  }
};

TEST_F(Gate, EvaluatesTheMetricsOfTheExactCommit) {
  set("metrics: [{name: accuracy, goal: max, min: 0.6, max: 1.0, trust: [api]}]");
  EXPECT_EQ(complaints("exp-1"), "metrics.accuracy:metric_missing ");
  engine.put(repo, "exp-1", "x", "1");
  engine.commit(repo, "exp-1");
  record("exp-1", {{"accuracy", 0.7}});
  record("exp-2", {{"accuracy", 1.5}});
  EXPECT_EQ(complaints("exp-1"), "");
  EXPECT_EQ(complaints("exp-2"), "metrics.accuracy.max:above_max ");
  engine.put(repo, "exp-1", "y", "1");
  engine.commit(repo, "exp-1");
  EXPECT_EQ(complaints("exp-1"), "metrics.accuracy:metric_missing ") << "of the commit before";
}

TEST_F(Gate, FilesAndMetadataAreReadBeforeTheVerdict) {
  set("metrics: [{name: accuracy, goal: max, min: 0.6, max: 1.0}]\ncandidates: 'exp-*'");
  engine.put(repo, "exp-1", "metrics/m.json", R"({"accuracy": 0.7})");
  engine.commit(repo, "exp-1");
  engine.put(repo, "exp-2", "metrics/m.json", R"({"accuracy": 1.5})");
  engine.commit(repo, "exp-2");
  EXPECT_EQ(complaints("exp-1"), "");
  EXPECT_EQ(complaints("exp-2"), "metrics.accuracy.max:above_max ");
  EXPECT_EQ(complaints("exp-1~1"), "candidates:candidate_refused metrics.accuracy:metric_missing ");

  const GateAnswer answer = judge({"exp-*"});
  ASSERT_EQ(answer.candidates.size(), 2u);
  EXPECT_EQ(answer.candidates[0].candidate.ref, "exp-1");
  EXPECT_EQ(answer.candidates[0].rank, 1u);
  EXPECT_EQ(answer.candidates[1].rank, std::nullopt) << "it failed";
  EXPECT_EQ(answer.version.version, 1);

  engine.put(repo, "exp-1", "other", "1");
  engine.commit(repo, "exp-1");
  EXPECT_EQ(complaints("exp-1"), "") << "the file is in the new commit too";
}

TEST_F(Gate, ComparesWithTheChampion) {
  set("alias: champion\nmetrics: [{name: accuracy, goal: max, vs_champion: {min_delta: 0.1}}]");
  for (const auto& [branch, accuracy] : {std::pair{"exp-1", 0.7}, {"exp-2", 0.75}}) {
    engine.put(repo, branch, "x", branch);
    engine.commit(repo, branch);
    record(branch, {{"accuracy", accuracy}});
  }
  EXPECT_EQ(complaints("exp-2"), "metrics.accuracy.vs_champion.min_delta:no_champion ");
  EXPECT_EQ(judge({"exp-2"}).candidates[0].verdict.outcome, GateOutcome::kPassed);
  EXPECT_EQ(complaints("exp-2", "exp-1"),
            "metrics.accuracy.vs_champion.min_delta:worse_than_champion ");
  EXPECT_EQ(reason_of([&] { judge({"exp-2"}, "nowhere"); }), "ref_not_found");
}

TEST_F(Gate, ChampionIsTheCommitOfThePolicysAlias) {
  engine.put(repo, "exp-1", "x", "1");
  engine.commit(repo, "exp-1");
  record("exp-1", {{"accuracy", 0.7}});
  record("exp-2", {{"accuracy", 0.75}});
  branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "ann"}, "exp-1");
  set("alias: champion\nmetrics: [{name: accuracy, goal: max, vs_champion: {min_delta: 0.1}}]");
  EXPECT_EQ(complaints("exp-2"), "metrics.accuracy.vs_champion.min_delta:worse_than_champion ");
  EXPECT_EQ(judge({"exp-2"}).champion->ref, "@champion");
}

TEST_F(Gate, RefusesPathsThatADiskHasUnderAnotherPath) {
  engine.put(repo, "main", "conf/serve.yaml", "a");
  engine.put(repo, "main", "conf/Gr\xc3\xb6.yaml", "a");
  engine.put(repo, "main", "a//unplain", "a");
  engine.commit(repo, "main");
  set("objects: {unchanged: [conf/**]}");
  for (const std::string path :
       {"./conf/serve.yaml", "x/../conf/serve.yaml", "/conf/serve.yaml", "conf//serve.yaml", "..",
        "x\\y", "x\ny", "a//unplain", "Conf/serve.yaml", "CONF/SERVE.YAML", "data/A", "dir/",
        "conf/gro\xcc\x88.yaml", "conf/GR\xc3\x96.yaml"}) {
    engine.branch(repo, "exp", "main");
    engine.put(repo, "exp", path, "new");
    engine.commit(repo, "exp");
    EXPECT_NE(complaints("exp").find("paths:path_alias "), std::string::npos) << path;
    branch::delete_branch(*engine, repo, BranchName("exp"), false);
  }
  for (const std::string path : {"conf2/serve.yaml", "Conf/other", "data/", "n/..x"}) {
    engine.branch(repo, "exp", "main");
    engine.put(repo, "exp", path, path.ends_with('/') ? "" : "new");
    engine.remove(repo, "exp", "a//unplain");
    engine.commit(repo, "exp");
    EXPECT_EQ(complaints("exp"), "") << path;
    branch::delete_branch(*engine, repo, BranchName("exp"), false);
  }
}

TEST_F(Gate, ComparesPathsWithTheResultOfTheMerge) {
  engine.put(repo, "main", "Readme.md", "a");
  engine.commit(repo, "main");
  engine.branch(repo, "renames", "main");
  engine.remove(repo, "renames", "Readme.md");
  engine.put(repo, "renames", "README.md", "b");
  engine.put(repo, "renames", "notes", "b");
  engine.commit(repo, "renames");
  const auto judged = [&] {
    set("require_up_to_date: false");
    const std::string out = complaints("renames");
    remove_gate_policy(*engine, repo, "gate", "ann", {});
    return out;
  };
  EXPECT_EQ(judged(), "") << "the destination loses the other";
  engine.put(repo, "main", "other", "a");
  engine.commit(repo, "main");
  EXPECT_EQ(judged(), "") << "the destination has changes of its own";
  engine.put(repo, "main", "Notes", "a");
  engine.commit(repo, "main");
  EXPECT_EQ(judged(), "paths:path_alias ") << "the candidate's tree lacks it";
}

TEST_F(Gate, JudgesObjectsAndChangesOfTheCandidate) {
  set("objects: {required: [model.pkl, 'config/*.json'], forbid: ['**/*.gpg'], max_total_bytes: "
      "20}");
  EXPECT_EQ(complaints("exp-1"),
            "objects.required[model.pkl]:object_missing "
            "objects.required[config/*.json]:object_missing ");
  engine.put(repo, "exp-1", "model.pkl", "12345");
  engine.put(repo, "exp-1", "config/a.json", "{}");
  engine.commit(repo, "exp-1");
  EXPECT_EQ(complaints("exp-1"), "");
  const auto candidate =
      branch::find_candidate(*engine, branch::get_repository(*engine, repo), "exp-1");
  const auto facts =
      gate_candidates(*engine, branch::get_repository(*engine, repo),
                      policy_of(get_gate_policy(*engine, repo, "gate")),
                      branch::resolve_commit(*engine, repo, "main"), std::span(&candidate, 1));
  EXPECT_EQ(facts[0].objects.model_bytes, 7u);
  EXPECT_EQ(facts[0].objects.total_bytes, 19u);

  engine.put(repo, "exp-1", "sub/secret.gpg", "1234");
  engine.put(repo, "exp-1", "_lakefs_actions/evil.yaml", "name: evil");
  engine.remove(repo, "exp-1", "_lakefs_actions/check.yaml");
  engine.commit(repo, "exp-1");
  EXPECT_EQ(complaints("exp-1"),
            "objects.unchanged:object_changed objects.forbid:object_forbidden "
            "objects.max_total_bytes:too_large ");
  const GateAnswer answer = judge({"exp-1"});
  std::string reasons;
  for (const RuleResult& rule : answer.candidates[0].verdict.rules) reasons += rule.reason + "|";
  EXPECT_NE(reasons.find("_lakefs_actions/check.yaml, _lakefs_actions/evil.yaml"),
            std::string::npos)
      << reasons;
  EXPECT_NE(reasons.find("sub/secret.gpg"), std::string::npos) << reasons;
}

TEST_F(Gate, ChangesOfTheDestinationAreNotTheCandidates) {
  engine.put(repo, "exp-1", "x", "1");
  engine.commit(repo, "exp-1");
  engine.put(repo, "main", "_lakefs_actions/check.yaml", "name: newer");
  engine.put(repo, "main", "old.gpg", "1");
  engine.commit(repo, "main");
  set("objects: {forbid: ['**/*.gpg']}");
  EXPECT_EQ(complaints("exp-1"), "");
  engine.put(repo, "exp-1", "_lakefs_actions/check.yaml", "name: mine");
  engine.commit(repo, "exp-1");
  EXPECT_EQ(complaints("exp-1"), "objects.unchanged:object_changed ") << "a conflict is a change";
}

TEST_F(Gate, PatternsWithOverlappingPrefixesAreAllChecked) {
  set("objects: {unchanged: ['a/**', 'b/**', 'b/c/**'], forbid: ['d/*']}");
  for (const char* key : {"a/1", "b/1", "b/c/1", "c/1", "d/1"}) engine.put(repo, "exp-1", key, "1");
  engine.commit(repo, "exp-1");
  std::string reasons;
  const GateAnswer answer = judge({"exp-1"});
  for (const RuleResult& rule : answer.candidates[0].verdict.rules) reasons += rule.reason + "|";
  EXPECT_EQ(reasons, "would change a/1, b/1, b/c/1|would bring d/1|");
}

TEST_F(Gate, TheAncestorMustBeInTheHistory) {
  set("require_ancestor: dataset-v1");
  EXPECT_EQ(complaints("exp-1"), "");
  remove_gate_policy(*engine, repo, "gate", "owner");
  engine.put(repo, "main", "data/b", "1");
  engine.commit(repo, "main");
  branch::create_tag(*engine, repo, TagName("dataset-v2"), "main", false);
  set("require_ancestor: dataset-v2");
  EXPECT_EQ(complaints("exp-1"), "require_ancestor:ancestor_missing ");
  versioning::merge_into(*engine, repo, "main", BranchName("exp-1"), {});
  EXPECT_EQ(complaints("exp-1"), "");
  const auto absent = [&] { set("require_ancestor: dataset-v9"); };
  EXPECT_EQ(reason_of(absent), "ref_not_found");
  EXPECT_NE(message_of(absent).find("require_ancestor: \"dataset-v9\""), std::string::npos);
}

TEST_F(Gate, WarnsOfMissingAndInactiveWebhooks) {
  set("after: {webhook: [deploy, absent, asleep]}");
  const auto add = [&](const std::string& name, bool active) {
    Webhook webhook;
    webhook.name = name;
    webhook.url = "https://example.com";
    webhook.active = active;
    events::WebhookStore(engine.pool)
        .put(branch::get_repository(*engine, repo).id, webhook, "", /*keep_secret=*/false);
  };
  add("deploy", true);
  add("asleep", false);
  EXPECT_EQ(judge({"exp-1"}).candidates[0].verdict.warnings,
            (std::vector<std::string>{
                "after.webhook: there is no webhook \"absent\", it will not be told",
                "after.webhook: webhook \"asleep\" is inactive, it will not be told"}));
}

TEST_F(Gate, MissingChecksAndApprovalsArePending) {
  set("checks: {required: [bench]}\napprovals: {count: 1}");
  EXPECT_EQ(complaints("exp-1"), "checks.bench:check_missing approvals:approval_required ");
  EXPECT_EQ(judge({"exp-1"}).candidates[0].verdict.outcome, GateOutcome::kPending);
}

TEST_F(Gate, CandidatesAreGlobsAndRefs) {
  set("");
  const auto names = [&](std::vector<std::string> words) {
    std::string out;
    for (const JudgedCandidate& one : judge(std::move(words)).candidates) {
      out += str_cat(one.candidate.ref, "=", one.candidate.branch, " ");
    }
    return out;
  };
  EXPECT_EQ(names({"exp-*", "exp-1"}), "exp-1=exp-1 exp-2=exp-2 ");
  EXPECT_EQ(names({"*"}), "exp-1=exp-1 exp-2=exp-2 ") << "not the destination";
  EXPECT_EQ(names({"dataset-v1"}), "dataset-v1= ");
  EXPECT_EQ(reason_of([&] { judge({"nothing-*"}); }), "candidate_not_found");
  EXPECT_EQ(reason_of([&] { judge({"nothing"}); }), "ref_not_found");
  EXPECT_EQ(reason_of([&] { judge({"exp-1$"}); }), "invalid_argument");
  const Repository repository = branch::get_repository(*engine, repo);
  const std::vector<std::string> words = {"exp-*"};
  EXPECT_EQ(reason_of([&] { branch::find_candidates(*engine, repository, words, 1); }),
            "too_many_candidates");
}

}  // namespace
}  // namespace tarn::promotion
