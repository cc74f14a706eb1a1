// Promotions that pass the stages of a policy.
#include <algorithm>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/alias_store.h"
#include "core/branch/aliases.h"
#include "core/meta/commits.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/promotions_fixture.h"
#include "core/promotion/stages.h"
#include "tests/support/fault_points.h"

namespace tarn::promotion {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::reason_of;
using testing::TestEngine;

constexpr std::string_view kStages = R"(
stages:
  - {alias: shadow}
  - {alias: canary, soak: 24h, checks: [errors]}
  - {alias: champion, soak: 72h, checks: [complaints]}
)";

class Stages : public Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    for (const char* user : {"ann", "ben", "dana", "ci"}) {
      engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ($1, 0)"}, {user},
                      db::Pool::Retry::kWrite);
    }
  }
  void apply_stages(std::string_view more = "") { apply_policy(str_cat(kPolicy, kStages, more)); }
  std::string how(const std::string& id) { return outcome(get_promotion(*engine, repo, id)); }
  std::string begin(std::vector<std::string> candidates) {
    const std::string id = create(request_of(std::move(candidates)));
    work();
    return id;
  }
  std::string look_again(const std::string& id) {
    PromotionStore(engine.pool, (*engine).clock).wake(repo.id, id);
    work();
    return how(id);
  }
  /// Moves the entries of all stages into the past.
  void age_stages(hours by) {
    engine.pool.run(
        {"test_age_stages",
         "UPDATE promotion_stages SET entered_ms = entered_ms - $1, until_ms = until_ms - $1"},
        {milliseconds{by}.count()}, db::Pool::Retry::kWrite);
  }
  void report(const std::string& id, const std::string& name, const CommitId& commit,
              CheckStatus status, const std::string& reporter = "probe",
              const std::string& supersedes = "") {
    report_check(*engine, repo, id,
                 {.name = name,
                  .commit = commit,
                  .status = status,
                  .reporter = reporter,
                  .supersedes = supersedes});
    work();
  }
  std::optional<CommitId> at(const std::string& alias) {
    const auto found = (*engine).aliases.find(repo.id, AliasName(alias));
    return found ? std::optional(found->commit) : std::nullopt;
  }
  /// A candidate whose model has a path of its own, so that others may be promoted before it.
  void candidate_beside(const std::string& name, const std::string& accuracy) {
    engine.branch(repo, name, "main");
    engine.put(repo, name, "models/" + name, name);
    versioning::CommitRequest request;
    request.committer = "dana";
    request.message = "Train";
    request.metadata["metric.accuracy"] = accuracy;
    versioning::commit_branch(*engine, repo, BranchName(name), request);
  }
  /// A champion that was promoted before the policy had stages.
  CommitId first_champion() {
    apply_policy();
    candidate("exp-0", "0.7");
    return promote({"exp-0"}).result.value();
  }
  /// Brings a promotion into the canary stage and through it.
  std::string promoted_by_stages(const std::string& branch, const std::string& accuracy) {
    const CommitId commit = candidate(branch, accuracy);
    const std::string id = begin({branch});
    age_stages(hours{24});
    report(id, "errors", commit, CheckStatus::kSuccess);
    EXPECT_EQ(how(id), "promoted");
    return id;
  }
};

TEST_F(Stages, WinnerPassesThemOneAfterTheOther) {
  apply_stages();
  const CommitId commit = candidate("exp-1", "0.8");
  const CommitId before = head("main");
  const std::string id = begin({"exp-1"});
  EXPECT_EQ(how(id), "awaiting_approval stage_soaking");
  EXPECT_EQ(at("shadow"), commit);
  EXPECT_EQ(at("canary"), commit);
  EXPECT_EQ(at("champion"), std::nullopt);
  EXPECT_EQ(head("main"), before);
}

