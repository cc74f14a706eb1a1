// Branches that one user may have made in a repository.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/assembly/assembly.h"
#include "core/branch/hooks.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {
namespace {

using testing::message_of;
using testing::reason_of;

/// Lets each user make three branches of a repository.
class BranchLimit : public ::testing::Test {
 protected:
  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository lake = engine.make_repository("lake");

  void SetUp() override {
    engine.assembly.reset();
    engine.assembly = std::make_unique<Assembly>(
        engine.pool, engine.stores, engine.clock,
        AssemblyOptions{.link_key = std::string(32, 'k'), .branches_per_user_max = 3});
  }
  void make(const std::string& user, const Repository& repo, const std::string& name) {
    const ActingUser acting(user);
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

}  // namespace
}  // namespace tarn::versioning
