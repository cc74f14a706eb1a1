// Branches that one user may have made in a repository.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/acting_user.h"
#include "core/branch/hooks.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::message_of;
using testing::reason_of;

/// Lets each user make three branches of a repository, unless a test asks for more.
class BranchLimit : public ::testing::Test {
 protected:
  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository lake = engine.make_repository("lake");

  void SetUp() override { allow(3); }
  void allow(uint32_t branches) {
    engine.assembly.reset();
    engine.assembly = std::make_unique<server::Assembly>(
        engine.pool, engine.stores, engine.clock,
        server::AssemblyOptions{.link_key = std::string(32, 'k'),
                                .branches_per_user_max = branches});
  }
  void make(const std::string& user, const Repository& repo, const std::string& name) {
    const ActingUser acting(user, {}, {});
    create_branch(*engine, repo, {.name = BranchName(name), .source = "main"});
  }
};

TEST_F(BranchLimit, IsPerUserAndRepositoryAndTheErrorSaysHowToFreeSome) {
  const auto pond = engine.make_repository("pond");
  for (const char* name : {"a", "b", "c"}) make("mallory", lake, name);
  const auto fourth = [&] { make("mallory", lake, "d"); };
  EXPECT_EQ(reason_of(fourth), "too_many_branches");
  const std::string message = message_of(fourth);
  for (const char* word :
       {"\"mallory\"", "3 branches", "\"lake\"", "branches.per_user_max", "tarn branch delete"}) {
    EXPECT_NE(message.find(word), std::string::npos) << message;
  }
  EXPECT_EQ(reason_of([&] { make("mallory", lake, "a"); }), "already_exists");
  make("dana", lake, "d");
  make("mallory", pond, "a");
  // Work without a user, such as the server's own, is not limited.
  create_branch(*engine, lake, {.name = BranchName("nobody"), .source = "main"});
  delete_branch(*engine, lake, BranchName("b"), false);
  make("mallory", lake, "e");
  EXPECT_EQ(get_branch(*engine, lake, BranchName("e")).creator, "mallory");
  EXPECT_EQ(get_branch(*engine, lake, BranchName("main")).creator, "");
}

TEST_F(BranchLimit, HoldsForConcurrentCreations) {
  std::atomic<int> made = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        if (reason_of([&] { make("mallory", lake, "b" + std::to_string(i)); }) == "done") ++made;
      });
    }
  }
  EXPECT_EQ(made, 3);
}

// Far below the limit the branches are not counted at each creation: the last count and the tokens
// drawn since bound them. Verified by mutation: without the tokens, 301 branches are made.
TEST_F(BranchLimit, HoldsForBranchesThatAreCountedNowAndThen) {
  constexpr int kMost = 300;
  allow(kMost);
  const auto name = [](int i) { return "b" + std::to_string(i); };
  for (int i = 0; i < kMost; ++i) make("mallory", lake, name(i));
  EXPECT_EQ(reason_of([&] { make("mallory", lake, name(kMost)); }), "too_many_branches");
  for (int i = 0; i < kMost; ++i) delete_branch(*engine, lake, BranchName(name(i)), false);
  for (int i = 0; i < kMost; ++i) make("mallory", lake, name(i));
  EXPECT_EQ(reason_of([&] { make("mallory", lake, name(kMost)); }), "too_many_branches");
}

TEST_F(BranchLimit, IsCheckedWithoutCountingAllBranchesEachTime) {
  constexpr int kBranches = 300;
  allow(10'000);
  for (int i = 0; i < kBranches; ++i) make("mallory", lake, "b" + std::to_string(i));
  const db::Rows counts = engine.pool.run(
      {"test_branch_counts", "SELECT branches FROM branch_counts"}, {}, db::Pool::Retry::kRead);
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts.integer(0, 0), 0) << "counted again after the first branch";
}

}  // namespace
}  // namespace tarn::branch
