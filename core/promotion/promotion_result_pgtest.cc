// Attempts to make a champion of something else than what was judged. Each of them succeeded once.
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/branch/aliases.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/runs.h"
#include "core/versioning/merge.h"
#include "tests/support/one_md5.h"

namespace tarn::promotion {
namespace {

const std::string kWithModel =
    std::string(kPolicy) + "objects: {required: [artifacts/model.pkl]}\n";

class PromotionResult : public Promotions {
 protected:
  /// Commits what was put, with an accuracy unless that is "".
  CommitId commit(const std::string& branch, const std::string& accuracy = "") {
    versioning::CommitRequest request;
    request.committer = "dana";
    request.message = "Work";
    if (!accuracy.empty()) request.metadata["metric.accuracy"] = accuracy;
    return versioning::commit_branch(*engine, repo, BranchName(branch), request).id;
  }
  void log_run(const CommitId& commit, double accuracy) {
    runs::record_run(*engine, repo,
                     {.experiment = "e",
                      .commit = commit,
                      .metrics = {{.name = "accuracy", .value = accuracy}},
                      .owner = "dana"});
  }
  std::string champions_model() { return engine.read(repo, "@champion", "artifacts/model.pkl"); }
  Promotion replace(const std::string& candidate, std::vector<std::string> paths) {
    PromotionRequest request = request_of({candidate});
    request.method = PromotionMethod::kReplacePaths;
    request.paths = std::move(paths);
    return promote(request);
  }
};

TEST_F(PromotionResult, OfAMergeHasTheModelThatWasMeasured) {
  engine.put(repo, "main", "artifacts/model.pkl", "base");
  engine.commit(repo, "main");
  apply_policy(kWithModel);
  engine.branch(repo, "exp-config", "main");
  engine.put(repo, "exp-config", "config/config.json", "{}");
  commit("exp-config", "0.97");
  candidate("exp-champ", "0.8");
  ASSERT_EQ(outcome(promote({"exp-champ"})), "promoted");
  const CommitId before = head("main");
  for (const PromotionMethod method : {PromotionMethod::kMerge, PromotionMethod::kSquash}) {
    PromotionRequest request = request_of({"exp-config"});
    request.method = method;
    const Promotion refused = promote(request);
    EXPECT_EQ(outcome(refused), "failed not_what_was_measured");
    EXPECT_NE(refused.message.find("artifacts/model.pkl"), std::string::npos) << refused.message;
  }
  EXPECT_EQ(head("main"), before);
  // Merged and measured again it is what it says.
  versioning::merge_into(*engine, repo, "main", BranchName("exp-config"), {});
  engine.put(repo, "exp-config", "config/config.json", "{\"a\": 1}");
  commit("exp-config", "0.97");
  EXPECT_EQ(outcome(promote({"exp-config"})), "promoted");
}

TEST_F(PromotionResult, IsNoOtherModelWithTheSameMd5) {
  engine.put(repo, "main", "artifacts/model.pkl", testing::kOneMd5);
  engine.commit(repo, "main");
  for (const std::string& policy : {kWithModel, std::string(kPolicy)}) {
    const std::string name = policy == kWithModel ? "with" : "without";
    apply_policy(policy);
    engine.branch(repo, "exp-old-" + name, "main");
    engine.put(repo, "exp-old-" + name, "artifacts/model.pkl", testing::kSameMd5);
    engine.put(repo, "exp-old-" + name, "README.md", "read me, " + name);
    commit("exp-old-" + name, "0.97");
    // The model of the result would be that of the destination, not the one that was measured.
    PromotionRequest request = request_of({"exp-old-" + name});
    request.method = PromotionMethod::kReplacePaths;
    request.paths = {"README.md"};
    EXPECT_EQ(outcome(promote(request)), "failed not_what_was_measured") << name;
    EXPECT_TRUE(engine.read(repo, "main", "artifacts/model.pkl") == testing::kOneMd5);
  }
}

TEST_F(PromotionResult, HasNoAdditionalRequiredObject) {
  apply_policy(std::string(kPolicy) + "objects: {required: [\"artifacts/**\"]}\n");
  candidate("exp-one", "0.8");
  engine.branch(repo, "exp-two", "main");
  engine.put(repo, "exp-two", "artifacts/other.pkl", "other");
  commit("exp-two", "0.9");
  ASSERT_EQ(outcome(promote({"exp-one"})), "promoted");
  EXPECT_EQ(outcome(promote({"exp-two"})), "failed not_what_was_measured");
  EXPECT_EQ(outcome(replace("exp-two", {"artifacts/**"})), "promoted");
}

TEST_F(PromotionResult, OfReplacedPathsHasTheModelThatWasMeasured) {
  for (const std::string& policy : {kWithModel, std::string(kPolicy)}) {
    apply_policy(policy);
    const std::string name = policy == kWithModel ? "with" : "without";
    const CommitId before = head("main");
    engine.branch(repo, "exp-" + name, "main");
    engine.put(repo, "exp-" + name, "README.md", "read me, " + name);
    train("exp-" + name, policy == kWithModel ? "0.9" : "0.99");
    if (before != head("main")) ADD_FAILURE();
    const Promotion refused = replace("exp-" + name, {"README.md"});
    EXPECT_EQ(outcome(refused),
              policy == kWithModel ? "failed object_missing" : "failed not_what_was_measured");
    EXPECT_EQ(head("main"), before);
    EXPECT_EQ(outcome(replace("exp-" + name, {"artifacts/**", "README.md"})), "promoted");
    EXPECT_EQ(champions_model(), "model of exp-" + name + (name == "with" ? "0.9" : "0.99"));
  }
  engine.branch(repo, "exp-last", "main");
  engine.put(repo, "exp-last", "README.md", "last");
  train("exp-last", "0.998");
  apply_policy(kWithModel);
  EXPECT_EQ(outcome(replace("exp-last", {"README.md"})), "failed not_what_was_measured");
}

TEST_F(PromotionResult, OfACandidateWithoutOwnCommitsIsWhatItMeasured) {
  const CommitId old = train("main", "");
  engine.put(repo, "main", "artifacts/model.pkl", "a newer one");
  engine.commit(repo, "main");
  for (const std::string& policy : {kWithModel, std::string(kPolicy)}) {
    apply_policy(policy);
    engine.branch(repo, "exp-nothing", to_text(old));
    log_run(old, 0.999);
    EXPECT_EQ(outcome(promote({"exp-nothing"})), "failed not_what_was_measured");
    EXPECT_EQ(outcome(promote({to_text(old)})), "failed not_what_was_measured");
    branch::delete_branch(*engine, repo, BranchName("exp-nothing"), false);
  }
  const CommitId present = head("main");
  log_run(present, 0.7);
  EXPECT_EQ(outcome(promote({to_text(present)})), "promoted") << "it measured what is there";
}

class MetricFiles : public PromotionResult {
 protected:
  void put_metrics(const std::string& branch, double accuracy) {
    engine.put(repo, branch, "metrics/scores.json",
               "{\"accuracy\": " + std::to_string(accuracy) + "}");
  }
};

TEST_F(MetricFiles, ThatTheCandidateHasNotWrittenDoNotCount) {
  put_metrics("main", 0.9);
  engine.commit(repo, "main");
  apply_policy();
  candidate("exp-1", "");
  const Promotion refused = promote({"exp-1"});
  EXPECT_EQ(outcome(refused), "rejected metric_missing");
  EXPECT_NE(
      refused.message.find("has not changed a byte of metrics/scores.json since it left 'main'"),
      std::string::npos)
      << refused.message;
  put_metrics("exp-1", 0.89);
  engine.commit(repo, "exp-1");
  EXPECT_EQ(outcome(promote({"exp-1"})), "promoted");
}

TEST_F(MetricFiles, OlderThanTheModelDoNotCount) {
  apply_policy(kWithModel);
  engine.branch(repo, "exp-1", "main");
  put_metrics("exp-1", 0.9);
  train("exp-1", "");
  engine.put(repo, "exp-1", "notes.txt", "notes");
  engine.commit(repo, "exp-1");
  engine.put(repo, "exp-1", "artifacts/model.pkl", "another model");
  engine.commit(repo, "exp-1");
  const Promotion refused = promote({"exp-1"});
  EXPECT_EQ(outcome(refused), "rejected metric_missing");
  EXPECT_NE(refused.message.find("artifacts/model.pkl was written after it"), std::string::npos)
      << refused.message;
  put_metrics("exp-1", 0.8);
  engine.commit(repo, "exp-1");
  EXPECT_EQ(outcome(promote({"exp-1"})), "promoted");
}

TEST_F(MetricFiles, StayWhenAnObjectChangesThatTheyDoNotDependOn) {
  const std::string rules =
      "objects: {required: [README.md, 'artifacts/*'], measured: ['artifacts/*']}\n";
  const std::string all = "objects: {required: [README.md, 'artifacts/*']}\n";
  apply_policy(std::string(kPolicy) + all);
  engine.branch(repo, "exp-1", "main");
  engine.put(repo, "exp-1", "README.md", "a modle");
  train("exp-1", "");
  put_metrics("exp-1", 0.9);
  engine.commit(repo, "exp-1");
  engine.put(repo, "exp-1", "README.md", "a model");
  engine.commit(repo, "exp-1");
  const Promotion old = promote({"exp-1"});
  EXPECT_EQ(outcome(old), "rejected metric_missing");
  EXPECT_NE(old.message.find("README.md was written after it"), std::string::npos) << old.message;
  EXPECT_NE(old.message.find("objects.measured"), std::string::npos) << old.message;
  apply_policy(std::string(kPolicy) + rules);
  engine.put(repo, "exp-1", "artifacts/tokens", "more of what is measured");
  engine.commit(repo, "exp-1");
  EXPECT_EQ(outcome(promote({"exp-1"})), "rejected metric_missing") << "part of the model is new";
  put_metrics("exp-1", 0.91);
  engine.commit(repo, "exp-1");
  engine.put(repo, "exp-1", "README.md", "a good model");
  engine.commit(repo, "exp-1");
  EXPECT_EQ(outcome(promote({"exp-1"})), "promoted");
}

TEST_F(MetricFiles, OfAMergeThatBroughtAnotherModelDoNotCount) {
  apply_policy(kWithModel);
  engine.branch(repo, "exp-1", "main");
  put_metrics("exp-1", 0.9);
  engine.commit(repo, "exp-1");
  candidate("other", "");
  versioning::merge_into(*engine, repo, "other", BranchName("exp-1"), {});
  EXPECT_EQ(outcome(promote({"exp-1"})), "rejected metric_missing");
}

TEST_F(MetricFiles, ThatAMergeBroughtCountForTheTreeThatTheyMeasured) {
  for (const std::string& policy : {kWithModel, std::string(kPolicy)}) {
    apply_policy(policy);
    const std::string n = policy == kWithModel ? "1" : "2";
    engine.branch(repo, "lucky-" + n, "main");
    put_metrics("lucky-" + n, n == "1" ? 0.97 : 0.96);
    engine.put(repo, "lucky-" + n, "artifacts/model.pkl", "the lucky one " + n);
    engine.commit(repo, "lucky-" + n);
    engine.branch(repo, "numbers-" + n, "main");
    put_metrics("numbers-" + n, 0.98);
    engine.commit(repo, "numbers-" + n);
    candidate("exp-" + n, "");
    versioning::merge_into(*engine, repo, "numbers-" + n, BranchName("exp-" + n), {});
    const Promotion refused = promote({"exp-" + n});
    EXPECT_EQ(outcome(refused), "rejected metric_missing");
    EXPECT_NE(refused.message.find("measured another tree"), std::string::npos) << refused.message;
    // Merged together with its model a file says what it said.
    engine.branch(repo, "team-" + n, "main");
    versioning::merge_into(*engine, repo, "lucky-" + n, BranchName("team-" + n), {});
    EXPECT_EQ(outcome(promote({"team-" + n})), n == "1" ? "promoted" : "rejected gate_failed")
        << "the second is no better than the champion";
  }
}

TEST_F(PromotionResult, IsNotMeasuredByTheMetadataOfAMerge) {
  apply_policy();
  candidate("other", "0.5");
  engine.branch(repo, "exp-1", "main");
  versioning::MergeRequest request;
  request.committer = "dana";
  request.metadata = {{"metric.accuracy", "0.99"}};
  versioning::merge_into(*engine, repo, "other", BranchName("exp-1"), request);
  EXPECT_EQ(outcome(promote({"exp-1"})), "rejected metric_missing");
}

TEST_F(PromotionResult, TheModelCardIsThatOfTheWinner) {
  engine.put(repo, "main", "CARD.md", "---\nuse: digits\n---\n");
  engine.commit(repo, "main");
  apply_policy(std::string(kPolicy) + "card: {path: CARD.md, required: [use, limits]}\n");
  candidate("poor", "0.8");
  const Promotion refused = promote({"poor"});
  EXPECT_EQ(outcome(refused), "rejected gate_failed");
  EXPECT_NE(refused.evidence.find("card_field_missing"), std::string::npos);
  engine.branch(repo, "rich", "main");
  engine.put(repo, "rich", "CARD.md", "---\nuse: digits\nlimits: [adults]\n---\n");
  commit("rich", "0.8");
  EXPECT_EQ(outcome(promote({"rich"})), "promoted");
  // The destination's card is a newer one than this candidate's.
  engine.branch(repo, "old", "rich");
  remove_gate_policy(*engine, repo, "digits", "owner", {});
  engine.put(repo, "main", "CARD.md", "---\nuse: digits\nlimits: []\n---\n");
  engine.commit(repo, "main");
  apply_policy(std::string(kPolicy) + "card: {path: CARD.md, required: [use, limits]}\n");
  engine.put(repo, "old", "artifacts/model.pkl", "new");
  commit("old", "0.9");
  EXPECT_EQ(outcome(promote({"old"})), "failed not_what_was_measured");
  engine.branch(repo, "none", "main");
  engine.remove(repo, "none", "CARD.md");
  commit("none", "0.9");
  EXPECT_NE(promote({"none"}).evidence.find("card_missing"), std::string::npos);
}

TEST_F(PromotionResult, MeetsTheLimitsOfThePolicy) {
  apply_policy(kWithModel + "method: [merge]\n");
  candidate("exp-1", "0.8");
  EXPECT_EQ(outcome(replace("exp-1", {"artifacts/**"})), "failed method_refused");
  apply_policy(std::string(kPolicy) + "objects: {max_total_bytes: 30}\n");
  engine.branch(repo, "exp-big", "main");
  engine.put(repo, "exp-big", "b", std::string(20, 'b'));
  commit("exp-big", "0.9");
  EXPECT_EQ(outcome(promote({"exp-1"})), "promoted");
  EXPECT_EQ(outcome(promote({"exp-big"})), "failed too_large") << "with what main has by now";
  apply_policy(std::string(kPolicy) + "paths: [\"artifacts/**\"]\n");
  EXPECT_EQ(outcome(replace("exp-big", {"b"})), "failed paths_refused");
  apply_policy(std::string(kPolicy) + "objects: {keep: [\"data/**\"]}\n");
  engine.branch(repo, "exp-keep", "main");
  engine.put(repo, "exp-keep", "notes", "notes");
  objects::delete_object(*engine, repo, BranchName("exp-keep"), Key("data/a"), false);
  commit("exp-keep", "0.95");
  EXPECT_EQ(outcome(replace("exp-keep", {"**"})), "rejected gate_failed");
  EXPECT_EQ(outcome(promote({"exp-keep"})), "rejected gate_failed");
  apply_policy(std::string(kPolicy) + "objects: {required: [empty], min_bytes: 1}\n");
  engine.branch(repo, "exp-empty", "main");
  engine.put(repo, "exp-empty", "empty", "");
  commit("exp-empty", "0.97");
  EXPECT_EQ(outcome(promote({"exp-empty"})), "rejected gate_failed");
}

TEST_F(PromotionResult, ForbiddenPathsAreFoundInAnotherSpelling) {
  apply_policy(std::string(kPolicy) + "objects: {forbid: [\"secret/**\", \"**/*.gpg\"]}\n");
  for (const std::string path :
       {"./secret/x", "/secret/x", "a/../secret/x", "d/x.GPG", "Secret/x"}) {
    engine.branch(repo, "exp-1", "main");
    engine.put(repo, "exp-1", path, "x");
    commit("exp-1", "0.8");
    EXPECT_EQ(outcome(promote({"exp-1"})), "rejected gate_failed") << path;
    branch::delete_branch(*engine, repo, BranchName("exp-1"), false);
  }
}

TEST_F(PromotionResult, IsInTheEvidenceThatTheAliasLogKnows) {
  apply_policy(kWithModel);
  candidate("exp-1", "0.8");
  const Promotion done = replace("exp-1", {"artifacts/**"});
  ASSERT_EQ(outcome(done), "promoted") << done.message;
  for (const std::string& part :
       {std::string("\"actor\":\"ci\""), std::string("\"method\":\"replace-paths\""),
        std::string("\"paths\":[\"artifacts/**\"]"), "\"result\":\"" + to_text(head("main")) + "\"",
        std::string("\"objects\":[{\"path\":\"artifacts/model.pkl\",\"size_bytes\":17,"
                    "\"checksum\":\"")}) {
    EXPECT_NE(done.evidence.find(part), std::string::npos) << part << " in " << done.evidence;
  }
  EXPECT_EQ(get_promotion_record(*engine, repo, done).logged_digest, sha256(done.evidence));
}

}  // namespace
}  // namespace tarn::promotion
