// Promotions that race to one destination, on two servers of one database.
#include <map>
#include <thread>

#include <gmock/gmock.h>

#include "core/branch/aliases.h"
#include "core/promotion/judgement.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/promotions_fixture.h"
#include "tests/support/fault_points.h"

namespace tarn::promotion {
namespace {

using ::testing::ElementsAre;
using testing::message_of;
using ::testing::Pair;
using testing::TestEngine;

/// Two servers with two workers each run what waits to its end.
void run_on_two_servers(TestEngine& one, TestEngine& other) {
  std::vector<std::jthread> workers;
  for (TestEngine* server : {&one, &other}) {
    for (int i = 0; i < 2; ++i) {
      workers.emplace_back([server] {
        while (run_one_promotion(**server, {})) {
        }
      });
    }
  }
}

TEST_F(Promotions, OneOfManyConcurrentPromotionsWithAnExpectationWins) {
  constexpr int kRacers = 64;
  apply_policy();
  std::vector<std::string> ids;
  for (int i = 0; i < kRacers; ++i) {
    const std::string name = "exp-" + std::to_string(i);
    candidate(name, "0." + std::to_string(70 + i % 20));
    PromotionRequest request = request_of({name});
    request.expect_alias = std::optional<CommitId>();
    ids.push_back(create(request));
  }
  TestEngine other(database.url(), engine.store);
  run_on_two_servers(engine, other);
  std::map<std::string, int> ended;
  for (const std::string& id : ids) ++ended[outcome(get_promotion(*engine, repo, id))];
  EXPECT_THAT(ended,
              ElementsAre(Pair("failed destination_moved", kRacers - 1), Pair("promoted", 1)));
  EXPECT_EQ(branch::list_alias_changes(*engine, repo, AliasName("champion"), "", 100).items.size(),
            1u);
}

// Without an expectation losers are compared with the new champion: they win if they beat it.
TEST_F(Promotions, RacersWithoutExpectationFormAChain) {
  constexpr int kRacers = 24;
  apply_policy();
  for (int i = 0; i < kRacers; ++i) {
    const std::string name = "exp-" + std::to_string(i);
    engine.branch(repo, name, "main");
    engine.put(repo, name, "models/" + name, name);
    versioning::CommitRequest request;
    request.committer = "dana";
    request.message = "Train";
    request.metadata["metric.accuracy"] = "0." + std::to_string(700 + i * 10);
    versioning::commit_branch(*engine, repo, BranchName(name), request);
    create(request_of({name}));
  }
  TestEngine other(database.url(), engine.store);
  run_on_two_servers(engine, other);
  const auto history =
      branch::list_alias_changes(*engine, repo, AliasName("champion"), "", 100).items;
  ASSERT_FALSE(history.empty());
  for (size_t i = 0; i + 1 < history.size(); ++i) {
    EXPECT_EQ(history[i].from, history[i + 1].to);
    EXPECT_EQ(history[i].version, history[i + 1].version + 1);
  }
  EXPECT_EQ(history.back().from, std::nullopt);
  const Promotion last = get_promotion(*engine, repo, *history.front().promotion);
  EXPECT_EQ(last.winner_ref, "exp-23");
  EXPECT_EQ(list_promotions(*engine, repo, {.open_only = true}, {}).items.size(), 0u);
}

// Setting a policy and promoting lock the same rows: neither ends in a deadlock, and no
// policy is passed by.
TEST_F(Promotions, ConcurrentPolicyChangesDoNotDeadlock) {
  constexpr int kCandidates = 24;
  const auto policy_with = [](int least) {
    return "name: digits\ndestination: main\nalias: champion\nmetrics:\n  - {name: accuracy, goal: "
           "max, min: 0." +
           std::to_string(least) + ", primary: true}\n";
  };
  apply_policy(policy_with(1000));
  std::vector<std::string> ids;
  for (int i = 0; i < kCandidates; ++i) {
    const std::string name = "exp-" + std::to_string(i);
    candidate(name, "0." + std::to_string(700 + i));
    PromotionRequest request = request_of({name});
    request.method = PromotionMethod::kReplacePaths;
    request.paths = {"artifacts/**"};
    request.policy = "digits";
    ids.push_back(create(request));
  }
  TestEngine other(database.url(), engine.store);
  std::vector<std::string> problems;
  std::jthread setter([&](std::stop_token stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      const std::string problem = message_of([&] {
        const bool removes = i % 3 == 2;
        if (removes) remove_gate_policy(*other, repo, "digits", "owner", {});
        set_gate_policy(*other, repo, "digits",
                        {.document = policy_with(1000 + i), .author = "owner"});
      });
      if (problem != "done") problems.push_back(problem);
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
  });
  std::vector<std::jthread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      // A policy that is set wakes all promotions, and holds their rows meanwhile: nothing is due
      // then, though not all have ended.
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
      while (run_one_promotion(*engine, {}) ||
             (!list_promotions(*engine, repo, {.open_only = true}, {}).items.empty() &&
              std::chrono::steady_clock::now() < deadline)) {
      }
    });
  }
  workers.clear();
  setter = {};
  EXPECT_EQ(problems, std::vector<std::string>());
  for (const std::string& id : ids) {
    const std::string how = outcome(get_promotion(*engine, repo, id));
    EXPECT_TRUE(how == "promoted" || how == "failed policy_not_found") << how;
  }
}

constexpr std::string_view kCheckedPolicy = R"(
name: digits
destination: main
alias: champion
metrics:
  - {name: accuracy, goal: max, min: 0.6, max: 1.0, primary: true}
checks: {required: [bench]}
)";

PromotionCheck bench_of(const CommitId& commit, CheckStatus status) {
  PromotionCheck check;
  check.name = "bench";
  check.commit = commit;
  check.status = status;
  check.reporter = "bench";
  return check;
}

