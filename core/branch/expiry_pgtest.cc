// Branches that are deleted by themselves.
#include <thread>

#include <gtest/gtest.h>

#include "core/branch/settings.h"
#include "core/meta/branches.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::TestDatabase;
using testing::TestEngine;

class Expiry : public ::testing::Test {
 protected:
  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");

  /// The reason of the refusal, or "done".
  std::string create(const std::string& name, Instant expires) {
    return testing::reason_of([&] {
      create_branch(*engine, repo, {BranchName(name), "main", false, false, expires});
    });
  }
  /// Moves the moment of a branch into the past, which no request can.
  void expire(const std::string& name) {
    engine.pool.run({"test_expire_branch", "UPDATE branches SET expires_ms = 1 WHERE name = $1"},
                    {name}, db::Pool::Retry::kWrite);
  }
  void forget_claims() {
    engine.pool.run({"test_forget_claims", "UPDATE branches SET expiry_claimed_until = NULL"}, {},
                    db::Pool::Retry::kWrite);
  }
  std::string branches() {
    std::string out;
    for (const Branch& b : list_branches(*engine, repo, "", "", 100, true).items) {
      out += (out.empty() ? "" : " ") + b.name.str();
    }
    return out;
  }
  int sweep() {
    constexpr int kLooksMax =
        10;  // a branch that is claimed again and again must not hang the test
    int looked_at = 0;
    while (looked_at < kLooksMax && delete_one_expired_branch(*engine)) ++looked_at;
    return looked_at;
  }
};

TEST_F(Expiry, BranchIsDeletedWhenItExpires) {
  const Instant later = engine.clock.now() + hours(1);
  EXPECT_EQ(create("kept", later), "done");
  EXPECT_EQ(create("over", later), "done");
  engine.put(repo, "over", "a", "1");
  EXPECT_EQ(get_branch(*engine, repo, BranchName("kept")).expires, later);
  EXPECT_EQ(get_branch(*engine, repo, BranchName("main")).expires, std::nullopt);
  EXPECT_EQ(sweep(), 0);
  expire("over");
  EXPECT_EQ(branches(), "kept main over");
  EXPECT_EQ(sweep(), 1);
  EXPECT_EQ(branches(), "kept main");
}

TEST_F(Expiry, ExpiryMustBeInTheFutureAndWithinALimit) {
  const Instant now = engine.clock.now();
  EXPECT_EQ(create("a", now), "invalid_argument");
  EXPECT_EQ(create("a", now + kBranchLifetimeMax + hours(1)), "invalid_argument");
  EXPECT_EQ(branches(), "main");
  EXPECT_EQ(create("soon", now + hours(1)), "done");
  EXPECT_EQ(create("late", now + kBranchLifetimeMax - hours(1)), "done");
  EXPECT_EQ(branches(), "late main soon");
}

TEST_F(Expiry, ExpiryCanBeChangedOrRemoved) {
  const Instant later = engine.clock.now() + hours(1);
  const auto set = [&](const std::string& name, std::optional<Instant> expires) {
    return testing::reason_of([&] {
      EXPECT_EQ(set_branch_expiry(*engine, repo, BranchName(name), expires, false).expires,
                expires);
    });
  };
  create("dev", later);
  EXPECT_EQ(set("dev", later + hours(1)), "done");
  expire("dev");
  EXPECT_EQ(set("dev", later), "done") << "not deleted yet";
  EXPECT_EQ(sweep(), 0);
  expire("dev");
  EXPECT_EQ(set("dev", std::nullopt), "done");
  EXPECT_EQ(sweep(), 0);
  EXPECT_EQ(branches(), "dev main");
  EXPECT_EQ(set("dev", engine.clock.now()), "invalid_argument");
  EXPECT_EQ(set("main", later), "invalid_argument");
  EXPECT_EQ(get_branch(*engine, repo, BranchName("main")).expires, std::nullopt);
  EXPECT_EQ(set("nobody", later), "branch_not_found");
  set_branch_rules(*engine, repo,
                   {{.pattern = Glob("dev"), .blocked_actions = std::set{BranchAction::kDelete}}},
                   {});
  EXPECT_EQ(set("dev", later), "protected_branch");
  EXPECT_EQ(get_branch(*engine, repo, BranchName("dev")).expires, std::nullopt);
}

