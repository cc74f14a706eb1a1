// Verbs that are overtaken between what they judged and what they change, on two servers.
#include <functional>
#include <future>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "core/branch/branch_hold.h"
#include "core/branch/settings.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/staging.h"
#include "core/versioning/merge.h"
#include "core/versioning/move.h"
#include "core/versioning/pull_requests.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"
#include "tests/support/commit_lock.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::FaultPoints;
using testing::kDev;
using testing::kMain;
using testing::reason_of;
using testing::TestEngine;

class PublicationRaces : public testing::RepositoryTest {
 protected:
  void add_user(std::string_view name) {
    engine.pool.run({"test_insert_user",
                     "INSERT INTO users (name, created_ms) VALUES ($1, 0) ON CONFLICT DO NOTHING"},
                    {name}, db::Pool::Retry::kWrite);
  }
  /// From kDev into kMain, whose rule wants the one approval that it has.
  PullRequest approved_pull() {
    add_user("ben");
    engine.put(repo, "dev", "b", "2");
    engine.commit(repo, "dev");
    set_branch_rules(
        *engine, repo,
        {{.pattern = Glob("main"), .blocked_actions = std::set<BranchAction>{}, .approvals = 1}},
        {});
    const PullRequest pull = versioning::create_pull_request(
        *engine, repo, {.title = "t", .author = "ann", .source = kDev, .destination = kMain});
    versioning::approve_pull_request(*engine, repo, pull.id, "ben",
                                     branch::get_branch(*engine, repo, pull.source).head);
    return pull;
  }
  FaultPoints faults;
  /// The server whose verb is overtaken; `engine` is the other one.
  TestEngine slow{shared_url(), engine.store, &faults};

  void SetUp() override {
    engine.put(repo, "main", "a", "1");
    engine.commit(repo, "main");
    engine.branch(repo, "dev", "main");
  }

  void revert(const std::string& ref) {
    versioning::RevertRequest request;
    request.committer = "tester";
    request.ref = ref;
    versioning::revert_branch(*slow, repo, kDev, request);
  }
  void pick(const std::string& ref) {
    versioning::CherryPickRequest request;
    request.committer = "tester";
    request.ref = ref;
    versioning::cherry_pick(*slow, repo, kMain, request);
  }

  void forbid(BranchAction action, const std::string& branch) {
    set_branch_rules(*engine, repo,
                     {{.pattern = Glob(branch), .blocked_actions = std::set{action}}}, {});
  }
  CommitId head(const BranchName& branch) { return get_branch(*engine, repo, branch).head; }
  /// The reason with which `verb` ends when a rule forbids it right before `statement`.
  template <typename Verb>
  std::string forbidden_at(const std::string& statement, BranchAction action,
                           const std::string& branch, const Verb& verb) {
    faults.at_then_go_on({statement}, [&, action, branch] { forbid(action, branch); });
    const std::string reason = reason_of(verb);
    EXPECT_EQ(faults.unreached(), 0u) << statement;
    set_branch_rules(*engine, repo, {}, {});
    return reason;
  }
  void run(const char* name, const char* sql, const BranchName& branch) {
    engine.pool.run({name, sql}, {static_cast<int32_t>(get_branch(*engine, repo, branch).id)},
                    db::Pool::Retry::kWrite);
  }
  /// The lease of the verb that holds the branch has run out.
  void let_lease_run_out(const BranchName& branch) {
    run("test_end_lease",
        "UPDATE branches SET lease_until = clock_timestamp() - interval '1 second' "
        "WHERE branch_id = $1 AND lease_owner IS NOT NULL",
        branch);
  }
  /// Whether `work` ends within a moment; else it waits for a lock, which `release` gives up.
  template <typename Work, typename Release>
  static bool waits_until(Work&& work, Release&& release) {
    auto done = std::async(std::launch::async, std::forward<Work>(work));
    const bool waited =
        done.wait_for(std::chrono::milliseconds{300}) == std::future_status::timeout;
    release();
    done.get();
    return waited;
  }
};