// The check failed, for this very commit, before the promotion was recorded.
TEST_F(Promotions, OneActorDoesNotTakeEveryWorker) {
  apply_policy(std::string(kCheckedPolicy));
  for (const char* name : {"exp-1", "exp-2", "exp-3"}) {
    candidate(name, "0.8");
    create(request_of({name}));
  }
  candidate("exp-4", "0.8");
  create_promotion(*engine, repo,
                   {.request = request_of({"exp-4"}), .actor = "bob", .idempotency_key = ""});
  PromotionStore rows(engine.pool, engine.clock);
  const auto actor_of_next = [&](const std::vector<std::string>& actors_not = {}) {
    static int64_t owner = 0;
    const auto leased = rows.take(++owner, promotion_lease(), actors_not);
    return leased ? leased->promotion.actor : "";
  };
  EXPECT_EQ(actor_of_next(), "ci");
  EXPECT_EQ(actor_of_next(), "bob") << "the newest, but none of his is leased";
  EXPECT_EQ(actor_of_next({"ci"}), "");
  EXPECT_EQ(actor_of_next(), "ci");
}

TEST_F(Promotions, AFailureReportedBeforePublicationStopsIt) {
  testing::FaultPoints faults;
  TestEngine server(database.url(), engine.store, &faults);
  apply_policy(std::string(kCheckedPolicy));
  const CommitId commit = candidate("exp-1", "0.8");
  const std::string id = create(request_of({"exp-1"}));
  const auto report = [&](CheckStatus status) {
    report_check(*engine, repo, id, bench_of(commit, status));
  };
  while (run_one_promotion(*server, {})) {
  }
  report(CheckStatus::kSuccess);
  const CommitId before = head("main");
  faults.at_then_go_on({"branches_publish_commit", false}, [&] { report(CheckStatus::kFailure); });
  while (run_one_promotion(*server, {})) {
  }
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(outcome(get_promotion(*engine, repo, id)), "rejected gate_failed");
  EXPECT_EQ(head("main"), before);
}

// The check passed before the promotion was rejected for want of it: judged again.
TEST_F(Promotions, ReportDuringARejectionIsEvaluated) {
  testing::FaultPoints faults;
  TestEngine server(database.url(), engine.store, &faults);
  apply_policy(std::string(kCheckedPolicy));
  const CommitId commit = candidate("exp-1", "0.8");
  const std::string id = create(request_of({"exp-1"}));
  const auto report = [&](CheckStatus status) {
    PromotionCheck check = bench_of(commit, status);
    if (status == CheckStatus::kSuccess) check.supersedes = "run again";
    report_check(*engine, repo, id, check);
  };
  while (run_one_promotion(*server, {})) {
  }
  report(CheckStatus::kFailure);
  faults.at_then_go_on({"promotions_store_row", false}, [&] { report(CheckStatus::kSuccess); });
  while (run_one_promotion(*server, {})) {
  }
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(outcome(get_promotion(*engine, repo, id)), "promoted");
}

// The champion is read before the promotions that a baseline is taken from.
TEST_F(Promotions, AChampionThatMovesDuringAJudgementIsJudgedAgain) {
  testing::FaultPoints faults;
  TestEngine server(database.url(), engine.store, &faults);
  apply_policy();
  candidate("exp-1", "0.8");
  candidate("exp-2", "0.9");
  PromotionRequest request = request_of({"exp-1"});
  request.expect_alias = std::optional<CommitId>();
  const std::string late = create(request);
  faults.at_then_go_on({"promotions_select_promoted", false},
                       [&] { EXPECT_EQ(outcome(promote({"exp-2"})), "promoted"); });
  while (run_one_promotion(*server, {})) {
  }
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(outcome(get_promotion(*engine, repo, late)), "failed destination_moved");
}

TEST_F(Promotions, AChampionThatMovesAtEveryLookEndsTheJudgement) {
  testing::FaultPoints faults;
  TestEngine server(database.url(), engine.store, &faults);
  candidate("exp-1", "0.8");
  PromotionRequest request = request_of({"exp-1"});
  request.metrics = {{"accuracy", MetricGoal::kMax, 0}};
  request.alias = "champion";
  // Twice in each judgement: after the first look at the champion, and after the second.
  for (int i = 0; i < 2 * kJudgeAttemptsMax; ++i) {
    faults.at_then_go_on({"aliases_select_by_name", true}, [&, i] {
      branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "owner"},
                        i % 2 == 0 ? "exp-1" : "main");
    });
  }
  EXPECT_EQ(message_of([&] { judge_request(*server, repo, request, "ci"); }),
            "the champion moved 100 times while the candidates were judged; try again");
  EXPECT_EQ(faults.unreached(), 0u);
}

// Without an alias only the head says that another promotion came in between.
TEST_F(Promotions, AVerdictHoldsForTheHeadThatItWasGivenFor) {
  testing::FaultPoints faults;
  TestEngine server(database.url(), engine.store, &faults);
  apply_policy(R"(
destination: main
require_up_to_date: true
metrics:
  - {name: accuracy, goal: max, min: 0.6, primary: true}
tie_break: [created_at]
)");
  candidate("exp-1", "0.8");
  candidate("exp-2", "0.9");
  const std::string late = create(request_of({"exp-1"}));
  faults.at_then_go_on({"branches_acquire_lease", false},
                       [&] { EXPECT_EQ(outcome(promote({"exp-2"})), "promoted"); });
  while (run_one_promotion(*server, {})) {
  }
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(outcome(get_promotion(*engine, repo, late)), "rejected gate_failed");
}

}  // namespace
}  // namespace tarn::promotion