TEST_F(Stages, IsPromotedWhenSoakAndChecksAreThere) {
  apply_stages();
  const CommitId commit = candidate("exp-1", "0.8");
  const std::string id = begin({"exp-1"});
  age_stages(hours{23});
  report(id, "errors", commit, CheckStatus::kSuccess);
  EXPECT_EQ(how(id), "awaiting_approval stage_soaking");
  age_stages(hours{1});
  EXPECT_EQ(look_again(id), "promoted");
  const Promotion done = get_promotion(*engine, repo, id);
  EXPECT_EQ(at("champion"), done.result);
  EXPECT_EQ(at("canary"), commit) << "the last commit that was there";
  for (const StageEntry& entry : StageStore(engine.pool).all(repo.id, id)) {
    EXPECT_EQ(entry.outcome, entry.alias == "champion" ? "" : "promoted") << entry.alias;
  }
}

TEST_F(Stages, EarlierReportOfAStageCheckDoesNotCount) {
  apply_stages("checks: {required: [bench]}\n");
  const CommitId commit = candidate("exp-1", "0.8");
  const std::string id = begin({"exp-1"});
  EXPECT_EQ(how(id), "gates_running check_pending");
  report(id, "errors", commit, CheckStatus::kSuccess);
  report(id, "bench", commit, CheckStatus::kSuccess);
  EXPECT_EQ(at("canary"), commit);
  engine.pool.run({"test_age_checks", "UPDATE promotion_checks SET at_ms = at_ms - 100000000"}, {},
                  db::Pool::Retry::kWrite);
  age_stages(hours{24});
  EXPECT_EQ(look_again(id), "awaiting_approval stage_check_missing");
  report(id, "errors", commit, CheckStatus::kSuccess, "probe2");
  EXPECT_EQ(how(id), "promoted");
}

TEST_F(Stages, FailedCheckTakesTheAliasesBack) {
  const CommitId champion = first_champion();
  branch::set_alias(*engine, repo, {.name = AliasName("canary"), .actor = "ann"},
                    to_text(champion));
  apply_stages();
  const CommitId commit = candidate("exp-1", "0.8");
  const std::string id = begin({"exp-1"});
  EXPECT_EQ(at("canary"), commit);
  report(id, "errors", commit, CheckStatus::kFailure);
  EXPECT_EQ(how(id), "rejected gate_failed");
  EXPECT_EQ(at("canary"), champion);
  EXPECT_EQ(at("shadow"), std::nullopt);
  EXPECT_EQ(at("champion"), champion);

  const std::string again = begin({"exp-1"});
  EXPECT_EQ(how(again), "rejected gate_failed") << "the failure stands before the first stage";
  EXPECT_EQ(StageStore(engine.pool).all(repo.id, again).size(), 0u);
  report(id, "errors", commit, CheckStatus::kSuccess, "probe", "the probe was broken");
  EXPECT_EQ(how(begin({"exp-1"})), "awaiting_approval stage_soaking");
}

TEST_F(Stages, EveryEndTakesTheAliasesBack) {
  const std::vector<std::pair<const char*, std::function<void(const std::string&)>>> ends = {
      {"cancelled",
       [&](const std::string& id) {
         end_promotion(*engine, repo, id, PromotionState::kCancelled, "ann", "");
       }},
      {"rejected",
       [&](const std::string& id) {
         end_promotion(*engine, repo, id, PromotionState::kRejected, "ann", "");
       }},
      {"failed promoter_lost_right",
       [&](const std::string& id) {
         (*engine).rights = [](const branch::RightsQuestion&) { return false; };
         look_again(id);
         (*engine).rights = nullptr;
       }},
      {"rejected gate_failed", [&](const std::string& id) {
         apply_policy(str_cat(kPolicy, kStages, "objects: {required: [absent]}\n"));
         look_again(id);
       }}};
  int number = 0;
  for (const auto& [expected, end] : ends) {
    apply_stages();
    const std::string branch = str_cat("exp-", ++number);
    const CommitId commit = candidate(branch, "0.8");
    const std::string id = begin({branch});
    EXPECT_EQ(at("shadow"), commit) << expected;
    end(id);
    EXPECT_EQ(how(id).rfind(expected, 0), 0u) << how(id);
    EXPECT_EQ(at("shadow"), std::nullopt) << expected;
    EXPECT_EQ(at("canary"), std::nullopt) << expected;
  }
}