TEST_F(PublicationRaces, ARuleSetBeforePublicationStopsEveryVerbThatPublishes) {
  constexpr const char* kPublishCommit = "branches_publish_commit";
  engine.put(repo, "dev", "b", "2");
  const CommitId before = head(kDev);
  EXPECT_EQ(
      forbidden_at(kPublishCommit, BranchAction::kCommit, "dev", [&] { slow.commit(repo, "dev"); }),
      "protected_branch");
  EXPECT_EQ(head(kDev), before);
  engine.commit(repo, "dev");
  const CommitId made = head(kDev);
  EXPECT_EQ(forbidden_at(kPublishCommit, BranchAction::kMerge, "main",
                         [&] { versioning::merge_into(*slow, repo, "dev", kMain, {}); }),
            "protected_branch");
  EXPECT_EQ(forbidden_at(kPublishCommit, BranchAction::kRevert, "dev", [&] { revert("dev"); }),
            "protected_branch");
  EXPECT_EQ(forbidden_at(kPublishCommit, BranchAction::kCherryPick, "main", [&] { pick("dev"); }),
            "protected_branch");
  EXPECT_EQ(head(kMain), before);
  EXPECT_EQ(head(kDev), made);
}

TEST_F(PublicationRaces, ARuleSetBeforeTheChangeStopsEveryVerbThatChangesABranch) {
  constexpr const char* kBegin = "branches_begin_change";
  engine.put(repo, "dev", "b", "2");
  EXPECT_EQ(forbidden_at(kBegin, BranchAction::kReset, "dev",
                         [&] { versioning::reset_branch(*slow, repo, kDev, false); }),
            "branch_locked");
  EXPECT_EQ(forbidden_at(kBegin, BranchAction::kReset, "dev",
                         [&] { versioning::reset_prefix(*slow, repo, kDev, "b", false); }),
            "branch_locked");
  EXPECT_EQ(engine.read(repo, "dev", "b"), "2");
  engine.commit(repo, "dev");
  const CommitId made = head(kDev);
  EXPECT_EQ(forbidden_at(kBegin, BranchAction::kReset, "dev",
                         [&] { versioning::hard_reset_branch(*slow, repo, kDev, "main", false); }),
            "branch_locked");
  EXPECT_EQ(head(kDev), made);
  EXPECT_EQ(forbidden_at(kBegin, BranchAction::kDelete, "dev",
                         [&] { delete_branch(*slow, repo, kDev, false); }),
            "branch_locked");
  EXPECT_EQ(head(kDev), made);
  versioning::MoveRequest move;
  move.source = "b";
  move.destination = "c";
  EXPECT_EQ(forbidden_at("staged_batch_begin_change", BranchAction::kStage, "dev",
                         [&] { versioning::move_objects(*slow, repo, kDev, move); }),
            "protected_branch");
  EXPECT_EQ(engine.keys(repo, "dev"), "a b");
}

// A rule that came while the verb waited for its turn is asked before it begins.
TEST_F(PublicationRaces, RuleSetWhileAVerbWaitsIsCheckedUnderTheLease) {
  engine.put(repo, "dev", "b", "2");
  EXPECT_EQ(forbidden_at("branches_acquire_lease", BranchAction::kReset, "dev",
                         [&] { versioning::reset_branch(*slow, repo, kDev, false); }),
            "protected_branch");
  EXPECT_EQ(forbidden_at("branches_acquire_lease", BranchAction::kDelete, "dev",
                         [&] { delete_branch(*slow, repo, kDev, false); }),
            "protected_branch");
  // Refused, it has given the branch back.
  engine.commit(repo, "dev");
  EXPECT_EQ(engine.read(repo, "dev@", "b"), "2");
}

TEST_F(PublicationRaces, ApprovalWithdrawnBeforePublicationDoesNotCount) {
  const PullRequest pull = approved_pull();
  const CommitId before = head(kMain);
  faults.at_then_go_on({"branches_publish_commit"},
                       [&] { versioning::withdraw_approval(*engine, repo, pull.id, "ben"); });
  EXPECT_EQ(reason_of([&] { versioning::merge_pull_request(*slow, repo, pull, {}); }),
            "approval_required");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(head(kMain), before);
  versioning::approve_pull_request(*engine, repo, pull.id, "ben",
                                   branch::get_branch(*engine, repo, pull.source).head);
  EXPECT_EQ(reason_of([&] { versioning::merge_pull_request(*slow, repo, pull, {}); }), "done");
}

// An approval that the publishing transaction has counted is withdrawn afterwards.
TEST_F(PublicationRaces, AnApprovalIsHeldUntilPublished) {
  const PullRequest pull = approved_pull();
  std::future<void> withdrawal;
  faults.at_then_go_on({"pull_requests_hold_reviews", true}, [&] {
    withdrawal = std::async(std::launch::async,
                            [&] { versioning::withdraw_approval(*engine, repo, pull.id, "ben"); });
    EXPECT_EQ(withdrawal.wait_for(std::chrono::milliseconds{300}), std::future_status::timeout);
  });
  EXPECT_EQ(reason_of([&] { versioning::merge_pull_request(*slow, repo, pull, {}); }), "done");
  EXPECT_EQ(faults.unreached(), 0u);
  withdrawal.get();
  EXPECT_EQ(versioning::get_pull_request(*engine, repo, pull.id).status,
            PullRequestStatus::kMerged);
}

