// Dumps of refs, restored into other repositories, over a real database.
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/branch/aliases.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/settings.h"
#include "core/imports/refs_dump.h"
#include "core/jobs/jobs.h"
#include "core/meta/repository_settings.h"
#include "core/versioning/log.h"
#include "core/versioning/merge.h"
#include "tests/support/bare_repository.h"
#include "tests/support/repository_test.h"

namespace tarn::imports {
namespace {

using testing::reason_of;

class RefsDumps : public testing::RepositoryTest {
 protected:
  testing::TestRepository bare() { return testing::make_bare_repository(engine, fresh_name()); }
  std::string history(const Repository& of, std::string_view ref) {
    std::string out;
    for (const Commit& c : versioning::log_commits(*engine, of, ref, {}).items) {
      out += c.message + "/" + c.committer + "/" + std::to_string(to_millis(c.created)) + "/" +
             std::to_string(c.generation) + "/" + std::to_string(c.parents.size()) + " ";
    }
    return out;
  }
  void fill() {
    engine.put(repo, "main", "a", "1");
    engine.put(repo, "main", "dir/b", "2");
    engine.commit(repo, "main", "first");
    engine.branch(repo, "dev", "main");
    engine.put(repo, "dev", "c", "3");
    engine.remove(repo, "dev", "a");
    engine.commit(repo, "dev", "on dev");
    engine.put(repo, "main", "d", "4");
    // A log orders commits of the same millisecond by their ids, which a restore changes.
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    engine.commit(repo, "main", "on main");
    versioning::merge_into(*engine, repo, "dev", BranchName("main"), versioning::MergeRequest{});
    branch::create_tag(*engine, repo, TagName("v1"), "main~1", false);
  }
};

TEST_F(RefsDumps, ARestoreBringsRefsHistoryAndObjects) {
  fill();
  const std::string dump = dump_refs(*engine, repo);
  const std::string before = history(repo, "main");
  engine.put(repo, "main", "late", "x");
  engine.commit(repo, "main", "after the dump");
  const auto copy = bare();
  restore_refs(*engine, copy, dump, false, "ann");
  EXPECT_EQ(history(copy, "main"), before);
  EXPECT_EQ(history(copy, "dev"), history(repo, "dev"));
  EXPECT_EQ(history(copy, "v1"), history(repo, "v1"));
  EXPECT_EQ(engine.keys(copy, "main"), "c d dir/b");
  EXPECT_EQ(engine.keys(copy, "main~2"), "a dir/b");
  EXPECT_EQ(engine.keys(copy, "v1"), "a d dir/b");
  EXPECT_EQ(engine.read(copy, "main", "dir/b"), "2");
  // It is an ordinary repository: it can be committed to, dumped and restored.
  engine.put(copy, "main", "more", "5");
  engine.commit(copy, "main", "more");
  const auto third = bare();
  restore_refs(*engine, third, dump_refs(*engine, copy), false, "ann");
  EXPECT_EQ(engine.keys(third, "main"), "c d dir/b more");
  EXPECT_EQ(engine.read(third, "main", "dir/b"), "2");
}

TEST_F(RefsDumps, ARestoreBringsAliasesAndBeginsTheirHistory) {
  fill();
  branch::set_alias(*engine, repo, {.name = AliasName("gone"), .actor = "ann"}, "main");
  branch::remove_alias(*engine, repo, {.name = AliasName("gone"), .actor = "ann"});
  branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "ann"}, "main");
  branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "ann"}, "v1");
  const auto copy = bare();
  restore_refs(*engine, copy, dump_refs(*engine, repo), false, "ben");
  EXPECT_EQ(history(copy, "@champion"), history(repo, "v1"));
  EXPECT_EQ(branch::list_aliases(*engine, copy, "", "", 10).items.size(), 1u);
  EXPECT_EQ(branch::list_tags(*engine, copy, "", "", 10).items.size(), 1u);
  const auto changes =
      branch::list_alias_changes(*engine, copy, AliasName("champion"), "", 10).items;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].actor, "ben");
}

