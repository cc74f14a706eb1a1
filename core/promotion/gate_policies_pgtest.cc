// Gate policies over a real database.
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/refs.h"
#include "core/meta/branches.h"
#include "core/promotion/gate_policies.h"
#include "tests/support/repository_test.h"

namespace tarn::promotion {
namespace {

using testing::message_of;
using testing::reason_of;

std::string document(std::string_view destination, std::string_view more = "") {
  return str_cat("destination: ", destination, "\n", more);
}

class Policies : public testing::RepositoryTest {
 protected:
  Policies() { engine.branch(repo, "prod", "main"); }

  GatePolicySet set(std::string_view name, std::string text,
                    std::optional<int64_t> expected = std::nullopt) {
    return set_gate_policy(*engine, repo, name,
                           {.document = std::move(text), .author = "ann", .expected = expected});
  }
  std::string set_reason(std::string_view name, std::string text,
                         std::optional<int64_t> expected = std::nullopt) {
    return reason_of([&] { set(name, std::move(text), expected); });
  }
  int64_t settings_version() {
    return engine.pool
        .run({"test_settings_version", "SELECT settings_version FROM repositories WHERE name = $1"},
             {repo.str()}, db::Pool::Retry::kRead)
        .integer(0, 0);
  }
  /// "" = none.
  std::string gate(std::string_view branch) {
    const db::Rows rows = engine.pool.run(
        {"test_branch_gate",
         "SELECT coalesce(b.gate, '') FROM branches b JOIN repositories r USING (repo_id) "
         "WHERE r.name = $1 AND b.name = $2 AND r.deleted_ms IS NULL"},
        {repo.str(), branch}, db::Pool::Retry::kRead);
    return std::string(rows.text(0, 0));
  }
  /// Runs `other` in another thread once `change` is made, and commits the change when that waits
  /// for it.
  void while_held(const db::Query& change, const std::function<void()>& other) {
    std::jthread thread;
    engine.pool.transaction([&](db::Connection& connection) {
      ASSERT_EQ(connection.run(change, {repo.str()}).affected(), 1u);
      thread = std::jthread(other);
      EXPECT_TRUE(somebody_waits());
    });
  }
  bool somebody_waits() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (std::chrono::steady_clock::now() < deadline) {
      const db::Rows rows = engine.pool.run(
          {"test_count_waiting",
           "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
           "wait_event_type = 'Lock'"},
          {}, db::Pool::Retry::kRead);
      if (rows.integer(0, 0) > 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    return false;
  }
  std::string execute(const char* name, const char* statement) {
    return message_of([&] { engine.pool.run({name, statement}, {}, db::Pool::Retry::kWrite); });
  }
};

TEST_F(Policies, EachDocumentIsAVersion) {
  const int64_t before = settings_version();
  const GatePolicySet first = set("dogs", document("main"));
  EXPECT_TRUE(first.changed);
  EXPECT_EQ(first.version.version, 1);
  EXPECT_EQ(first.version.author, "ann");
  ASSERT_TRUE(first.version.body);
  EXPECT_EQ(first.version.body->digest, sha256(document("main")));
  EXPECT_EQ(settings_version(), before + 1);

  const GatePolicySet again = set("dogs", document("main"));
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(again.version.version, 1);
  EXPECT_EQ(settings_version(), before + 1);

  EXPECT_EQ(set("dogs", document("main", "approvals: {count: 1}")).version.version, 2);
  EXPECT_EQ(get_gate_policy(*engine, repo, "dogs").version, 2);
  EXPECT_EQ(policy_of(get_gate_policy(*engine, repo, "dogs")).approvals.count, 1u);
  EXPECT_EQ(policy_of(get_gate_policy(*engine, repo, "dogs", 1)).approvals.count, 0u);
  EXPECT_EQ(policy_of(get_gate_policy(*engine, repo, "dogs", 1)).name, "dogs");
  EXPECT_EQ(reason_of([&] { get_gate_policy(*engine, repo, "dogs", 3); }), "policy_not_found");
}

TEST_F(Policies, ARemovalIsAVersionWithoutADocument) {
  set("dogs", document("main"));
  remove_gate_policy(*engine, repo, "dogs", "ben");
  EXPECT_EQ(reason_of([&] { get_gate_policy(*engine, repo, "dogs"); }), "policy_not_found");
  EXPECT_EQ(reason_of([&] { remove_gate_policy(*engine, repo, "dogs", "ben"); }),
            "policy_not_found");
  const auto removal = get_gate_policy(*engine, repo, "dogs", 2);
  EXPECT_FALSE(removal.body);
  EXPECT_EQ(removal.author, "ben");
  EXPECT_EQ(reason_of([&] { policy_of(removal); }), "policy_not_found");
  EXPECT_TRUE(list_gate_policies(*engine, repo, "", "", 10).items.empty());
  EXPECT_EQ(set("dogs", document("main")).version.version, 3);
  EXPECT_TRUE(get_gate_policy(*engine, repo, "dogs", 1).body) << "what was stays";

  const auto versions = list_gate_policy_versions(*engine, repo, "dogs", "", 2);
  ASSERT_EQ(versions.items.size(), 2u);
  EXPECT_EQ(versions.items[0].version, 3);
  EXPECT_TRUE(versions.has_more);
  EXPECT_EQ(list_gate_policy_versions(*engine, repo, "dogs", versions.next, 2).items[0].version, 1);
  EXPECT_EQ(reason_of([&] { list_gate_policy_versions(*engine, repo, "cats", "", 2); }),
            "policy_not_found");
  EXPECT_EQ(reason_of([&] { list_gate_policy_versions(*engine, repo, "dogs", "x", 2); }),
            "invalid_argument");
}

TEST_F(Policies, BranchesShowTheirGate) {
  set("dogs", document("main"));
  EXPECT_EQ(gate("main"), "dogs");
  EXPECT_EQ(gate("prod"), "");
  set("dogs", document("prod"));
  EXPECT_EQ(gate("main"), "");
  EXPECT_EQ(gate("prod"), "dogs");
  set("cats", document("main"));
  EXPECT_EQ(gate("main"), "cats");
  remove_gate_policy(*engine, repo, "dogs", "ann");
  EXPECT_EQ(gate("prod"), "");
  EXPECT_EQ(gate("main"), "cats");
}

TEST_F(Policies, RefusedPolicyChangesNothing) {
  set("dogs", document("main", "alias: champion"));
  const int64_t before = settings_version();
  EXPECT_EQ(set_reason("dogs", document("nowhere")), "branch_not_found");
  EXPECT_EQ(set_reason("cats", document("main")), "destination_has_policy");
  EXPECT_EQ(set_reason("cats", document("prod", "alias: champion")), "alias_has_policy");
  EXPECT_EQ(set_reason("dogs", document("main", "foo: 1")), "policy_invalid");
  EXPECT_EQ(set_reason("dogs", document("main", "name: cats")), "policy_invalid");
  EXPECT_EQ(set_reason("a/b", document("prod")), "policy_invalid");
  EXPECT_EQ(set_reason("dogs", document("prod"), 0), "policy_moved");
  EXPECT_EQ(set_reason("dogs", document("prod"), 2), "policy_moved");
  EXPECT_EQ(set_reason("cats", document("prod"), 1), "policy_moved");
  EXPECT_EQ(reason_of([&] { remove_gate_policy(*engine, repo, "dogs", "ann", 2); }),
            "policy_moved");
  EXPECT_EQ(settings_version(), before);
  EXPECT_EQ(get_gate_policy(*engine, repo, "dogs").version, 1);
  EXPECT_EQ(list_gate_policies(*engine, repo, "", "", 10).items.size(), 1u);
  EXPECT_EQ(set_reason("dogs", document("prod"), 1), "done");
  EXPECT_EQ(set_reason("cats", document("main", "alias: champion"), 0), "done")
      << "the alias is free again";
}

TEST_F(Policies, ARefThatMayMeanAnotherCommitIsRefused) {
  engine.put(repo, "main", "data/less", "0");
  const std::string meant = to_text(engine.commit(repo, "main").id);
  engine.put(repo, "main", "data/more", "1");
  engine.commit(repo, "main");
  const std::string prefix = meant.substr(0, 12);
  EXPECT_EQ(set_reason("dogs", document("prod", "require_ancestor: '" + prefix + "'\n")), "done");
  branch::create_tag(*engine, repo, TagName(prefix), "main", /*force=*/false);
  for (const std::string& ref : {"require_ancestor: '" + prefix + "'\n",
                                 "unchanged_since: {ref: '" + prefix + "', paths: [a]}\n"}) {
    EXPECT_EQ(set_reason("dogs", document("prod", ref + "require_up_to_date: true\n")),
              "ref_ambiguous");
  }
}

TEST_F(Policies, PolicyNeedsItsBranchAndPreventsItsDeletion) {
  EXPECT_EQ(set_reason("dogs", document("later")), "branch_not_found");
  EXPECT_TRUE(list_gate_policies(*engine, repo, "", "", 10).items.empty());
  engine.branch(repo, "later", "main");
  EXPECT_EQ(gate("later"), "") << "the policy was refused";
  set("dogs", document("later"));
  const auto remove = [&] {
    return reason_of([&] { branch::delete_branch(*engine, repo, BranchName("later"), false); });
  };
  EXPECT_EQ(remove(), "protected_branch");
  EXPECT_EQ(gate("later"), "dogs");
  remove_gate_policy(*engine, repo, "dogs", "ann");
  EXPECT_EQ(remove(), "done");
  engine.branch(repo, "later", "main");
  EXPECT_EQ(gate("later"), "");
}

// Verified by mutation: without the lock a policy without a branch remained, and a recreated branch
// was unprotected.
TEST_F(Policies, PolicyOfABranchDeletedMeanwhileIsNotSet) {
  std::string reason;
  while_held({"test_delete_prod",
              "DELETE FROM branches b USING repositories r WHERE r.repo_id = b.repo_id AND "
              "r.name = $1 AND b.name = 'prod'"},
             [&] { reason = set_reason("dogs", document("prod")); });
  EXPECT_EQ(reason, "branch_not_found");
  EXPECT_TRUE(list_gate_policies(*engine, repo, "", "", 10).items.empty());
}

TEST_F(Policies, PolicySetMeanwhileStopsTheDeletion) {
  branch::Engine& parts = *engine;
  const BranchId prod = branch::get_branch(parts, repo, BranchName("prod")).id;
  const meta::BranchLease lease =
      parts.branches.acquire(prod, 1, std::chrono::seconds(30), /*rotate=*/false).lease;
  std::string reason;
  while_held({"test_gate_prod",
              "UPDATE branches b SET gate = 'dogs' FROM repositories r WHERE r.repo_id = "
              "b.repo_id AND r.name = $1 AND b.name = 'prod'"},
             [&] {
               reason = reason_of([&] {
                 EXPECT_FALSE(parts.branches.remove(prod, lease, meta::Branches::RemoveIf::kAny));
               });
             });
  EXPECT_EQ(reason, "protected_branch");
  EXPECT_EQ(gate("prod"), "dogs");
}

TEST_F(Policies, TheAliasOfAPolicyIsMovedByPromotionsOnly) {
  const auto move = [&](std::string_view alias) {
    return reason_of([&] {
      branch::set_alias(*engine, repo, {.name = AliasName(std::string(alias)), .actor = "ann"},
                        "main");
    });
  };
  EXPECT_EQ(move("champion"), "done");
  set("dogs", document("main", "alias: champion"));
  EXPECT_EQ(move("champion"), "protected_alias");
  set("dogs", document("main", "alias: other"));
  EXPECT_EQ(move("champion"), "done");
  EXPECT_EQ(move("other"), "protected_alias");
  remove_gate_policy(*engine, repo, "dogs", "ann");
  EXPECT_EQ(move("other"), "done");
}

TEST_F(Policies, AreListedByName) {
  set("b", document("main"));
  set("a", document("prod"));
  const auto page = list_gate_policies(*engine, repo, "", "", 1);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].name, "a");
  EXPECT_TRUE(page.has_more);
  EXPECT_EQ(list_gate_policies(*engine, repo, "", page.next, 1).items[0].name, "b");
  EXPECT_EQ(list_gate_policies(*engine, repo, "b", "", 10).items.size(), 1u);
}

TEST_F(Policies, VersionsAreNeverChangedAndGoWithTheRepository) {
  set("dogs", document("main"));
  EXPECT_NE(execute("test_change_version", "UPDATE gate_policy_versions SET document = 'x'")
                .find("append-only"),
            std::string::npos);
  EXPECT_NE(execute("test_drop_versions", "DELETE FROM gate_policy_versions").find("append-only"),
            std::string::npos);
  EXPECT_NE(execute("test_truncate_versions", "TRUNCATE gate_policy_versions").find("append-only"),
            std::string::npos);
  branch::delete_repository(*engine, repo, false);
  EXPECT_EQ(execute("test_sweep_versions",
                    "DELETE FROM gate_policy_versions WHERE repo_id NOT IN "
                    "(SELECT repo_id FROM repositories WHERE deleted_ms IS NULL)"),
            "done");
}

/// A policy whose changes a second user confirms, in force as version 1.
class ConfirmedPolicies : public Policies {
 protected:
  void SetUp() override {
    set("dogs", kText);
    ASSERT_EQ(version(), 1);
  }
  std::string set_as(const std::string& user, const std::string& text,
                     std::optional<int64_t> expected = std::nullopt) {
    try {
      const GatePolicySet done = set_gate_policy(
          *engine, repo, "dogs", {.document = text, .author = user, .expected = expected});
      return done.changed ? "set" : done.proposed ? "proposed" : "unchanged";
    } catch (const Error& error) {
      return std::string(error.reason());
    }
  }
  std::string remove_as(const std::string& user) {
    return remove_gate_policy(*engine, repo, "dogs", user) ? "removed" : "proposed";
  }
  int64_t version() { return get_gate_policy(*engine, repo, "dogs").version; }
  std::string proposed_by() {
    const auto proposal = find_gate_policy_proposal(*engine, repo, "dogs");
    return proposal ? proposal->author : "";
  }