TEST_F(PublicationRaces, ChangesRequestedBeforePublicationStopIt) {
  const PullRequest pull = approved_pull();
  const CommitId before = head(kMain);
  faults.at_then_go_on({"branches_publish_commit"}, [&] {
    versioning::review_pull_request(*engine, repo, pull.id, "ben", ReviewVerdict::kChangesRequested,
                                    head(kDev));
  });
  EXPECT_EQ(reason_of([&] { versioning::merge_pull_request(*slow, repo, pull, {}); }),
            "changes_requested");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(head(kMain), before);
}

TEST_F(PublicationRaces, ChangesCannotBeRequestedUntilPublished) {
  const PullRequest pull = approved_pull();
  add_user("cid");
  std::future<std::string> request;
  faults.at_then_go_on({"pull_requests_hold_reviews", true}, [&] {
    request = std::async(std::launch::async, [&] {
      return reason_of([&] {
        versioning::review_pull_request(*engine, repo, pull.id, "cid",
                                        ReviewVerdict::kChangesRequested, head(kDev));
      });
    });
    EXPECT_EQ(request.wait_for(std::chrono::milliseconds{300}), std::future_status::timeout);
  });
  EXPECT_EQ(reason_of([&] { versioning::merge_pull_request(*slow, repo, pull, {}); }), "done");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(request.get(), "pull_request_not_open");
}

TEST_F(PublicationRaces, ChangesRequestedWhileTheMergeWaitsStopIt) {
  const PullRequest pull = approved_pull();
  add_user("cid");
  std::future<std::string> merge;
  engine.pool.transaction([&](db::Connection& connection) {
    connection.run(
        {"test_lock_pull", "SELECT 1 FROM pull_requests WHERE pull_id = $1 FOR NO KEY UPDATE"},
        {pull.id});
    merge = std::async(std::launch::async, [&] {
      return reason_of([&] { versioning::merge_pull_request(*slow, repo, pull, {}); });
    });
    EXPECT_EQ(merge.wait_for(std::chrono::milliseconds{500}), std::future_status::timeout);
    connection.run(
        {"test_request_changes",
         "INSERT INTO pull_reviewers (repo_id, pull_id, user_id, verdict, commit_id, reviewed_ms) "
         "SELECT $1, $2, user_id, 'changes_requested', $3, 0 FROM users WHERE name = 'cid'"},
        {static_cast<int32_t>(repo.id), pull.id, db::Bytes{view_of(head(kDev))}});
  });
  EXPECT_EQ(merge.get(), "changes_requested");
}

// A merge refers to its source, which may have no branch by then: it cannot be removed or expire
// from the check on. Verified by mutation: without the locks in require_kept_commits and
// publish_commit, each of which suffices.
TEST_F(PublicationRaces, AMergedCommitIsHeldUntilPublished) {
  const PullRequest pull = approved_pull();
  const CommitId source = head(kDev);
  const auto free = [&] { return testing::is_free(engine.pool, repo, source); };
  EXPECT_TRUE(free());
  faults.at_then_go_on({"pull_requests_hold_reviews", true}, [&] { EXPECT_FALSE(free()); });
  EXPECT_EQ(reason_of([&] { versioning::merge_pull_request(*slow, repo, pull, {}); }), "done");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_TRUE(free());
}

// The deletion waited longer than its lease lasts; another verb has the branch by then.
TEST_F(PublicationRaces, DeletionThatLostTheBranchFails) {
  std::optional<BranchHold> other;
  faults.at_then_go_on({"branches_begin_change"}, [&] {
    let_lease_run_out(kDev);
    other.emplace(*engine, get_branch(*engine, repo, kDev), /*rotate=*/false, nullptr);
  });
  EXPECT_EQ(reason_of([&] { delete_branch(*slow, repo, kDev, false); }), "branch_locked");
  EXPECT_EQ(faults.unreached(), 0u);
  other.reset();
  EXPECT_EQ(reason_of([&] { get_branch(*engine, repo, kDev); }), "done");
}

