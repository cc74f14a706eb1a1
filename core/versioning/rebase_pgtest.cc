// Rebases: what is made again, what refuses them, and what overtakes them.
#include <gtest/gtest.h>

#include "core/base/acting_user.h"
#include "core/base/reasons.h"
#include "core/branch/authors.h"
#include "core/branch/pull_request_store.h"
#include "core/branch/settings.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/versioning/log.h"
#include "core/versioning/pull_requests.h"
#include "core/versioning/rebase.h"
#include "core/versioning/reset.h"
#include "core/versioning/verbs_fixture.h"
#include "tests/support/fault_points.h"

namespace tarn::versioning {
namespace {

using testing::kDev;
using testing::kMain;
using testing::message_of;
using testing::reason_of;
using testing::TestEngine;

class Rebases : public Verbs {
 protected:
  testing::FaultPoints faults;
  /// The server whose rebase is overtaken; `engine` is the other one.
  TestEngine slow{shared_url(), engine.store, &faults};

  void SetUp() override {
    engine.put(repo, "main", "a", "1");
    engine.commit(repo, "main", "first");
    engine.branch(repo, "dev", "main");
  }
  Commit change(const std::string& branch, const std::string& key, const std::string& text,
                const std::string& message, Metadata metadata = {}) {
    engine.put(repo, branch, key, text);
    CommitRequest request;
    request.committer = "ann";
    request.message = message;
    request.metadata = std::move(metadata);
    return commit_branch(*engine, repo, BranchName(branch), request);
  }
  Rebase rebase(const std::string& branch, const std::string& onto,
                MergeStrategy strategy = MergeStrategy::kNone) {
    return rebase_branch(*engine, repo, BranchName(branch), {.onto = onto, .strategy = strategy});
  }
  Rebase rebase_slowly() { return rebase_branch(*slow, repo, kDev, {.onto = "main"}); }
  /// The messages of a branch's first-parent line, the newest first.
  std::string log(const std::string& branch) {
    std::string out;
    Commit at = (*engine).commits.get(repo.id, engine.head(repo, branch));
    for (;;) {
      out += at.message + ";";
      if (at.parents.empty()) return out;
      at = (*engine).commits.get(repo.id, at.parents[0]);
    }
  }
};

TEST_F(Rebases, EachCommitIsMadeAgainWithWhatItSaid) {
  const Commit one = change("dev", "b", "2", "one", {{"note", "x"}, {"metric.f1", "0.9"}});
  const Commit two = change("dev", "a", "changed", "two");
  const Commit upstream = change("main", "c", "3", "upstream");
  const Rebase done = rebase("dev", "main");
  EXPECT_EQ(done.before, two.id);
  EXPECT_EQ(done.head, engine.head(repo, "dev"));
  ASSERT_EQ(done.commits.size(), 2u);
  EXPECT_EQ(done.commits[0].from, one.id);
  EXPECT_EQ(done.commits[1].from, two.id);
  EXPECT_EQ(done.commits[1].to, done.head);
  EXPECT_TRUE(log("dev").starts_with("two;one;upstream;first;")) << log("dev");

  const Commit first = (*engine).commits.get(repo.id, done.commits[0].to);
  EXPECT_EQ(first.parents, std::vector{upstream.id});
  EXPECT_EQ(first.committer, "ann");
  const Metadata kept{{"note", "x"}, {kCherryPickOrigin, to_text(one.id)}};
  EXPECT_EQ(first.metadata, kept);
  EXPECT_EQ(first.generation, upstream.generation + 1);
  EXPECT_GT(first.created, upstream.created);
  EXPECT_EQ(engine.keys(repo, to_text(first.id)), "a b c");
  EXPECT_EQ(engine.read(repo, to_text(first.id), "a"), "1");
  EXPECT_EQ(engine.read(repo, "dev", "a"), "changed");
  EXPECT_EQ(engine.keys(repo, "dev"), "a b c");
  // The old commits stay as they were.
  EXPECT_EQ(engine.keys(repo, to_text(two.id)), "a b");
}

TEST_F(Rebases, NoObjectIsReadOrWritten) {
  change("dev", "b", "2", "one");
  change("main", "c", "3", "upstream");
  const auto objects = engine.store->list("", "", 1000).items.size();
  rebase("dev", "main");
  EXPECT_EQ(engine.store->list("", "", 1000).items.size(), objects);
}

TEST_F(Rebases, TheWorkOfOthersStaysTheirs) {
  {
    const ActingUser ben("ben", {}, {});
    change("dev", "b", "2", "one");
    change("dev", "c", "3", "two");
  }
  change("main", "d", "4", "upstream");
  const ActingUser cat("cat", {}, {});
  const Rebase done = rebase("dev", "main");
  for (const RebasedCommit& commit : done.commits) {
    const meta::CommitMakers makers =
        (*engine).commits.makers(repo.id, std::span(&commit.to, 1)).at(commit.to);
    EXPECT_EQ(makers.user, "cat");
    const std::set<std::string> others(makers.others.begin(), makers.others.end());
    EXPECT_TRUE(others.contains("ben"));
  }
}

TEST_F(Rebases, AConflictNamesItsPathsAndChangesNothing) {
  change("dev", "b", "2", "one");
  const Commit two = change("dev", "a", "theirs", "two\nwith more text");
  change("main", "a", "ours", "upstream");
  const std::string refused = message_of([&] { rebase("dev", "main"); });
  EXPECT_NE(refused.find(to_text(two.id).substr(0, 12)), std::string::npos) << refused;
  EXPECT_NE(refused.find("(\"two\")"), std::string::npos) << refused;
  EXPECT_TRUE(refused.ends_with(": \"a\"")) << refused;
  EXPECT_EQ(reason_of([&] { rebase("dev", "main"); }), "merge_conflict");
  EXPECT_EQ(engine.head(repo, "dev"), two.id);

  engine.branch(repo, "other", "dev");
  rebase("dev", "main", MergeStrategy::kSourceWins);
  EXPECT_EQ(engine.read(repo, "dev", "a"), "theirs");
  const Rebase theirs = rebase("other", "main", MergeStrategy::kDestinationWins);
  EXPECT_EQ(engine.read(repo, "other", "a"), "ours");
  EXPECT_EQ(theirs.left_out, std::vector{two.id});
}

TEST_F(Rebases, CommitsThatAreThereAlreadyAreLeftOut) {
  const Commit one = change("dev", "b", "2", "one");
  change("dev", "c", "3", "two");
  change("main", "b", "2", "the same");
  const Rebase done = rebase("dev", "main");
  EXPECT_EQ(done.left_out, std::vector{one.id});
  EXPECT_TRUE(log("dev").starts_with("two;the same;first;"));
  // All of them: the branch then moves only.
  engine.branch(repo, "twin", "main~1");
  change("twin", "b", "2", "again");
  const Rebase all = rebase("twin", "main");
  EXPECT_EQ(all.left_out.size(), 1u);
  EXPECT_TRUE(all.commits.empty());
  EXPECT_EQ(engine.head(repo, "twin"), engine.head(repo, "main"));
}

TEST_F(Rebases, ACommitThatNeverChangedAnythingStays) {
  CommitRequest request;
  request.committer = "ann";
  request.message = "empty";
  request.allow_empty = true;
  commit_branch(*engine, repo, kDev, request);
  change("main", "c", "3", "upstream");
  EXPECT_EQ(rebase("dev", "main").commits.size(), 1u);
  EXPECT_TRUE(log("dev").starts_with("empty;upstream;first;"));
}

TEST_F(Rebases, ABranchWithoutCommitsOfItsOwnMoves) {
  const Commit upstream = change("main", "c", "3", "upstream");
  EXPECT_EQ(rebase("dev", "main").head, upstream.id);
  EXPECT_EQ(engine.head(repo, "dev"), upstream.id);
  // And one that is based on it already stays.
  const Commit own = change("dev", "d", "4", "own");
  const Rebase none = rebase("dev", "main");
  EXPECT_EQ(none.head, own.id);
  EXPECT_EQ(none.before, own.id);
}

TEST_F(Rebases, MergesAreNotMadeAgain) {
  change("main", "c", "3", "upstream");
  change("dev", "b", "2", "one");
  EXPECT_EQ(merge("main", "dev"), "merged");
  const CommitId merged = engine.head(repo, "dev");
  change("main", "d", "4", "more");
  EXPECT_EQ(reason_of([&] { rebase("dev", "main"); }), "rebase_of_merge");
  EXPECT_EQ(engine.head(repo, "dev"), merged);
}

TEST_F(Rebases, UncommittedChangesAndRulesRefuseIt) {
  change("main", "c", "3", "upstream");
  const CommitId before = change("dev", "b", "2", "one").id;
  engine.put(repo, "dev", "staged", "x");
  EXPECT_EQ(reason_of([&] { rebase("dev", "main"); }), "dirty_branch");
  reset_branch(*engine, repo, kDev, false);
  for (const BranchAction action : {BranchAction::kReset, BranchAction::kCommit}) {
    branch::set_branch_rules(*engine, repo,
                             {{.pattern = Glob("dev"), .blocked_actions = std::set{action}}}, {});
    EXPECT_EQ(reason_of([&] { rebase("dev", "main"); }), "protected_branch");
    branch::set_branch_rules(*engine, repo, {}, {});
    // Also one that is set while it runs.
    faults.at_then_go_on({"branches_publish_commit"}, [&] {
      branch::set_branch_rules(*engine, repo,
                               {{.pattern = Glob("dev"), .blocked_actions = std::set{action}}}, {});
    });
    EXPECT_EQ(reason_of([&] { rebase_slowly(); }), "protected_branch");
    EXPECT_EQ(faults.unreached(), 0u);
    branch::set_branch_rules(*engine, repo, {}, {});
  }
  EXPECT_EQ(engine.head(repo, "dev"), before);
  EXPECT_EQ(reason_of([&] { rebase("dev", "nope"); }), "ref_not_found");
  EXPECT_EQ(reason_of([&] { rebase("nope", "main"); }), "branch_not_found");
}

TEST_F(Rebases, AConditionalWriteThatCameMeanwhileIsNotHidden) {
  change("main", "c", "3", "upstream");
  change("dev", "b", "2", "one");
  branch::Condition absent;
  absent.if_absent = true;
  // It was decided against the tree of before: the rebase begins again, and finds the branch dirty.
  faults.at_then_go_on({"branches_publish_commit"},
                       [&] { engine.put(repo, "dev", "late", "x", absent); });
  EXPECT_EQ(reason_of([&] { rebase_slowly(); }), "dirty_branch");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.read(repo, "dev", "late"), "x");
}

TEST_F(Rebases, AWriteThatCameMeanwhileStaysStaged) {
  change("main", "c", "3", "upstream");
  change("dev", "b", "2", "one");
  faults.at_then_go_on({"branches_publish_commit"}, [&] { engine.put(repo, "dev", "late", "x"); });
  rebase_slowly();
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.keys(repo, "dev"), "a b c late");
  EXPECT_EQ(uncommitted("dev"), "+late");
}