TEST_F(Stages, NewCommitOfTheWinnerBeginsAgain) {
  apply_stages();
  candidate("exp-1", "0.8");
  const std::string id = begin({"exp-1"});
  age_stages(hours{24});
  const CommitId newer = train("exp-1", "0.9");
  report(id, "errors", newer, CheckStatus::kSuccess);
  EXPECT_EQ(how(id), "awaiting_approval stage_soaking") << "the 24 hours are of the new commit";
  EXPECT_EQ(at("canary"), newer);
}

TEST_F(Stages, BetterCandidateThatComesLaterWaitsForItsOwnPromotion) {
  apply_stages("candidates: 'exp-*'\ncompete: all\n");
  const CommitId commit = candidate("exp-1", "0.8");
  const std::string id = begin({"exp-*"});
  EXPECT_EQ(at("canary"), commit);
  candidate_beside("exp-2", "0.95");
  const std::string other = begin({"exp-2"});
  EXPECT_EQ(how(other), "awaiting_approval stage_occupied");
  EXPECT_EQ(at("canary"), commit);
  age_stages(hours{24});
  report(id, "errors", commit, CheckStatus::kSuccess);
  EXPECT_EQ(how(id), "promoted");
  EXPECT_EQ(look_again(other), "awaiting_approval stage_soaking");
  EXPECT_EQ(at("shadow"), head("exp-2"));
}