// The page asks for a deletion of what it showed. A commit or a staged object that was acknowledged
// since is not lost.
TEST_F(PublicationRaces, DeletionOfAnExpectedHeadKeepsACommitMadeMeanwhile) {
  const BranchExpectation seen{.head = head(kDev)};
  faults.at_then_go_on({"branches_acquire_lease"}, [&] {
    engine.put(repo, "dev", "b", "2");
    engine.commit(repo, "dev");
  });
  EXPECT_EQ(reason_of([&] { delete_branch(*slow, repo, kDev, false, seen); }), "branch_moved");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.read(repo, "dev@", "b"), "2");
  // Refused, it has given the branch back.
  delete_branch(*slow, repo, kDev, false, {.head = head(kDev)});
  EXPECT_EQ(reason_of([&] { head(kDev); }), "branch_not_found");
}

TEST_F(PublicationRaces, DeletionOfAnUnusedBranchKeepsAnObjectStagedMeanwhile) {
  const BranchExpectation seen{.head = head(kDev), .unused = true};
  for (const char* statement : {"branches_acquire_lease", "branches_begin_change"}) {
    faults.at_then_go_on({statement}, [&] { engine.put(repo, "dev", "b", "2"); });
    EXPECT_EQ(reason_of([&] { delete_branch(*slow, repo, kDev, false, seen); }), "branch_in_use");
    EXPECT_EQ(faults.unreached(), 0u) << statement;
    EXPECT_EQ(engine.read(repo, "dev", "b"), "2");
    versioning::reset_branch(*engine, repo, kDev, false);
  }
  delete_branch(*slow, repo, kDev, false, seen);
  EXPECT_EQ(reason_of([&] { head(kDev); }), "branch_not_found");
}

TEST_F(PublicationRaces, DeletionOfAnUnusedBranchLosesNoWriteOfAnotherServer) {
  constexpr int kRounds = 40;
  int deleted = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string name = "race-" + std::to_string(round);
    engine.branch(repo, name, "main");
    const BranchExpectation seen{.head = head(BranchName(name)), .unused = true};
    auto put = std::async(std::launch::async,
                          [&] { return reason_of([&] { engine.put(repo, name, "b", "2"); }); });
    // The outcome depends on who is first.
    std::this_thread::sleep_for(std::chrono::microseconds{250 * (round % 8)});
    const std::string deletion =
        reason_of([&] { delete_branch(*slow, repo, BranchName(name), false, seen); });
    if (put.get() == "done") {
      EXPECT_EQ(deletion, "branch_in_use");
      EXPECT_EQ(engine.read(repo, name, "b"), "2");
    } else {
      EXPECT_EQ(deletion, "done");
      ++deleted;
    }
  }
  RecordProperty("deleted", deleted);
}

// A server whose lease expired during a pause changes nothing, even if the branch was not taken in
// the meantime: its client has given up, and others have written since.
TEST_F(PublicationRaces, ExpiredLeaseChangesNothing) {
  engine.put(repo, "dev", "b", "2");
  const auto overtaken = [&](const std::string& statement, const auto& verb) {
    faults.at_then_go_on({statement}, [&] { let_lease_run_out(kDev); });
    const std::string reason = reason_of(verb);
    EXPECT_EQ(faults.unreached(), 0u);
    return reason;
  };
  EXPECT_EQ(overtaken("branches_drop_staging",
                      [&] { versioning::reset_branch(*slow, repo, kDev, false); }),
            "branch_locked");
  EXPECT_EQ(overtaken("branches_rotate_for_range",
                      [&] { versioning::reset_prefix(*slow, repo, kDev, "b", false); }),
            "branch_locked");
  EXPECT_EQ(overtaken("branches_delete_row", [&] { delete_branch(*slow, repo, kDev, false); }),
            "branch_locked");
  EXPECT_EQ(
      overtaken("branches_renew_expiry", [&] { set_branch_expiry(*slow, repo, kDev, {}, false); }),
      "branch_locked");
  EXPECT_EQ(engine.read(repo, "dev", "b"), "2");
  engine.commit(repo, "dev");
  const CommitId made = head(kDev);
  EXPECT_EQ(overtaken("branches_move_head",
                      [&] { versioning::hard_reset_branch(*slow, repo, kDev, "main", false); }),
            "branch_locked");
  EXPECT_EQ(head(kDev), made);
}

