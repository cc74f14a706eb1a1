// Tests of promotions while they run.
#include <chrono>
#include <functional>
#include <thread>

#include "core/base/str_cat.h"
#include "core/branch/alias_store.h"
#include "core/branch/aliases.h"
#include "core/branch/hooks.h"
#include "core/meta/commits.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/runs.h"

namespace tarn::promotion {
namespace {

using testing::reason_of;

TEST_F(Promotions, IdenticalResultStillBecomesTheChampion) {
  apply_policy();
  candidate("exp-1", "0.7");
  ASSERT_EQ(outcome(promote({"exp-1"})), "promoted");
  const auto tree = [&](const CommitId& id) {
    return (*engine).commits.get(branch::get_repository(*engine, repo).id, id).root.hash;
  };
  double accuracy = 0.7;
  for (const PromotionMethod method :
       {PromotionMethod::kMerge, PromotionMethod::kSquash, PromotionMethod::kReplacePaths}) {
    const CommitId before = head("main");
    ASSERT_EQ(branch::get_alias(*engine, repo, AliasName("champion")).commit, before);
    accuracy += 0.05;
    const std::string name = "again-" + std::string(name_of(method));
    engine.branch(repo, name, "main");
    versioning::CommitRequest trained;
    trained.committer = "dana";
    trained.message = "Train again, the same bytes";
    trained.metadata["metric.accuracy"] = std::to_string(accuracy);
    trained.allow_empty = true;
    const CommitId best = versioning::commit_branch(*engine, repo, BranchName(name), trained).id;
    PromotionRequest request = request_of({name});
    request.method = method;
    if (method == PromotionMethod::kReplacePaths) request.paths = {"artifacts/**"};
    const Promotion done = promote(request);
    ASSERT_EQ(outcome(done), "promoted") << name << ": " << done.message;
    EXPECT_EQ(done.winner, best);
    EXPECT_EQ(head("main"), done.result);
    EXPECT_NE(done.result, before);
    EXPECT_EQ(tree(*done.result), tree(before));
    EXPECT_EQ(branch::get_alias(*engine, repo, AliasName("champion")).commit, done.result);
  }
}

TEST_F(Promotions, CommitOfTheDestinationBecomesTheChampionOnce) {
  const CommitId earlier = train("main", "0.8");
  const CommitId latest = train("main", "0.9");
  apply_policy(R"(
name: digits
destination: main
alias: champion
metrics: [{name: accuracy, goal: max, min: 0.6, primary: true}]
)");
  const Promotion done = promote({to_text(latest)});
  ASSERT_EQ(outcome(done), "promoted") << done.message;
  EXPECT_EQ(done.winner, latest);
  EXPECT_EQ(branch::get_alias(*engine, repo, AliasName("champion")).commit, head("main"));
  EXPECT_EQ(branch::resolve_commit(*engine, repo, "main").parents, std::vector<CommitId>{latest});

  const CommitId champion = head("main");
  for (const CommitId& old : {latest, earlier}) {
    for (const PromotionMethod method : {PromotionMethod::kMerge, PromotionMethod::kSquash}) {
      PromotionRequest request = request_of({to_text(old)});
      request.method = method;
      const Promotion again = promote(request);
      EXPECT_EQ(outcome(again), "failed no_changes");
      EXPECT_NE(again.message.find("@champion"), std::string::npos) << again.message;
    }
  }
  EXPECT_EQ(head("main"), champion);
  EXPECT_EQ(branch::get_alias(*engine, repo, AliasName("champion")).commit, champion);
}

TEST_F(Promotions, ATagWhoseNameIsTakenGetsASuffix) {
  apply_policy(std::string(kPolicy) + "after: {tag: \"best\"}\n");
  candidate("exp-1", "0.8");
  engine.branch(repo, "best", "main");
  const Promotion first = promote({"exp-1"});
  EXPECT_EQ(outcome(first), "promoted") << first.message;
  EXPECT_EQ(first.tag, "best-2") << "a branch is called best";
  EXPECT_EQ(branch::get_tag(*engine, repo, TagName("best-2")).commit, head("main"));
  candidate("exp-2", "0.9", "exp-1");
  EXPECT_EQ(promote({"exp-2"}).tag, "best-3");
  EXPECT_EQ(branch::get_tag(*engine, repo, TagName("best-3")).commit, head("main"));
  EXPECT_EQ(branch::get_tag(*engine, repo, TagName("best-2")).commit, *first.result);
}

TEST_F(Promotions, KeyFindsThePromotionAfterItsRefsMoved) {
  apply_policy();
  candidate("exp-0", "0.7");
  ASSERT_EQ(outcome(promote({"exp-0"})), "promoted");
  candidate("exp-1", "0.8", "exp-0");
  const CommitId before = head("main");
  PromotionRequest request = request_of({"exp-1"});
  request.expect_alias_ref = "@champion";
  request.expect_destination_ref = "main";
  const std::string id = create(request, "run-7");
  const Promotion made = get_promotion(*engine, repo, id);
  EXPECT_EQ(made.request.expect_alias, std::optional<std::optional<CommitId>>(before));
  EXPECT_EQ(made.request.expect_destination, before);
  work();
  ASSERT_EQ(outcome(get_promotion(*engine, repo, id)), "promoted");
  EXPECT_EQ(create(request, "run-7"), id) << "the alias and main have moved";
  PromotionRequest other = request;
  other.expect_alias_ref = "exp-0";
  EXPECT_EQ(reason_of([&] { create(other, "run-7"); }), "idempotency_key_reused");
  other.expect_alias_ref.clear();
  EXPECT_EQ(reason_of([&] { create(other, "run-7"); }), "idempotency_key_reused");
  // Not even the policy needs to be there any more.
  remove_gate_policy(*engine, repo, "digits", "owner");
  EXPECT_EQ(create(request, "run-7"), id);

  apply_policy();
  candidate("exp-2", "0.9", "exp-1");
  candidate("exp-3", "0.95", "exp-2");
  request.candidates = {"exp-2"};
  const std::string first = create(request);
  request.candidates = {"exp-3"};
  const std::string second = create(request);
  work();
  EXPECT_EQ(outcome(get_promotion(*engine, repo, first)), "promoted");
  EXPECT_EQ(outcome(get_promotion(*engine, repo, second)), "failed destination_moved");
  request.expect_alias_ref = "@nobody";
  EXPECT_EQ(reason_of([&] { create(request); }), "ref_not_found");
}

TEST_F(Promotions, ChampionHasOnlyItsOwnCheckMetrics) {
  apply_policy(R"(
name: digits
destination: main
alias: champion
metrics:
  - {name: accuracy, goal: max, min: 0.6, primary: true}
  - {name: latency, goal: min, from: "check:bench", vs_champion: {min_delta: 0}}
checks: {required: [bench], timeout: 2h}
)");
  const auto report = [&](const std::string& id, const CommitId& of, double latency) {
    report_check(*engine, repo, id,
                 {.name = "bench",
                  .commit = of,
                  .status = CheckStatus::kSuccess,
                  .metrics = {{"latency", latency}}});
    work();
    return outcome(get_promotion(*engine, repo, id));
  };
  const CommitId first = candidate("exp-1", "0.8");
  const std::string one = promote({"exp-1"}).id;
  EXPECT_EQ(report(one, head("main"), 1), "gates_running check_pending");
  ASSERT_EQ(report(one, first, 100), "promoted");
  engine.branch(repo, "exp-2", "main");
  const CommitId second = train("exp-2", "0.9");
  const std::string two = promote({"exp-2"}).id;
  EXPECT_EQ(report(two, first, 1), "gates_running check_pending");
  ASSERT_EQ(report(two, second, 90), "promoted") << "it is better than 100";
  engine.branch(repo, "exp-3", "main");
  const CommitId third = train("exp-3", "0.95");
  EXPECT_EQ(report(promote({"exp-3"}).id, third, 95), "rejected gate_failed") << "90 was better";
}

/// Does something when the tree is built, before anything is published.
class Meanwhile final : public branch::Hooks {
 public:
  bool wanted(const Repository&, const branch::HookContext& context,
              const branch::ActionFiles&) override {
    return context.event == HookEvent::kPreMerge;
  }
  std::string run(const Repository&, const branch::HookContext&, const branch::ActionFiles&,
                  const std::function<void()>&) override {
    ++runs;
    if (auto body = std::exchange(once, nullptr)) body();
    return "run";
  }
  HookRun run_by_hand(const Repository&, const branch::HookContext&, const branch::ActionFiles&,
                      const std::string&) override {
    return {};
  }
  std::vector<branch::PlannedHook> plan(const Repository&, const branch::HookContext&,
                                        const branch::ActionFiles&) override {
    return {};
  }
  void queue(db::Connection&, const Repository&, const branch::HookContext&,
             const branch::ActionFiles&) override {}
  void set_commit(db::Connection&, RepositoryId, const std::string&, const CommitId&) override {}
  bool run_queued(std::stop_token) override { return false; }
  bool sweep() override { return false; }