  const std::string kText = document("prod", "confirm_changes: true\n");
  const std::string kWeak = document("prod", "confirm_changes: false\n");
};

TEST_F(ConfirmedPolicies, ChangeOnceASecondUserAsksForTheSame) {
  EXPECT_EQ(set_as("ann", kWeak), "proposed");
  EXPECT_EQ(set_as("ann", kWeak), "proposed") << "the same user again";
  EXPECT_EQ(version(), 1);
  EXPECT_EQ(proposed_by(), "ann");
  EXPECT_EQ(set_as("bob", kWeak), "set");
  EXPECT_EQ(version(), 2);
  EXPECT_EQ(proposed_by(), "");
  EXPECT_EQ(set_as("ann", kText), "set") << "version 2 wants no confirmation";
}

TEST_F(ConfirmedPolicies, AnotherDocumentConfirmsNothing) {
  EXPECT_EQ(set_as("ann", kWeak), "proposed");
  EXPECT_EQ(set_as("bob", kWeak + "# more\n"), "proposed");
  EXPECT_EQ(proposed_by(), "bob") << "the later proposal replaces the earlier";
  EXPECT_EQ(set_as("bob", kWeak), "proposed") << "what ann proposed is gone";
  EXPECT_EQ(version(), 1);
}

TEST_F(ConfirmedPolicies, AreRemovedByTwoUsers) {
  EXPECT_EQ(remove_as("ann"), "proposed");
  EXPECT_EQ(remove_as("ann"), "proposed");
  EXPECT_EQ(gate("prod"), "dogs");
  EXPECT_EQ(set_as("bob", kWeak), "proposed") << "a change does not confirm a removal";
  EXPECT_EQ(remove_as("bob"), "proposed") << "which is gone";
  EXPECT_EQ(remove_as("ann"), "removed");
  EXPECT_EQ(gate("prod"), "");
}

TEST_F(ConfirmedPolicies, AProposalIsOfOneVersion) {
  EXPECT_EQ(set_as("ann", kWeak), "proposed");
  const std::string other = kText + "require_up_to_date: true\n";
  EXPECT_EQ(set_as("bob", other), "proposed");
  EXPECT_EQ(set_as("carol", other), "set");
  EXPECT_EQ(set_as("bob", kWeak), "proposed") << "nobody proposed it for version 2";
}

TEST_F(ConfirmedPolicies, TheDocumentInForceWithdrawsAProposal) {
  EXPECT_EQ(set_as("ann", kWeak), "proposed");
  EXPECT_EQ(set_as("bob", kText), "unchanged");
  EXPECT_EQ(proposed_by(), "");
  EXPECT_EQ(set_as("bob", kWeak), "proposed");
}

TEST_F(ConfirmedPolicies, AUserWhoIsMadeAgainIsStillOne) {
  const auto make_user = [&](const char* name) {
    engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ($1, 0)"}, {name},
                    db::Pool::Retry::kWrite);
  };
  make_user("ann");
  EXPECT_EQ(set_as("ann", kWeak), "proposed");
  engine.pool.run({"test_rename_user", "UPDATE users SET name = 'eve' WHERE name = 'ann'"}, {},
                  db::Pool::Retry::kWrite);
  EXPECT_EQ(set_as("eve", kWeak), "proposed") << "another name of the same user";
  make_user("bob");
  EXPECT_EQ(set_as("bob", kWeak), "set");
}

TEST_F(ConfirmedPolicies, MeanTheRefsThatWereProposed) {
  const std::string ref = document("prod", "require_ancestor: prod\n");
  EXPECT_EQ(set_as("ann", ref), "proposed");
  engine.put(repo, "main", "more", "1");
  engine.commit(repo, "main");
  const std::string moving = document("prod", "require_ancestor: main\n");
  EXPECT_EQ(set_as("ann", moving), "proposed");
  engine.put(repo, "main", "more", "2");
  engine.commit(repo, "main");
  EXPECT_EQ(set_as("bob", moving), "proposed") << "the ref means another commit by now";
  EXPECT_EQ(set_as("ann", moving), "set");
}

TEST_F(ConfirmedPolicies, OfTwoAtOnceOneConfirms) {
  for (int round = 0; round < 20; ++round) {
    const std::string text = kText + "# " + std::to_string(round) + "\n";
    std::vector<std::string> done(2);
    {
      std::jthread one([&] { done[0] = set_as("ann", text); });
      std::jthread two([&] { done[1] = set_as("bob", text); });
    }
    std::sort(done.begin(), done.end());
    EXPECT_EQ(done, (std::vector<std::string>{"proposed", "set"}));
  }
}

}  // namespace
}  // namespace tarn::promotion