// Statements of a change in doubt that still lie unread at a server that hangs would run when it
// wakes, over what was written since the answer.
TEST_F(PublicationRaces, AChangeInDoubtDoesNotHappenAfterItsAnswer) {
  const Branch dev = get_branch(*engine, repo, kDev);
  using Change = std::function<bool(meta::Branches&, const meta::BranchLease&)>;
  const std::map<std::string, Change> changes = {
      {"reset", [&](meta::Branches& at,
                    const meta::BranchLease& lease) { return at.drop_staging(dev.id, lease); }},
      {"reset of a prefix",
       [&](meta::Branches& at, const meta::BranchLease& lease) {
         return at.add_range(dev.id, lease, "b", "c", meta::Branches::RangeKind::kReset);
       }},
      {"hard reset", [&](meta::Branches& at, const meta::BranchLease& lease) {
         return at.move_head(dev.id, lease, *(*engine).commits.find(repo.id, dev.head), {});
       }}};
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    const BranchHold hold(*slow, dev, /*rotate=*/false, nullptr);
    faults.lose_answer("commit");
    EXPECT_EQ(reason_of([&] { change((*slow).branches, hold.lease()); }), "in_doubt");
    EXPECT_EQ(faults.unreached(), 0U);
    engine.put(repo, "dev", "b", "acknowledged since");
    EXPECT_FALSE(change((*engine).branches, hold.lease())) << "the late statement";
    EXPECT_EQ(engine.read(repo, "dev", "b"), "acknowledged since");
  }
}

// A change of the head waits for a conditional write that has read the root and not yet written its
// row: here the row waits for a transaction that holds its key, and the merge for the row.
TEST_F(PublicationRaces, HeadDoesNotMoveDuringAConditionalWrite) {
  engine.put(repo, "dev", "log/1.json", "merged");
  engine.commit(repo, "dev");
  const BranchId main = get_branch(*engine, repo, kMain).id;
  TestEngine third(shared_url(), engine.store);
  db::Pool::Lease blocker = third.pool.lease();
  blocker->begin();
  blocker->run({"test_block_key",
                "INSERT INTO staging (token, key, kind, val) "
                "SELECT token, 'log/1.json', 1, '' FROM branches WHERE branch_id = $1"},
               {static_cast<int32_t>(main)});
  Condition absent;
  absent.if_absent = true;
  auto put = std::async(std::launch::async, [&] {
    return reason_of([&] { engine.put(repo, "main", "log/1.json", "created", absent); });
  });
  const db::Query waiting{"test_count_waiting", R"sql(
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%stage_entry_if%')sql"};
  while (third.pool.run(waiting, {}, db::Pool::Retry::kRead).integer(0, 0) == 0) {
    std::this_thread::yield();
  }
  versioning::MergeRequest request;
  request.allow_dirty = true;
  std::string merged;
  const bool waited = waits_until(
      [&] {
        merged = reason_of([&] { versioning::merge_into(*slow, repo, "dev", kMain, request); });
      },
      [&] { blocker->rollback(); });
  EXPECT_TRUE(waited) << "the merge was published under a write that had compared the root";
  EXPECT_EQ(put.get(), "done");
  EXPECT_EQ(engine.read(repo, "main", "log/1.json"), "created");
}

// A write on a condition that came after a verb had found the branch clean was decided against the
// tree of before: it hid what the verb brought. Before the verb it would have had it refused.
TEST_F(PublicationRaces, ConditionalWriteMakesAVerbCheckAgainThatTheBranchIsClean) {
  engine.put(repo, "dev", "log/1.json", "merged");
  engine.commit(repo, "dev");
  Condition absent;
  absent.if_absent = true;
  const auto overtaken = [&](const std::string& statement, const std::string& branch,
                             const auto& verb) {
    faults.at_then_go_on({statement},
                         [&, branch] { engine.put(repo, branch, "log/2.json", "mine", absent); });
    const std::string reason = reason_of(verb);
    EXPECT_EQ(faults.unreached(), 0u);
    versioning::reset_branch(*engine, repo, BranchName(branch), false);
    return reason;
  };
  const CommitId before = head(kMain);
  const CommitId made = head(kDev);
  EXPECT_EQ(overtaken("branches_publish_commit", "main",
                      [&] { versioning::merge_into(*slow, repo, "dev", kMain, {}); }),
            "dirty_branch");
  EXPECT_EQ(overtaken("branches_publish_commit", "main", [&] { pick("dev"); }), "dirty_branch");
  EXPECT_EQ(overtaken("branches_publish_commit", "dev", [&] { revert("dev"); }), "dirty_branch");
  EXPECT_EQ(overtaken("branches_begin_change", "dev",
                      [&] { versioning::hard_reset_branch(*slow, repo, kDev, "main", false); }),
            "branch_locked");
  EXPECT_EQ(head(kMain), before);
  EXPECT_EQ(head(kDev), made);
}

// With allow_dirty the staged paths are compared with those that the merge changes, also those that
// were written on a condition meanwhile; other paths stay staged.
TEST_F(PublicationRaces, DirtyMergeChecksConcurrentConditionalWritesForOverlap) {
  engine.put(repo, "dev", "log/1.json", "merged");
  engine.commit(repo, "dev");
  Condition absent;
  absent.if_absent = true;
  versioning::MergeRequest request;
  request.allow_dirty = true;
  faults.at_then_go_on({"branches_publish_commit"},
                       [&] { engine.put(repo, "main", "log/1.json", "mine", absent); });
  EXPECT_EQ(reason_of([&] { versioning::merge_into(*slow, repo, "dev", kMain, request); }),
            "staged_overlap");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.read(repo, "main", "log/1.json"), "mine");
  versioning::reset_branch(*engine, repo, kMain, false);
  engine.put(repo, "main", "log/0.json", "before", absent);
  faults.at_then_go_on({"branches_publish_commit"},
                       [&] { engine.put(repo, "main", "log/2.json", "mine", absent); });
  EXPECT_EQ(reason_of([&] { versioning::merge_into(*slow, repo, "dev", kMain, request); }), "done");
  EXPECT_EQ(engine.keys(repo, "main"), "a log/0.json log/1.json log/2.json");
  EXPECT_EQ(engine.keys(repo, "main@"), "a log/1.json");
}

