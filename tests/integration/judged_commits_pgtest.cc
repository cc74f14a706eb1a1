// Commits that are removed, or expire, while a promotion judges them or metrics are read: evidence
// names no commit that is gone, and the candidates that are left are judged.
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/branch/settings.h"
#include "core/db/connection.h"
#include "core/gc/collection.h"
#include "core/gc/collection_requests.h"
#include "core/meta/commits.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/extraction.h"
#include "core/versioning/reset.h"
#include "tests/support/fault_points.h"

namespace tarn::versioning {
namespace {

using testing::FaultPoints;
using testing::TestEngine;

/// The statement with which a promotion stores its judgement; at its second run, because the first
/// one begins the round.
constexpr int kJudged = 2;

class JudgedCommits : public promotion::Promotions {
 protected:
  JudgedCommits() {
    options.interval = std::chrono::seconds{0};
    options.grace = std::chrono::seconds{0};
    options.unreachable_kept = std::chrono::seconds{0};
    options.share_max = 100;
  }

  void collect() {
    for (int i = 0; i < 3; ++i) {
      gc::request_collection(*engine, repo, "tester", 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      engine.parts().heartbeat();
      slow.parts().heartbeat();
      EXPECT_TRUE(gc::run_one_collection(*engine, options, {}));
      EXPECT_EQ(gc::list_collections(*engine, repo, 1).at(0).state, "done");
    }
  }

  /// Runs the promotion; `meanwhile` and then collections, between its judgement and the statement
  /// that stores it.
  promotion::Promotion promote_while(const promotion::PromotionRequest& request,
                                     const std::function<void()>& meanwhile) {
    const std::string id = create(request);
    faults.at_then_go_on({"promotions_store_row", false, kJudged}, [&] {
      meanwhile();
      collect();
    });
    while (promotion::run_one_promotion(*slow, {})) {
    }
    EXPECT_EQ(faults.unreached(), 0u);
    return promotion::get_promotion(*engine, repo, id);
  }

  bool is_there(const CommitId& commit) {
    return (*engine).commits.find(repo.id, commit).has_value();
  }

  /// Everything that the evidence shows can be read.
  void expect_kept(const promotion::Promotion& promotion) {
    engine.parts().heartbeat();
    for (const promotion::PinnedCandidate& candidate : promotion.candidates) {
      EXPECT_TRUE(is_there(candidate.commit)) << candidate.ref;
      EXPECT_NE(engine.read(repo, to_text(candidate.commit), "artifacts/model.pkl"), "<absent>");
    }
  }

  FaultPoints faults;
  TestEngine slow{database.url(), engine.store, &faults};
  gc::CollectionOptions options;
};

TEST_F(JudgedCommits, ALoserThatIsRemovedBeforeTheRecordIsNotInIt) {
  apply_policy();
  const CommitId winner = candidate("exp-1", "0.9");
  const CommitId loser = candidate("exp-2", "0.8");
  const promotion::Promotion done = promote_while(request_of({"exp-*"}), [&] {
    branch::delete_branch(*engine, repo, BranchName("exp-2"), false);
  });
  EXPECT_FALSE(is_there(loser));
  EXPECT_EQ(outcome(done), "promoted");
  EXPECT_EQ(done.winner, winner);
  EXPECT_EQ(done.evidence.find(to_text(loser)), std::string::npos) << done.evidence;
  expect_kept(done);
}

TEST_F(JudgedCommits, ALoserThatExpiresBeforeTheRecordIsNotInIt) {
  apply_policy();
  candidate("exp-1", "0.9");
  candidate("exp-2", "0.8");
  train("exp-2", "0.7");
  branch::set_collection_rules(*engine, repo, {.default_retention_days = 0, .retention_days = {}});
  const promotion::Promotion done = promote_while(request_of({"exp-1", "exp-2~1"}), [] {});
  EXPECT_EQ(outcome(done), "failed expired") << done.message;
  EXPECT_EQ(done.evidence, "");
  expect_kept(done);
}

// A promotion that waits stores what it has judged too.
TEST_F(JudgedCommits, ALoserThatIsRemovedBeforeThePromotionWaitsIsJudgedAgain) {
  apply_policy(std::string(promotion::kPolicy) + "approvals: {count: 1}\n");
  candidate("exp-1", "0.9");
  candidate("exp-2", "0.8");
  const promotion::Promotion waiting = promote_while(request_of({"exp-*"}), [&] {
    branch::delete_branch(*engine, repo, BranchName("exp-2"), false);
  });
  EXPECT_EQ(outcome(waiting), "awaiting_approval approval_required");
  EXPECT_EQ(waiting.candidates.size(), 1u);
  expect_kept(waiting);
  // From now on the candidates are roots.
  branch::delete_branch(*engine, repo, BranchName("exp-1"), false);
  collect();
  expect_kept(waiting);
}

// Metrics of a commit go with it, also if they are stored while the commit is removed.
TEST_F(JudgedCommits, MetricsOfACommitThatIsRemovedMeanwhileGoWithIt) {
  const CommitId removed = candidate("exp-1", "0.9");
  branch::delete_branch(*engine, repo, BranchName("exp-1"), false);
  const auto waiting = [&] {
    return db::Connection::open(database.url())
        ->run(db::Query{"test_waiting",
                        "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = "
                        "current_database() AND wait_event_type = 'Lock')"})
        .boolean(0, 0);
  };
  std::optional<std::jthread> collecting;
  std::atomic<bool> collected = false;
  faults.at_then_go_on({"extractions_delete_metrics"}, [&] {
    slow.parts().heartbeat();
    collecting.emplace([&] {
      collect();
      collected = true;
    });
    while (!collected && !waiting()) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  });
  runs::extract_now(*slow, repo.id, removed);
  collecting.reset();
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_FALSE(is_there(removed));
  const db::Query left{"test_left", "SELECT count(*) FROM metrics"};
  EXPECT_EQ(db::Connection::open(database.url())->run(left).integer(0, 0), 0);
}

// A rejected promotion would be a record too, and name the head that its candidates were compared
// with.
TEST_F(JudgedCommits, AHeadThatIsRemovedBeforeTheRecordIsNotInIt) {
  const CommitId first = head("main");
  candidate("exp-1", "0.8");
  const CommitId judged = train("main", "0.9");
  promotion::PromotionRequest request = request_of({"exp-1"});
  request.metrics = {{"accuracy", promotion::MetricGoal::kMax, 0}};
  const promotion::Promotion done = promote_while(request, [&] {
    hard_reset_branch(*engine, repo, BranchName("main"), to_text(first), false);
  });
  EXPECT_FALSE(is_there(judged));
  EXPECT_EQ(outcome(done), "promoted");
  EXPECT_EQ(done.evidence.find(to_text(judged)), std::string::npos) << done.evidence;
}

}  // namespace
}  // namespace tarn::versioning