TEST_F(Rebases, ACommitThatTookTheBranchOverIsMadeAgainToo) {
  change("main", "c", "3", "upstream");
  change("dev", "b", "2", "one");
  faults.at_then_go_on({"branches_publish_commit"}, [&] {
    engine.pool.run({"test_end_lease",
                     "UPDATE branches SET lease_until = clock_timestamp() - interval '1 second' "
                     "WHERE lease_owner IS NOT NULL AND repo_id = $1"},
                    {static_cast<int32_t>(repo.id)}, db::Pool::Retry::kWrite);
    change("dev", "d", "4", "overtook");
  });
  EXPECT_EQ(rebase_slowly().commits.size(), 2u);
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_TRUE(log("dev").starts_with("overtook;one;upstream;first;"));
}

TEST_F(Rebases, ALostAnswerIsFoundOut) {
  change("main", "c", "3", "upstream");
  change("dev", "b", "2", "one");
  change("dev", "d", "4", "two");
  faults.lose_answer("branches_publish_commit");
  const std::string outcome = reason_of([&] { rebase_slowly(); });
  EXPECT_EQ(faults.unreached(), 0u);
  // It is done as a whole or not at all.
  if (outcome == "done") {
    EXPECT_TRUE(log("dev").starts_with("two;one;upstream;first;"));
  } else {
    EXPECT_TRUE(log("dev").starts_with("two;one;first;"));
  }
}