  std::function<void()> once;
  int runs = 0;
};

class HeldPromotions : public Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    engine.put(repo, "main", "_lakefs_actions/a.yaml", "the fixture runs them");
    engine.commit(repo, "main");
    (*engine).hooks = &meanwhile;
  }
  ~HeldPromotions() override { (*engine).hooks = nullptr; }

  void set(const char* name, const char* statement) {
    EXPECT_EQ(engine.pool.run({name, statement}, {}, db::Pool::Retry::kWrite).affected(), 1u);
  }
  int64_t lease_until() {
    return engine.pool
        .run({"test_lease_until",
              "SELECT (extract(epoch FROM lease_until) * 1000)::bigint FROM promotions"},
             {}, db::Pool::Retry::kRead)
        .integer(0, 0);
  }
  void expect_nothing_moved(const CommitId& before) {
    EXPECT_EQ(head("main"), before);
    EXPECT_EQ(reason_of([&] { branch::get_alias(*engine, repo, AliasName("champion")); }),
              "alias_not_found");
  }

  Meanwhile meanwhile;
};

TEST_F(HeldPromotions, ChangingHookFilesNeedsThePromotersRight) {
  apply_policy(std::string(kPolicy) + "objects: {unchanged: []}\n");
  engine.branch(repo, "exp-1", "main");
  engine.put(repo, "exp-1", "_lakefs_actions/b.yaml", "brought along");
  train("exp-1", "0.8");
  const CommitId before = head("main");
  (*engine).rights = [](const branch::RightsQuestion& question) {
    return question.right != branch::Right::kWriteHooks || question.user == "admin";
  };
  const Promotion refused = promote({"exp-1"});
  EXPECT_EQ(outcome(refused), "failed hooks_forbidden");
  EXPECT_NE(refused.message.find("_lakefs_actions/b.yaml"), std::string::npos) << refused.message;
  expect_nothing_moved(before);
  (*engine).rights = [](const branch::RightsQuestion& question) {
    return question.right != branch::Right::kWriteHooks || question.user == "ci";
  };
  EXPECT_EQ(outcome(promote({"exp-1"})), "promoted");
}

