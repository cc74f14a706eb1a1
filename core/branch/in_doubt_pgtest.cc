// Writes whose answer was lost: what was done is found, what was not is not done later, and nothing
// is written twice.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "core/base/str_cat.h"
#include "core/branch/branch_hold.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/db/connection.h"
#include "core/meta/branches.h"
#include "core/meta/writer.h"
#include "core/objects/objects.h"
#include "core/objects/uploads.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::reason_of;
using Clock = std::chrono::steady_clock;

constexpr const char* kStage = "staging_insert_rows";
constexpr const char* kStageIf = "staging_insert_row_if";
constexpr const char* kPublish = "branches_publish_commit";
constexpr const char* kAcquire = "branches_acquire_lease";
constexpr const char* kRelease = "branches_release_lease";

/// `engine` is another server; `broken` the one whose answers are lost.
class InDoubtTest : public testing::RepositoryTest {
 protected:
  Condition absent() {
    Condition condition;
    condition.if_absent = true;
    return condition;
  }
  BranchId main_branch() { return get_branch(*broken, repo, BranchName("main")).id; }
  /// How often a statement ran since record().
  size_t runs_of(std::string_view statement) {
    const auto recorded = faults.recorded();
    return static_cast<size_t>(std::count(recorded.begin(), recorded.end(), statement));
  }

  testing::FaultPoints faults;
  testing::TestEngine broken{shared_url(), engine.store, &faults};
};

TEST_F(InDoubtTest, AnObjectThatWasStagedIsFound) {
  faults.record();
  faults.lose_answer(kStage);
  broken.put(repo, "main", "k", "v1");
  EXPECT_EQ(runs_of(kStage), 1u);
  EXPECT_EQ(engine.read(repo, "main", "k"), "v1");
  EXPECT_EQ(faults.unreached(), 0u);
}

TEST_F(InDoubtTest, AnObjectIsNotStagedAgainOverALaterOne) {
  faults.lose_answer(kStage, [&] { engine.put(repo, "main", "k", "v2"); });
  EXPECT_EQ(reason_of([&] { broken.put(repo, "main", "k", "v1"); }), db::kInDoubt);
  EXPECT_EQ(engine.read(repo, "main", "k"), "v2");
}

TEST_F(InDoubtTest, ObjectDeletedSinceStaysDeleted) {
  faults.lose_answer(kStage, [&] { engine.remove(repo, "main", "k"); });
  EXPECT_EQ(reason_of([&] { broken.put(repo, "main", "k", "v1"); }), db::kInDoubt);
  EXPECT_EQ(engine.read(repo, "main", "k"), "<absent>");
}

TEST_F(InDoubtTest, ADeletionIsNotRepeated) {
  engine.put(repo, "main", "k", "v1");
  faults.lose_answer(kStage, [&] { engine.put(repo, "main", "k", "v2"); });
  EXPECT_EQ(reason_of([&] { broken.remove(repo, "main", "k"); }), db::kInDoubt);
  EXPECT_EQ(engine.read(repo, "main", "k"), "v2");
}

TEST_F(InDoubtTest, DeletionsOfManyKeysAreNotRepeated) {
  engine.put(repo, "main", "k", "v1");
  faults.lose_answer(kStage, [&] { engine.put(repo, "main", "k", "v2"); });
  const std::vector<Key> keys{Key("j"), Key("k")};
  EXPECT_EQ(
      reason_of([&] { objects::delete_objects(*broken, repo, BranchName("main"), keys, false); }),
      db::kInDoubt);
  EXPECT_EQ(engine.read(repo, "main", "k"), "v2");
}

TEST_F(InDoubtTest, AConditionalObjectThatWasStagedIsFound) {
  faults.lose_answer(kStageIf);
  broken.put(repo, "main", "k", "v1", absent());
  EXPECT_EQ(engine.read(repo, "main", "k"), "v1");
}