TEST_F(Stages, ApprovalsOfAStageAreGivenInTheStageBefore) {
  apply_policy(str_cat(kPolicy, R"(
approvals: {count: 1}
stages:
  - {alias: canary}
  - {alias: champion, approvals: {count: 1}}
)"));
  const CommitId commit = candidate("exp-1", "0.8");
  const std::string id = begin({"exp-1"});
  EXPECT_EQ(how(id), kWaiting);
  EXPECT_EQ(at("canary"), std::nullopt);
  approve_shown(id, "ann");
  work();
  EXPECT_EQ(how(id), kWaiting) << "the approval was given to enter the first stage";
  EXPECT_EQ(at("canary"), commit);
  approve_shown(id, "ann");
  work();
  EXPECT_EQ(how(id), "promoted");
}

TEST_F(Stages, AuthorDoesNotApproveAStage) {
  apply_policy(str_cat(kPolicy, R"(
stages:
  - {alias: canary}
  - {alias: champion, approvals: {count: 1}}
)"));
  candidate("exp-1", "0.8");
  const std::string id = begin({"exp-1"});
  approve_shown(id, "dana");
  work();
  EXPECT_EQ(how(id), kWaiting);
  approve_shown(id, "ben");
  work();
  EXPECT_EQ(how(id), "promoted");
}

TEST_F(Stages, NobodyElseMovesTheAliases) {
  apply_stages();
  const CommitId commit = candidate("exp-1", "0.8");
  for (const char* alias : {"shadow", "canary", "champion"}) {
    EXPECT_EQ(reason_of([&] {
                branch::set_alias(*engine, repo, {.name = AliasName(alias), .actor = "ann"},
                                  to_text(commit));
              }),
              "protected_alias");
  }
}

TEST_F(Stages, FailureAfterThePromotionRollsItBack) {
  const CommitId champion = first_champion();
  const CommitId before = head("main");
  apply_stages("approvals: {count: 0}\nrollback: {approvals: 2}\n");
  const std::string id = promoted_by_stages("exp-1", "0.8");
  const Promotion done = get_promotion(*engine, repo, id);
  report(id, "complaints", *done.winner, CheckStatus::kSuccess);
  EXPECT_EQ(how(id), "promoted");
  report(id, "complaints", *done.winner, CheckStatus::kFailure);
  EXPECT_EQ(how(id), "rolled_back rolled_back") << "without the two approvals of people";
  EXPECT_EQ(at("champion"), champion);
  EXPECT_EQ(at("canary"), std::nullopt) << "the commit that was taken back is no canary either";
  EXPECT_EQ((*engine).commits.get(repo.id, head("main")).root,
            (*engine).commits.get(repo.id, before).root);
  const Promotion rollback =
      get_promotion(*engine, repo, *get_promotion(*engine, repo, id).undone_by);
  EXPECT_EQ(rollback.actor, "probe");
  for (const StageEntry& entry : StageStore(engine.pool).all(repo.id, id))
    EXPECT_EQ(entry.outcome, "taken_back") << entry.alias;
}

TEST_F(Stages, FailureAfterTheLastSoakIsRefused) {
  first_champion();
  apply_stages();
  const std::string id = promoted_by_stages("exp-1", "0.8");
  const Promotion done = get_promotion(*engine, repo, id);
  EXPECT_EQ(reason_of([&] { report(id, "errors", *done.winner, CheckStatus::kFailure); }),
            "promotion_ended");
  age_stages(hours{72});
  EXPECT_EQ(reason_of([&] { report(id, "complaints", *done.winner, CheckStatus::kFailure); }),
            "promotion_ended");
  EXPECT_EQ(how(id), "promoted");
}

TEST_F(Stages, FailureOfAnEarlierChampionTakesNothingBack) {
  apply_stages();
  const std::string first = promoted_by_stages("exp-1", "0.8");
  const std::string second = promoted_by_stages("exp-2", "0.9");
  const Promotion done = get_promotion(*engine, repo, first);
  EXPECT_EQ(reason_of([&] { report(first, "complaints", *done.winner, CheckStatus::kFailure); }),
            "promotion_ended");
  EXPECT_EQ(how(second), "promoted");
}

TEST_F(Stages, TwoFailuresBeginOneRollback) {
  first_champion();
  apply_stages();
  const std::string id = promoted_by_stages("exp-1", "0.8");
  const CommitId winner = *get_promotion(*engine, repo, id).winner;
  std::vector<std::jthread> reporters;
  for (int i = 0; i < 4; ++i) {
    reporters.emplace_back([&, i] {
      report_check(*engine, repo, id,
                   {.name = "complaints",
                    .commit = winner,
                    .status = CheckStatus::kFailure,
                    .reporter = str_cat("probe", i)});
    });
  }
  reporters.clear();
  const auto rollbacks = [&] {
    const Page<Promotion> page = list_promotions(*engine, repo, {}, {.after = "", .limit = 100});
    return std::count_if(page.items.begin(), page.items.end(),
                         [](const Promotion& one) { return one.undoes.has_value(); });
  };
  EXPECT_EQ(rollbacks(), 1);
  work();
  EXPECT_EQ(how(id), "rolled_back rolled_back");
}

TEST_F(Stages, EntryThatIsCutOffLeavesAllOrNothing) {
  apply_stages();
  testing::FaultPoints faults;
  TestEngine other(database.url(), engine.store, &faults);
  int number = 0;
  for (const char* statement : {"promotions_store_row", "gate_policies_hold_version",
                                "promotion_stages_insert_row", "aliases_move_row"}) {
    const std::string branch = str_cat("exp-", ++number);
    const CommitId commit = candidate(branch, "0.8");
    const std::string id = create(request_of({branch}));
    // The second run of the first statement is the one of the entry.
    faults.at({statement, true, std::string_view(statement) == "promotions_store_row" ? 2 : 1},
              [] { return db::Fault::kConnectionLost; });
    try {
      while (run_one_promotion(*other, {})) {
      }
    } catch (const Error&) {
    }
    EXPECT_EQ(faults.unreached(), 0u) << statement;
    const size_t entered = StageStore(engine.pool).all(repo.id, id).size();
    EXPECT_EQ(at("shadow").has_value(), entered > 0) << statement;
    engine.pool.run({"test_end_leases", "UPDATE promotions SET lease_until = NULL"}, {},
                    db::Pool::Retry::kWrite);
    EXPECT_EQ(look_again(id), "awaiting_approval stage_soaking") << statement;
    EXPECT_EQ(at("canary"), commit) << statement;
    EXPECT_EQ(StageStore(engine.pool).all(repo.id, id).size(), 2u) << statement;
    end_promotion(*engine, repo, id, PromotionState::kCancelled, "ann", "");
    EXPECT_EQ(at("canary"), std::nullopt) << statement;
  }
}

TEST_F(Stages, ManyPromotionsShareThemOneAtATime) {
  constexpr int kRacers = 12;
  const std::string policy =
      str_cat(kPolicy, "stages: [{alias: shadow}, {alias: canary}, {alias: champion}]\n");
  apply_policy(policy);
  std::vector<std::string> ids;
  for (int i = 0; i < kRacers; ++i) {
    const std::string name = str_cat("exp-", i);
    candidate_beside(name, str_cat("0.", 700 + i * 10));
    ids.push_back(create(request_of({name})));
  }
  TestEngine other(database.url(), engine.store);
  const auto open = [&] {
    return list_promotions(*engine, repo, {.open_only = true}, {}).items.size();
  };
  std::vector<std::jthread> workers;
  for (TestEngine* server : {&engine, &other}) {
    workers.emplace_back([&, server] {
      while (open() > 0) {
        while (run_one_promotion(**server, {})) {
        }
        PromotionStore((*server).pool, (**server).clock).wake_all(repo.id, BranchName("main"));
      }
    });
  }
  // Some end at any moment, and the policy is set again and again, which locks the same aliases.
  for (int i = 0; i < kRacers; i += 3) {
    reason_of([&] { end_promotion(*other, repo, ids[i], PromotionState::kCancelled, "ann", ""); });
    apply_policy(str_cat(policy, "# ", i, "\n"));
  }
  workers.clear();
  EXPECT_EQ(open(), 0u);
  std::optional<CommitId> last;
  std::map<std::string, int> ended;
  for (const std::string& id : ids) {
    const Promotion done = get_promotion(*engine, repo, id);
    ++ended[outcome(done)];
    for (const StageEntry& entry : StageStore(engine.pool).all(repo.id, id)) {
      EXPECT_EQ(entry.outcome, done.state == PromotionState::kPromoted ? "promoted" : "taken_back")
          << id << " " << entry.alias;
    }
  }
  EXPECT_GE(ended["promoted"], 1);
  const auto champion =
      PromotionStore(engine.pool, (*engine).clock).find_by_result(repo.id, at("champion").value());
  EXPECT_EQ(at("canary"), champion->winner);
  EXPECT_EQ(at("shadow"), champion->winner);
}

TEST_F(Stages, PolicyWithOtherStagesBeginsAgain) {
  apply_stages();
  const CommitId commit = candidate("exp-1", "0.8");
  const std::string id = begin({"exp-1"});
  apply_policy(str_cat(kPolicy, "stages: [{alias: canary, soak: 1h}, {alias: champion}]\n"));
  work();
  EXPECT_EQ(how(id), "awaiting_approval stage_soaking");
  EXPECT_EQ(at("shadow"), std::nullopt);
  EXPECT_EQ(at("canary"), commit);
  apply_policy();
  work();
  EXPECT_EQ(how(id), "promoted");
  EXPECT_EQ(at("canary"), std::nullopt) << "no stage of the policy";
}

TEST_F(Stages, ConflictIsFoundBeforeTheFirst) {
  apply_stages();
  engine.branch(repo, "exp-1", "main");
  engine.put(repo, "exp-1", "data/a", "theirs");
  train("exp-1", "0.8");
  apply_policy();
  engine.branch(repo, "exp-2", "main");
  engine.put(repo, "exp-2", "data/a", "ours");
  train("exp-2", "0.7");
  promote({"exp-2"});
  apply_stages();
  const std::string id = begin({"exp-1"});
  EXPECT_EQ(how(id), "failed merge_conflict");
  EXPECT_EQ(StageStore(engine.pool).all(repo.id, id).size(), 0u);
}

}  // namespace
}  // namespace tarn::promotion