TEST_F(RefsDumps, OnlyABareRepositoryTakesARestoreAndOnlyAKnownOne) {
  fill();
  const std::string dump = dump_refs(*engine, repo);
  const auto other = engine.make_repository(fresh_name());
  EXPECT_EQ(reason_of([&] { restore_refs(*engine, other, dump, false, "ann"); }), "not_bare");
  const auto copy = bare();
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("1-"), dump + "0",
        "999999-" + std::string(32, 'a'), dump.substr(0, dump.find('-') + 1) + std::string(32, 'a'),
        "99999999999-" + std::string(32, 'a')}) {
    EXPECT_EQ(reason_of([&] { restore_refs(*engine, copy, bad, false, "ann"); }), "dump_not_found")
        << bad;
  }
  restore_refs(*engine, copy, dump, false, "ann");
  EXPECT_EQ(reason_of([&] { restore_refs(*engine, copy, dump, false, "ann"); }), "not_bare");
  const auto late = bare();
  branch::delete_repository(*engine, repo, false);
  EXPECT_EQ(reason_of([&] { restore_refs(*engine, late, dump, false, "ann"); }), "dump_not_found");
  EXPECT_EQ(engine.read(copy, "main", "d"), "4") << "the copy stays readable";
}

TEST_F(RefsDumps, TasksDoTheSameInTheBackground) {
  fill();
  const std::string task = start_dump(*engine, repo, "ann");
  EXPECT_FALSE(refs_task_status(*engine, repo, RefsTask::kDump, task).done);
  EXPECT_EQ(reason_of([&] { refs_task_status(*engine, repo, RefsTask::kRestore, task); }),
            "task_not_found");
  EXPECT_TRUE(run_one_refs_task(*engine, {}));
  const RefsTaskStatus dumped = refs_task_status(*engine, repo, RefsTask::kDump, task);
  EXPECT_TRUE(dumped.done);
  const auto copy = bare();
  const std::string first = start_restore(*engine, copy, *dumped.dump, false, "ann");
  const std::string second = start_restore(*engine, copy, *dumped.dump, false, "ann");
  while (run_one_refs_task(*engine, {})) {
  }
  EXPECT_EQ(refs_task_status(*engine, copy, RefsTask::kRestore, first).error, "");
  const RefsTaskStatus late = refs_task_status(*engine, copy, RefsTask::kRestore, second);
  EXPECT_TRUE(late.done);
  EXPECT_NE(late.error.find("not bare"), std::string::npos) << late.error;
  EXPECT_EQ(history(copy, "main"), history(repo, "main"));
  EXPECT_FALSE(run_one_refs_task(*engine, {}));
}

// Verified by mutation: without asking about the rules: all was restored.
TEST_F(RefsDumps, RulesOfTheTargetHold) {
  fill();
  const std::string dump = dump_refs(*engine, repo);
  const auto copy = bare();
  branch::set_tag_rules(*engine, copy, {{.pattern = Glob("v*"), .may_create = false}}, {});
  EXPECT_EQ(reason_of([&] { restore_refs(*engine, copy, dump, false, "ann"); }), "protected_tag");
  branch::set_tag_rules(*engine, copy, {{.pattern = Glob("w*"), .may_create = false}}, {});
  BranchRule rule{.pattern = Glob("d*")};
  rule.blocked_actions = std::set<BranchAction>{BranchAction::kRestore};
  branch::set_branch_rules(*engine, copy, {rule}, {});
  EXPECT_EQ(reason_of([&] { restore_refs(*engine, copy, dump, false, "ann"); }),
            "protected_branch");
  const std::string task = start_restore(*engine, copy, dump, false, "ann");
  while (run_one_refs_task(*engine, {})) {
  }
  EXPECT_EQ(refs_task_status(*engine, copy, RefsTask::kRestore, task).error,
            "cannot restore protected branch");
  EXPECT_EQ(branch::list_branches(*engine, copy, "", "", 10, true).items.size(), 0u);
  rule.blocked_actions = std::set<BranchAction>{BranchAction::kStage};
  branch::set_branch_rules(*engine, copy, {rule}, {});
  restore_refs(*engine, copy, dump, false, "ann");
  EXPECT_EQ(history(copy, "dev"), history(repo, "dev"));
}

