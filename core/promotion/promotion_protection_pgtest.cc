// Tests that the branch and alias of a policy are moved by promotions alone.
#include <functional>

#include "core/branch/aliases.h"
#include "core/meta/branches.h"
#include "core/meta/writer.h"
#include "core/promotion/promotions_fixture.h"
#include "core/versioning/merge.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"

namespace tarn::promotion {
namespace {

using testing::message_of;
using testing::reason_of;

TEST_F(Promotions, NothingButAPromotionChangesAProtectedBranch) {
  candidate("exp-1", "0.8");
  apply_policy();
  const CommitId before = head("main");
  const auto refused = [&](const char* what, const std::function<void()>& change) {
    const std::string message = message_of(change);
    EXPECT_NE(message.find("tarn promote"), std::string::npos) << what << ": " << message;
    EXPECT_EQ(reason_of(change), "protected_branch") << what;
  };
  versioning::RevertRequest revert;
  revert.ref = "main";
  versioning::CherryPickRequest pick;
  pick.ref = "exp-1";
  refused("put", [&] { engine.put(repo, "main", "x", "1"); });
  refused("remove", [&] { engine.remove(repo, "main", "data/a"); });
  refused("commit", [&] { engine.commit(repo, "main"); });
  refused("merge", [&] { versioning::merge_into(*engine, repo, "exp-1", BranchName("main"), {}); });
  refused("revert", [&] { versioning::revert_branch(*engine, repo, BranchName("main"), revert); });
  refused("cherry-pick", [&] { versioning::cherry_pick(*engine, repo, BranchName("main"), pick); });
  refused("reset", [&] { versioning::reset_branch(*engine, repo, BranchName("main"), false); });
  refused("hard reset", [&] {
    versioning::hard_reset_branch(*engine, repo, BranchName("main"), "exp-1", false);
  });
  EXPECT_EQ(head("main"), before);
}

// The verb asked before the policy was set; the trigger on branches knows.
TEST_F(Promotions, AVerbThatBeganBeforeThePolicyIsStopped) {
  candidate("exp-1", "0.8");
  const Branch branch = branch::get_branch(*engine, repo, BranchName("main"));
  branch::Engine& parts = *engine;
  auto lease = parts.branches.acquire(branch.id, 1, std::chrono::seconds(30), false).lease;
  meta::Publication publication;
  publication.repository = branch::get_repository(parts, repo).id;
  publication.branch = branch.id;
  publication.commit = branch::resolve_commit(parts, repo, "exp-1");
  publication.commit.parents = {branch.head};
  publication.commit.message = "began before";
  publication.commit.id = compute_commit_id(publication.commit);
  apply_policy();
  const auto publish = [&] {
    return parts.branches.publish(parts.writer.id(), lease, publication);
  };
  const auto move_head = [&] {
    return parts.branches.move_head(branch.id, lease, branch::resolve_commit(parts, repo, "exp-1"),
                                    {});
  };
  const auto remove = [&] {
    return parts.branches.remove(branch.id, lease, meta::Branches::RemoveIf::kAny);
  };
  EXPECT_EQ(publish(), meta::PublishOutcome::kChanged);
  EXPECT_FALSE(move_head());
  EXPECT_FALSE(remove());
  // Were the version not compared, the trigger would still know.
  lease.settings_version = branch::get_branch(parts, repo, BranchName("main")).settings_version;
  EXPECT_EQ(reason_of(publish), "protected_branch");
  EXPECT_EQ(reason_of(move_head), "protected_branch");
  EXPECT_FALSE(remove()) << "of the default branch";
  engine.pool.lease()->run_script("UPDATE repositories SET default_branch = 'exp-1'");
  EXPECT_EQ(reason_of(remove), "protected_branch");
  EXPECT_EQ(head("main"), branch.head);
  publication.promotion = true;
  EXPECT_EQ(publish(), meta::PublishOutcome::kDone);
  EXPECT_EQ(head("main"), publication.commit.id);
}

TEST_F(Promotions, AnAliasThatAPolicyNamesMovesByPromotionOnly) {
  apply_policy();
  candidate("exp-1", "0.8");
  ASSERT_EQ(outcome(promote({"exp-1"})), "promoted");
  EXPECT_EQ(reason_of([&] {
              branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "x"},
                                "main~1");
            }),
            "protected_alias");
  EXPECT_EQ(reason_of([&] {
              branch::remove_alias(*engine, repo, {.name = AliasName("champion"), .actor = "x"});
            }),
            "protected_alias");
}

}  // namespace
}  // namespace tarn::promotion
