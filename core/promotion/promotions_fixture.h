// Fixture for tests of promotions: a repository with a policy, candidates, and promotions brought
// to their end.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/promotion/gate_policies.h"
#include "core/promotion/promotion_run.h"
#include "core/promotion/promotions.h"
#include "core/promotion/review.h"
#include "core/promotion/rollback.h"
#include "tests/support/repository_test.h"

namespace tarn::promotion {

inline constexpr std::string_view kPolicy = R"(
name: digits
destination: main
alias: champion
metrics:
  - {name: accuracy, goal: max, min: 0.6, max: 1.0, vs_champion: {min_delta: 0.005}, primary: true}
tie_break: [created_at]
)";

/// The outcome of a promotion that waits for people.
inline constexpr const char* kWaiting = "awaiting_approval approval_required";

/// A separate database for each test, because any engine of a database takes its promotions.
class Promotions : public ::testing::Test {
 protected:
  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");

  void SetUp() override {
    engine.put(repo, "main", "data/a", "1");
    engine.commit(repo, "main");
  }

  /// Every commit that a document of a promotion names is a root of garbage collection.
  void TearDown() override {
    const db::Rows missing = engine.pool.run({"test_select_commits_without_root", R"sql(
      SELECT DISTINCT p.promotion_id || ' names ' || m[1]
      FROM promotions p, regexp_matches(request || ' ' || candidates || ' ' || evidence, '[0-9a-f]{64}', 'g') AS m
      JOIN commits c ON c.commit_id = decode(m[1], 'hex')
      WHERE c.repo_id = p.repo_id
        AND NOT coalesce(c.commit_id = ANY (p.commits || ARRAY[p.winner, p.champion, p.result]), false))sql"},
                                             {}, db::Pool::Retry::kRead);
    for (size_t row = 0; row < missing.size(); ++row) ADD_FAILURE() << missing.text(row, 0);
  }

  void apply_policy(std::string document = std::string(kPolicy)) {
    set_gate_policy(*engine, repo, "digits", {.document = std::move(document), .author = "owner"});
  }

  /// Deletes the user, if there is one, and creates another one of the name.
  void recreate_user(const std::string& name) {
    engine.pool.run({"test_delete_user", "DELETE FROM users WHERE name = $1"}, {name},
                    db::Pool::Retry::kWrite);
    engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ($1, 0)"}, {name},
                    db::Pool::Retry::kWrite);
  }

  /// A branch with a model and its accuracy in the commit's metadata.
  CommitId candidate(const std::string& name, const std::string& accuracy,
                     const std::string& from = "main") {
    engine.branch(repo, name, from);
    return train(name, accuracy);
  }
  CommitId train(const std::string& name, const std::string& accuracy) {
    engine.put(repo, name, "artifacts/model.pkl", "model of " + name + accuracy);
    versioning::CommitRequest request;
    request.committer = "dana";
    request.message = "Train";
    if (!accuracy.empty()) request.metadata["metric.accuracy"] = accuracy;
    return versioning::commit_branch(*engine, repo, BranchName(name), request).id;
  }

  PromotionRequest request_of(std::vector<std::string> candidates) {
    PromotionRequest request;
    request.candidates = std::move(candidates);
    request.destination = BranchName("main");
    return request;
  }
  std::string create(const PromotionRequest& request, const std::string& key = "") {
    return create_promotion(*engine, repo,
                            {.request = request, .actor = "ci", .idempotency_key = key})
        .promotion.id;
  }
  void work() {
    while (run_one_promotion(*engine, {})) {
    }
  }
  Promotion promote(const PromotionRequest& request) {
    const std::string id = create(request);
    work();
    return get_promotion(*engine, repo, id);
  }
  Promotion promote(std::vector<std::string> candidates) {
    return promote(request_of(std::move(candidates)));
  }

  /// Approves what the promotion shows now.
  void approve_shown(const std::string& id, const std::string& user,
                     const std::string& reason = "") {
    const Promotion shown = get_promotion(*engine, repo, id);
    approve_promotion(*engine, repo, id, {user}, reason, review_digest(shown.review));
  }

  CommitId head(const std::string& branch) {
    return branch::get_branch(*engine, repo, BranchName(branch)).head;
  }
  std::string outcome(const Promotion& p) {
    return std::string(name_of(p.state)) + (p.code.empty() ? "" : " " + p.code);
  }
};

}  // namespace tarn::promotion
