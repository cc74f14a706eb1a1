// Promotions that race to one destination, on two servers of one database.
#include <thread>

#include "core/versioning/aliases.h"
#include "core/versioning/promotions_fixture.h"

namespace tarn::versioning {
namespace {

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

TEST_F(Promotions, OfManyRacersWithOneExpectationOneWins) {
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
  int promoted = 0;
  int moved = 0;
  for (const std::string& id : ids) {
    const std::string how = outcome(get_promotion(*engine, repo, id));
    promoted += how == "promoted";
    moved += how == "failed destination_moved";
  }
  EXPECT_EQ(promoted, 1);
  EXPECT_EQ(moved, kRacers - 1);
  EXPECT_EQ(list_alias_changes(*engine, repo, AliasName("champion"), "", 100).items.size(), 1u);
}

// Without an expectation losers are compared with the new champion: they win if they beat it.
TEST_F(Promotions, RacersWithoutExpectationFormAChain) {
  constexpr int kRacers = 24;
  apply_policy();
  for (int i = 0; i < kRacers; ++i) {
    const std::string name = "exp-" + std::to_string(i);
    engine.branch(repo, name, "main");
    engine.put(repo, name, "models/" + name, name);
    CommitRequest request;
    request.committer = "dana";
    request.message = "Train";
    request.metadata["metric.accuracy"] = "0." + std::to_string(700 + i * 10);
    commit_branch(*engine, repo, BranchName(name), request);
    create(request_of({name}));
  }
  TestEngine other(database.url(), engine.store);
  run_on_two_servers(engine, other);
  const auto history = list_alias_changes(*engine, repo, AliasName("champion"), "", 100).items;
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

}  // namespace
}  // namespace tarn::versioning