/// Holds a restore into the repository right before it publishes, while other settings are being
/// set: what happens there happens between taking the job and publishing.
class HeldRestore : public RefsDumps {
 protected:
  /// Runs one task; `meanwhile` runs when the task waits for the repository's row, and returns the
  /// body of the repository's branch rules.
  void run_task_held(const RepositoryName& target,
                     const std::function<std::optional<std::string>()>& meanwhile) {
    std::jthread task;
    testing::TestEngine other{shared_url(), engine.store};
    (*engine).settings.update(
        branch::get_repository(*engine, target).id, meta::SettingKind::kBranchRules,
        [&](const std::optional<std::string>&) {
          task = std::jthread([&] { EXPECT_TRUE(run_one_refs_task(*other, {})); });
          EXPECT_TRUE(somebody_waits_for_a_row());
          return meanwhile();
        });
    task.join();
  }
  bool somebody_waits_for_a_row() {
    const auto connection = db::Connection::open(shared_url());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (std::chrono::steady_clock::now() < deadline) {
      const db::Rows rows =
          connection->run({"test_count_waiting",
                           "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                           "current_database() AND wait_event_type = 'Lock'"});
      if (rows.integer(0, 0) > 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    return false;
  }
  size_t branches_of(const Repository& of) {
    return branch::list_branches(*engine, of, "", "", 10, true).items.size();
  }
};

// The job ends in the transaction that publishes. Verified by mutation: ending it in a statement of
// its own afterwards, and by publishing whatever became of it: all was restored by a cancelled job.
TEST_F(HeldRestore, OfAJobThatWasCancelledNothingIsRestored) {
  fill();
  const std::string dump = dump_refs(*engine, repo);
  const auto copy = bare();
  const std::string task = start_restore(*engine, copy, dump, false, "ann");
  run_task_held(copy, [&] {
    EXPECT_TRUE((*engine).jobs.cancel(task));
    return std::nullopt;
  });
  EXPECT_EQ((*engine).jobs.find(task)->state, jobs::JobState::kCancelled);
  EXPECT_EQ(branches_of(copy), 0u);
  restore_refs(*engine, copy, dump, false, "ann");
  EXPECT_EQ(history(copy, "main"), history(repo, "main")) << "the repository is still bare";
}

// Verified by mutation: publishing without comparing the version of the settings.
TEST_F(HeldRestore, ObeysARuleThatIsSetWhileItRuns) {
  fill();
  const std::string dump = dump_refs(*engine, repo);
  const auto copy = bare();
  const std::string task = start_restore(*engine, copy, dump, false, "ann");
  run_task_held(copy, [&] {
    BranchRule rule{.pattern = Glob("d*")};
    rule.blocked_actions = std::set<BranchAction>{BranchAction::kRestore};
    return encode_branch_rules({rule});
  });
  EXPECT_EQ(refs_task_status(*engine, copy, RefsTask::kRestore, task).error,
            "cannot restore protected branch");
  EXPECT_EQ(branches_of(copy), 0u);
}

TEST_F(RefsDumps, AJobWhoseProcessDiedIsStartedOver) {
  fill();
  const std::string dump = dump_refs(*engine, repo);
  const auto copy = bare();
  const std::string task = start_restore(*engine, copy, dump, false, "ann");
  constexpr int64_t kDeadOwner = 7;
  const auto taken =
      (*engine).jobs.take("refs_restore", kDeadOwner, std::chrono::milliseconds{200});
  ASSERT_TRUE(taken && taken->id == task);
  EXPECT_FALSE(run_one_refs_task(*engine, {})) << "its lease still runs";
  std::this_thread::sleep_for(std::chrono::milliseconds{250});
  EXPECT_TRUE(run_one_refs_task(*engine, {}));
  EXPECT_FALSE((*engine).jobs.finish(*taken, kDeadOwner, jobs::JobState::kFailed));
  const RefsTaskStatus status = refs_task_status(*engine, copy, RefsTask::kRestore, task);
  EXPECT_TRUE(status.done);
  EXPECT_EQ(status.error, "");
  EXPECT_EQ(history(copy, "main"), history(repo, "main"));
}

}  // namespace
}  // namespace tarn::imports