// A server that claimed it waits for the branch, which the renewing request holds.
TEST_F(Expiry, BranchRenewedDuringItsDeletionStays) {
  create("dev", engine.clock.now() + hours(1));
  expire("dev");
  const BranchId dev = get_branch(*engine, repo, BranchName("dev")).id;
  meta::Branches& rows = (*engine).branches;
  const auto held = rows.acquire(dev, 1, milliseconds(60'000), /*rotate=*/false);
  std::jthread server([&] { EXPECT_EQ(sweep(), 1); });
  const db::Query claimed{"test_count_claims",
                          "SELECT count(*) FROM branches WHERE expiry_claimed_until IS NOT NULL"};
  while (engine.pool.run(claimed, {}, db::Pool::Retry::kRead).integer(0, 0) == 0) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(rows.set_expiry(dev, held.lease.owner, engine.clock.now() + hours(1)));
  rows.release(dev, held.lease.owner);
  server.join();
  EXPECT_EQ(branches(), "dev main");
}

// The second line of defence is the sweep's own: the branch below got its expiry past the first.
TEST_F(Expiry, TheDefaultBranchStays) {
  RepositoryCreation bare;
  bare.name = RepositoryName("bare");
  bare.storage_namespace = "local://bare";
  bare.default_branch = BranchName("trunk");
  bare.bare = true;
  create_repository(*engine, bare);
  EXPECT_EQ(create("main", engine.clock.now() + hours(1)), "invalid_argument");
  expire("main");
  EXPECT_EQ(sweep(), 1);
  EXPECT_EQ(branches(), "main");
  EXPECT_EQ(sweep(), 0) << "not again before the claim has ended";
}

TEST_F(Expiry, DeletionRuleKeepsTheBranch) {
  create("dev", engine.clock.now() + hours(1));
  expire("dev");
  set_branch_rules(*engine, repo,
                   {{.pattern = Glob("dev"), .blocked_actions = std::set{BranchAction::kDelete}}},
                   {});
  EXPECT_EQ(sweep(), 1);
  EXPECT_EQ(branches(), "dev main");
  set_branch_rules(*engine, repo, {}, {});
  EXPECT_EQ(sweep(), 0);
  forget_claims();
  EXPECT_EQ(sweep(), 1);
  EXPECT_EQ(branches(), "main");
}

// Verified by mutation: leaving the claim out of the statement: several servers took the same
// branch.
TEST_F(Expiry, OneOfSeveralServersDeletesABranch) {
  constexpr int kServers = 4;
  constexpr int kBranches = 40;
  for (int i = 0; i < kBranches; ++i) {
    create("b" + std::to_string(i), engine.clock.now() + hours(1));
    expire("b" + std::to_string(i));
  }
  std::atomic<int> looked_at{0};
  std::vector<std::jthread> servers;
  for (int i = 0; i < kServers; ++i) {
    servers.emplace_back([&] {
      TestEngine other(database.url(), engine.store);
      while (delete_one_expired_branch(*other)) ++looked_at;
    });
  }
  servers.clear();
  EXPECT_EQ(looked_at, kBranches);
  EXPECT_EQ(branches(), "main");
}

// A server whose clock is ahead neither claims a branch that has not expired nor deletes one that
// it claimed: with servers' clocks a branch of 4 minutes went after 3 seconds.
TEST_F(Expiry, IsDecidedByTheDatabasesClock) {
  create("dev", engine.clock.now() + std::chrono::minutes(4));
  engine.put(repo, "dev", "a", "1");
  class ClockAhead final : public Clock {
   public:
    Instant now() const override { return SystemClock().now() + std::chrono::minutes(5); }
  };
  const ClockAhead ahead;
  server::Assembly server(engine.pool, engine.stores, ahead,
                          server::AssemblyOptions{64 << 20, std::string(32, 'k')});
  EXPECT_FALSE(delete_one_expired_branch(server.engine()));
  EXPECT_EQ(branches(), "dev main");
  // Claimed, then renewed before it is deleted: the deleting statement checks the expiry again.
  const Branch dev = get_branch(*engine, repo, BranchName("dev"));
  meta::Branches& rows = (*engine).branches;
  const auto held = rows.acquire(dev.id, 1, milliseconds(60'000), /*rotate=*/false);
  EXPECT_FALSE(rows.remove(dev.id, held.lease, meta::Branches::RemoveIf::kExpired));
  EXPECT_EQ(branches(), "dev main");
  expire("dev");
  EXPECT_TRUE(rows.remove(dev.id, held.lease, meta::Branches::RemoveIf::kExpired));
  EXPECT_EQ(branches(), "main");
}

TEST_F(Expiry, AnotherServerContinuesAfterACrash) {
  create("dev", engine.clock.now() + hours(1));
  expire("dev");
  ASSERT_TRUE((*engine).branches.claim_expired(milliseconds(2'000)));
  EXPECT_EQ(sweep(), 0);
  std::this_thread::sleep_for(milliseconds(2'000));
  EXPECT_EQ(sweep(), 1);
  EXPECT_EQ(branches(), "main");
}

TEST_F(Expiry, RecreatedBranchDoesNotInheritTheExpiry) {
  create("dev", engine.clock.now() + hours(1));
  expire("dev");
  delete_branch(*engine, repo, BranchName("dev"), false);
  engine.branch(repo, "dev", "main");
  EXPECT_EQ(sweep(), 0);
  EXPECT_EQ(branches(), "dev main");
}

}  // namespace
}  // namespace tarn::branch