// Plain writes may as well have come after the verb: they stop none.
TEST_F(PublicationRaces, UnconditionalWriteDoesNotStopAMerge) {
  engine.put(repo, "dev", "b", "merged");
  engine.commit(repo, "dev");
  faults.at_then_go_on({"branches_publish_commit"}, [&] { engine.put(repo, "main", "b", "mine"); });
  EXPECT_EQ(reason_of([&] { versioning::merge_into(*slow, repo, "dev", kMain, {}); }), "done");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.read(repo, "main", "b"), "mine");
  EXPECT_EQ(engine.read(repo, "main@", "b"), "merged");
}

TEST_F(PublicationRaces, FailedFoldDoesNotFailTheChange) {
  for (int i = 0; i < 20; ++i) {  // as many sealed tokens as make a verb fold
    engine.put(repo, "dev", "k" + std::to_string(i), "1");
    versioning::reset_prefix(*engine, repo, kDev, "nothing/", false);
  }
  engine.put(repo, "dev", "from/x", "1");
  versioning::MoveRequest move;
  move.source = "from/";
  move.destination = "to/";
  move.prefixes = true;
  bool failed = false;
  for (int i = 0; i < 20 && !failed; ++i) {
    faults.at({"staging_take_tokens"}, [&failed] {
      failed = true;
      return db::Fault::kConnectionLost;
    });
    EXPECT_EQ(reason_of([&] { versioning::move_objects(*slow, repo, kDev, move); }), "done");
    std::swap(move.source, move.destination);
  }
  EXPECT_TRUE(failed) << "nothing was folded";
}

// A server that dies while it folds leaves its rows to the sweep.
TEST_F(PublicationRaces, RowsOfACrashedFoldAreDeleted) {
  struct Died {};
  const Branch dev = get_branch(*engine, repo, kDev);
  engine.put(repo, "dev", "b", "2");
  const auto held = (*slow).branches.acquire(dev.id, 1, std::chrono::seconds{30}, true);
  faults.at({"staging_end_fold"}, []() -> db::Fault { throw Died{}; });
  EXPECT_THROW((*slow).staging.fold(dev.id, held.lease.owner, [] {}), Died);
  const db::Query stray{"test_count_stray", R"sql(
    SELECT count(*) FROM staging s
    WHERE NOT EXISTS (SELECT 1 FROM branches b WHERE s.token = b.token OR s.token = ANY (b.sealed))
      AND NOT EXISTS (SELECT 1 FROM retired_tokens r WHERE r.token = s.token) AND s.token > $1)sql"};
  EXPECT_EQ(engine.pool.run(stray, {held.lease.token}, db::Pool::Retry::kRead).integer(0, 0), 0);
  EXPECT_EQ(engine.read(repo, "dev", "b"), "2");
}

}  // namespace
}  // namespace tarn::branch