TEST_F(InDoubtTest, LaterConditionFailureLeavesTheWriteInDoubt) {
  faults.lose_answer(kStageIf, [&] { engine.put(repo, "main", "k", "v2"); });
  EXPECT_EQ(reason_of([&] { broken.put(repo, "main", "k", "v1", absent()); }), db::kInDoubt);
  EXPECT_EQ(engine.read(repo, "main", "k"), "v2");
}

/// Backends that do not run while this lives, as those of a database that hangs.
class StoppedBackends {
 public:
  explicit StoppedBackends(const std::string& url) : observer_(db::Connection::open(url)) {}
  void stop(const std::string& application) {
    const db::Rows rows = observer_->run(
        {"test_backends", "SELECT pid FROM pg_stat_activity WHERE application_name = $1"},
        {application});
    for (size_t row = 0; row < rows.size(); ++row) {
      pids_.push_back(static_cast<pid_t>(rows.integer(row, 0)));
      EXPECT_EQ(kill(pids_.back(), SIGSTOP), 0);
    }
  }
  /// Lets them continue, and end because their clients are gone.
  void go_on() {
    for (const pid_t pid : pids_) kill(pid, SIGCONT);
    for (const pid_t pid : std::exchange(pids_, {})) {
      while (kill(pid, 0) == 0) std::this_thread::yield();
    }
  }
  ~StoppedBackends() { go_on(); }

 private:
  const std::unique_ptr<db::Connection> observer_;
  std::vector<pid_t> pids_;
};

// The server gives up statements that the database has not begun. Run later, they would undo what
// was written since.
TEST_F(InDoubtTest, WriteInDoubtDoesNotTakeEffectLater) {
  testing::TestEngine hung(str_cat(shared_url(), " application_name=hung"), engine.store, &faults);
  hung.put(repo, "main", "warm", "x");
  hung.parts().look_at_database();
  StoppedBackends backends(shared_url());
  std::barrier both(2, [&]() noexcept { backends.stop("hung"); });
  faults.at_then_go_on({kStage, false}, [&] { both.arrive_and_wait(); });
  faults.at_then_go_on({kStageIf, false}, [&] { both.arrive_and_wait(); });
  std::string plain, conditional;
  {
    std::jthread first(
        [&] { plain = reason_of([&] { hung.put(repo, "main", "plain", "early"); }); });
    std::jthread second([&] {
      conditional = reason_of([&] { hung.put(repo, "main", "conditional", "early", absent()); });
    });
    while (plain.empty() || conditional.empty()) hung.parts().look_at_database();
  }
  EXPECT_EQ(plain, db::kInDoubt);
  EXPECT_EQ(conditional, db::kInDoubt);
  engine.put(repo, "main", "plain", "late");
  backends.go_on();
  EXPECT_EQ(engine.read(repo, "main", "plain"), "late");
  EXPECT_EQ(engine.read(repo, "main", "conditional"), "<absent>");
  hung.put(repo, "main", "plain", "latest");
  EXPECT_EQ(engine.read(repo, "main", "plain"), "latest");
}

// The database hangs while the write waits for the staging lock. It is made before the answer.
TEST_F(InDoubtTest, RunningWriteInDoubtIsWaitedFor) {
  testing::TestEngine cut(str_cat(shared_url(), " application_name=cut"), engine.store, &faults);
  cut.put(repo, "main", "warm", "x");
  cut.parts().look_at_database();
  const BranchId branch = main_branch();
  const auto blocker = db::Connection::open(shared_url());
  blocker->begin();
  blocker->run({"test_lock_staging", "SELECT pg_advisory_xact_lock(1, $1)"},
               {static_cast<int32_t>(branch)});
  std::string answer;
  std::jthread writing([&] { answer = reason_of([&] { cut.put(repo, "main", "k", "v1"); }); });
  const auto observer = db::Connection::open(shared_url());
  const auto waiting = [&](const char* application) {
    return observer
        ->run({"test_waiting",
               "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 "
               "AND wait_event = 'advisory'"},
              {application})
        .integer(0, 0);
  };
  while (waiting("cut") < 1) std::this_thread::yield();
  StoppedBackends backends(shared_url());
  backends.stop("cut");
  cut.parts().look_at_database();
  while (waiting("cut") < 2) std::this_thread::yield();  // the write, and the fence behind it
  blocker->commit();
  backends.go_on();
  writing.join();
  EXPECT_EQ(answer, "done");
  EXPECT_EQ(engine.read(repo, "main", "k"), "v1");
}