TEST_F(Rebases, ApprovalsOfTheOldHeadAreVoid) {
  engine.pool.run({"test_insert_user",
                   "INSERT INTO users (name, created_ms) VALUES ('ben', 0) ON CONFLICT DO NOTHING"},
                  {}, db::Pool::Retry::kWrite);
  const Commit one = change("dev", "b", "2", "one");
  const PullRequest pull = create_pull_request(
      *engine, repo, {.title = "t", .author = "ann", .source = kDev, .destination = kMain});
  approve_pull_request(*engine, repo, pull.id, "ben", one.id);
  change("main", "c", "3", "upstream");
  const Rebase done = rebase("dev", "main");
  const auto count = [&](const CommitId& head) {
    return (*engine).pull_requests.count_reviews(repo.id, kMain, head).approvals;
  };
  EXPECT_EQ(count(done.head), 0u);
  EXPECT_EQ(get_pull_request(*engine, repo, pull.id).status, PullRequestStatus::kOpen);
}

TEST_F(Rebases, TooManyCommitsAreRefused) {
  change("main", "c", "3", "upstream");
  CommitRequest request;
  request.committer = "ann";
  request.message = "m";
  request.allow_empty = true;
  for (size_t i = 0; i <= kRebaseCommitsMax; ++i) commit_branch(*engine, repo, kDev, request);
  EXPECT_EQ(reason_of([&] { rebase("dev", "main"); }), "too_many_commits");
  hard_reset_branch(*engine, repo, kDev, "dev~1", false);
  EXPECT_EQ(rebase("dev", "main").commits.size(), kRebaseCommitsMax);
}

}  // namespace
}  // namespace tarn::versioning