TEST_F(HeldPromotions, AreComparedAgainWhenTheAliasMovesMeanwhile) {
  apply_policy(
      "name: digits\ndestination: main\nmetrics: [{name: accuracy, goal: max, min: 0.6, "
      "primary: true}]\n");
  const CommitId first = candidate("exp-1", "0.8");
  const CommitId second = candidate("exp-2", "0.9");
  const auto move = [&](const std::string& to) {
    branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "ann"}, to);
  };
  move("exp-1");
  meanwhile.once = [&] { move("exp-2"); };
  PromotionRequest request = request_of({"exp-1"});
  request.alias = "champion";
  const Promotion done = promote(request);
  ASSERT_EQ(outcome(done), "promoted") << done.message;
  EXPECT_EQ(done.champion, second) << "it was judged against the one that it replaced";
  EXPECT_EQ(done.rounds, 1);
  EXPECT_EQ(meanwhile.runs, 2);
  const auto history =
      branch::list_alias_changes(*engine, repo, AliasName("champion"), "", 10).items;
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].from, second);
  EXPECT_EQ(history[1].from, first);

  // With an expectation it is not compared again.
  meanwhile.once = [&] { move("exp-1"); };
  const CommitId before = head("main");
  candidate("exp-3", "0.95", "exp-1");
  request.candidates = {"exp-3"};
  request.expect_alias = std::optional<CommitId>(before);
  EXPECT_EQ(outcome(promote(request)), "failed destination_moved");
  EXPECT_EQ(head("main"), before);
}

TEST_F(HeldPromotions, RunRecordedMeanwhileIsJudged) {
  apply_policy(
      "name: digits\ndestination: main\nalias: champion\nmetrics: [{name: accuracy, goal: max, "
      "min: 0.6, trust: [api], primary: true}]\n");
  const CommitId commit = candidate("exp-1", "");
  const auto log_run = [&](double accuracy) {
    runs::record_run(*engine, repo,
                     {.experiment = "e",
                      .commit = commit,
                      .metrics = {{.name = "accuracy", .value = accuracy}},
                      .owner = "dana"});
  };
  log_run(0.9);
  const CommitId before = head("main");
  meanwhile.once = [&] { log_run(0.1); };
  EXPECT_EQ(outcome(promote({"exp-1"})), "rejected gate_failed");
  expect_nothing_moved(before);
}