// The look fails as well: the database could not be asked.
TEST_F(InDoubtTest, NothingIsStagedBeforeAWriteInDoubtIsEnded) {
  const int64_t used = (*broken).writer.staging_id();
  faults.lose_answer(kStage, [&] { engine.remove(repo, "main", "k"); });
  faults.lose_connection("writer_lock_staging");
  EXPECT_EQ(reason_of([&] { broken.put(repo, "main", "k", "v1"); }), db::kInDoubt);
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ((*broken).writer.staging_id(), used);
  engine.branch(repo, "dev", "main");
  broken.put(repo, "dev", "other", "v");
  faults.lose_connection("writer_lock_staging");
  EXPECT_EQ(reason_of([&] { broken.put(repo, "main", "other", "v"); }), "unavailable");
  broken.put(repo, "main", "other", "v");
  EXPECT_NE((*broken).writer.staging_id(), used);
  EXPECT_EQ(engine.keys(repo, "main"), "other");
}

// Deleted later, a tag that was made again would be lost.
TEST_F(InDoubtTest, DeletionOfATagInDoubtDoesNotDeleteALaterTag) {
  testing::TestEngine hung(str_cat(shared_url(), " application_name=hung"), engine.store, &faults);
  const TagName tag("v1");
  const CommitId old = create_tag(*engine, repo, tag, "main", false).commit;
  engine.put(repo, "main", "k", "v1");
  const CommitId now = engine.commit(repo, "main").id;
  ASSERT_NE(now, old);
  get_tag(*hung, repo, tag);  // a connection to stop
  // So that its probe hangs too: otherwise only the time limit of the statement, over a minute,
  // ends it.
  hung.parts().look_at_database();
  StoppedBackends backends(shared_url());
  faults.at_then_go_on({"tags_delete_row"}, [&] { backends.stop("hung"); });
  auto answer = std::async(std::launch::async,
                           [&] { return reason_of([&] { delete_tag(*hung, repo, tag, false); }); });
  while (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    hung.parts().look_at_database();
  }
  EXPECT_EQ(answer.get(), db::kInDoubt);
  EXPECT_EQ(faults.unreached(), 0u);
  delete_tag(*engine, repo, tag, false);
  create_tag(*engine, repo, tag, "main", false);
  backends.go_on();
  EXPECT_EQ(get_tag(*engine, repo, tag).commit, now);
}

TEST_F(InDoubtTest, AWriteThatWasStagedIsFoundUnderAnotherToken) {
  faults.lose_answer(kStage, [&] {
    // Seals the token.
    (*engine).branches.acquire(main_branch(), 7, std::chrono::seconds(30), true);
    (*engine).branches.release(main_branch(), 7);
  });
  broken.put(repo, "main", "k", "v1");
  EXPECT_EQ(engine.read(repo, "main", "k"), "v1");
}

TEST_F(InDoubtTest, APartIsNotPutAgainOverALaterOne) {
  objects::Uploads& uploads = (*broken).uploads;
  objects::UploadRow row;
  const Repository found = get_repository(*engine, repo);
  row.repository = found.id;
  row.branch = main_branch();
  row.branch_name = BranchName("main");
  row.key = Key("k");
  row.owner = "tester";
  const std::string id = uploads.create_multipart(row)->id;
  const auto part = [&](uint64_t size) {
    meta::StoredPart out;
    out.address = new_own_address((*engine).clock.now());
    out.size_bytes = size;
    out.md5 = std::string(16, 'm');
    return out;
  };
  faults.lose_answer("uploads_put_part");
  EXPECT_TRUE(uploads.put_part(id, 1, part(1), (*engine).writer.id()));
  faults.lose_answer("uploads_put_part",
                     [&] { (*engine).uploads.put_part(id, 1, part(3), (*engine).writer.id()); });
  EXPECT_EQ(reason_of([&] { uploads.put_part(id, 1, part(2), (*engine).writer.id()); }),
            db::kInDoubt);
  EXPECT_EQ(uploads.parts(id, 0, 10).at(0).part.size_bytes, 3u);
}

TEST_F(InDoubtTest, ACommitThatWasPublishedIsFound) {
  broken.put(repo, "main", "k", "v1");
  faults.lose_answer(kPublish);
  const Commit commit = broken.commit(repo, "main");
  EXPECT_EQ(engine.read(repo, to_text(commit.id), "k"), "v1");
}

TEST_F(InDoubtTest, PublishedCommitIsFoundBelowALaterOne) {
  broken.put(repo, "main", "k", "v1");
  faults.lose_answer(kPublish, [&] {
    engine.put(repo, "main", "k", "v2");
    engine.commit(repo, "main");
  });
  const Commit commit = broken.commit(repo, "main");
  EXPECT_EQ(engine.read(repo, to_text(commit.id), "k"), "v1");
  EXPECT_EQ(engine.read(repo, "main", "k"), "v2");
}

// The publication waits for the row of its branch when its connection is cut.
TEST_F(InDoubtTest, UnpublishedCommitFailsWithoutDoubt) {
  broken.put(repo, "main", "k", "v1");
  const BranchId branch = main_branch();
  const auto blocker = db::Connection::open(shared_url());
  const auto killer = db::Connection::open(shared_url());
  faults.at_then_go_on({kPublish, false}, [&] {
    blocker->begin();
    blocker->run({"test_lock_row", "SELECT 1 FROM branches WHERE branch_id = $1 FOR UPDATE"},
                 {static_cast<int32_t>(branch)});
  });
  std::jthread killing([&] {
    constexpr db::Query kKill{"test_kill_waiting", R"sql(
      SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%publish_commit%')sql"};
    while (killer->run(kKill).integer(0, 0) == 0) std::this_thread::yield();
    blocker->commit();
  });
  EXPECT_EQ(reason_of([&] { broken.commit(repo, "main"); }), "unavailable");
  killing.join();
  EXPECT_EQ(engine.commit(repo, "main").generation, 2) << "the one after the repository's first";
}

TEST_F(InDoubtTest, FailedAcquisitionLocksTheBranchUntilTheNextCheck) {
  broken.put(repo, "main", "k", "v1");
  faults.lose_answer(kAcquire);  // and that of the second attempt
  faults.lose_answer(kAcquire);
  EXPECT_EQ(reason_of([&] { broken.commit(repo, "main"); }), db::kInDoubt);
  broken.parts().look_at_database();
  const Clock::time_point start = Clock::now();
  engine.commit(repo, "main");
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
}

TEST_F(InDoubtTest, AnAcquisitionThatFailedDoesNotLockTheBranchForItsOwnServer) {
  broken.put(repo, "main", "k", "v1");
  faults.lose_answer(kAcquire);
  faults.lose_answer(kAcquire);
  EXPECT_EQ(reason_of([&] { broken.commit(repo, "main"); }), db::kInDoubt);
  const Clock::time_point start = Clock::now();
  broken.commit(repo, "main");
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
}

TEST_F(InDoubtTest, FailedReleaseIsRepeatedByTheNextCheck) {
  faults.lose_connection(kRelease);
  faults.lose_connection(kRelease);
  EXPECT_EQ(reason_of([&] { broken.commit(repo, "main"); }), "no_changes");
  EXPECT_EQ(faults.unreached(), 0u);
  broken.parts().look_at_database();
  const Clock::time_point start = Clock::now();
  engine.put(repo, "main", "k", "v1");
  engine.commit(repo, "main");
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
}

}  // namespace
}  // namespace tarn::branch