TEST_F(HeldPromotions, RightsThatAreTakenMeanwhileCountNoMore) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ('olga', 0)"}, {},
                  db::Pool::Retry::kWrite);
  candidate("exp-1", "0.8");
  const CommitId before = head("main");
  branch::Right taken = branch::Right::kCreateRun;
  (*engine).rights = [&](const branch::RightsQuestion& question) {
    return question.right != taken;
  };
  const auto after_losing = [&](branch::Right right) {
    taken = branch::Right::kCreateRun;
    const std::string id = create(request_of({"exp-1"}));
    work();
    meanwhile.once = [&] { taken = right; };
    approve_shown(id, "olga");
    work();
    return outcome(get_promotion(*engine, repo, id));
  };
  EXPECT_EQ(after_losing(branch::Right::kApprovePromotion), kWaiting);
  EXPECT_EQ(after_losing(branch::Right::kPromote), "failed promoter_lost_right");
  expect_nothing_moved(before);
  (*engine).rights = nullptr;
}

TEST_F(HeldPromotions, FreezeThatBeginsMeanwhileHolds) {
  const Instant begin = (*engine).clock.now() + std::chrono::seconds{4};
  apply_policy(str_cat(kPolicy, "freeze: [{from: '", to_rfc3339(begin), "', to: '",
                       to_rfc3339(begin + std::chrono::hours{1}), "'}]\n"));
  candidate("exp-1", "0.8");
  const CommitId before = head("main");
  meanwhile.once = [&] {
    while ((*engine).clock.now() < begin)
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
  };
  EXPECT_EQ(outcome(promote({"exp-1"})), "awaiting_approval frozen");
  EXPECT_EQ(meanwhile.runs, 1);
  expect_nothing_moved(before);
}

TEST_F(HeldPromotions, TakenOverPromotionMovesNothing) {
  apply_policy();
  candidate("exp-1", "0.8");
  const CommitId before = head("main");
  meanwhile.once = [&] {
    set("test_take_over",
        "UPDATE promotions SET lease_owner = 1000000, lease_until = clock_timestamp() + interval "
        "'1 "
        "hour'");
  };
  const std::string id = create(request_of({"exp-1"}));
  work();
  EXPECT_EQ(meanwhile.runs, 1);
  expect_nothing_moved(before);
  EXPECT_EQ(outcome(get_promotion(*engine, repo, id)), "merging");
  // The one that took it has died.
  set("test_end_lease", "UPDATE promotions SET lease_until = clock_timestamp()");
  work();
  EXPECT_EQ(outcome(get_promotion(*engine, repo, id)), "promoted");
  EXPECT_EQ(branch::list_alias_changes(*engine, repo, AliasName("champion"), "", 10).items.size(),
            1u);
}

TEST_F(HeldPromotions, CancelledPromotionMovesNothing) {
  apply_policy();
  candidate("exp-1", "0.8");
  const CommitId before = head("main");
  const std::string id = create(request_of({"exp-1"}));
  meanwhile.once = [&] {
    end_promotion(*engine, repo, id, PromotionState::kCancelled, "olga", "no");
  };
  work();
  EXPECT_EQ(meanwhile.runs, 1);
  expect_nothing_moved(before);
  EXPECT_EQ(outcome(get_promotion(*engine, repo, id)).substr(0, 9), "cancelled");
}

TEST_F(HeldPromotions, KeepTheirLeaseWhileTheyWork) {
  apply_policy();
  candidate("exp-1", "0.8");
  int64_t from = 0;
  int64_t to = 0;
  meanwhile.once = [&] {
    from = lease_until();
    const auto deadline = std::chrono::steady_clock::now() + promotion_lease();
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      to = lease_until();
    } while (to == from && std::chrono::steady_clock::now() < deadline);
  };
  EXPECT_EQ(outcome(promote({"exp-1"})), "promoted");
  EXPECT_GT(to, from);
}

// A worker that lost the lease finds out by writing.
TEST_F(Promotions, OnlyTheLeaseHolderAdvancesThem) {
  apply_policy();
  candidate("exp-1", "0.8");
  const std::string id = create(request_of({"exp-1"}));
  PromotionStore rows((*engine).pool, (*engine).clock);
  auto late = rows.take(1, std::chrono::milliseconds(1));
  ASSERT_TRUE(late);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto next = rows.take(2, promotion_lease());
  ASSERT_TRUE(next);
  EXPECT_FALSE(rows.take(3, promotion_lease())) << "it is held";
  late->promotion.state = PromotionState::kFailed;
  EXPECT_FALSE(rows.renew(late->repository, id, 1, promotion_lease()));
  EXPECT_FALSE(rows.store(late->repository, late->promotion, 1));
  EXPECT_FALSE(rows.wait(*late, 1, promotion_lease()));
  EXPECT_FALSE(rows.finish(late->repository, late->promotion, 1));
  EXPECT_EQ(outcome(get_promotion(*engine, repo, id)), "draft");
  EXPECT_TRUE(rows.renew(next->repository, id, 2, promotion_lease()));
}

}  // namespace
}  // namespace tarn::promotion
