// The SQL of staging and publishing, where the verbs do not reach.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/meta/staging.h"
#include "core/versioning/merge.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/fault_points.h"

namespace tarn::meta {
namespace {

using testing::TestDatabase;
using testing::TestEngine;

class StagingSql : public ::testing::Test {
 protected:
  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
  BranchId branch = branch::get_branch(*engine, repo, BranchName("main")).id;
  Entry entry;
};

// Under a snapshot the token would be read as it was before the lock was waited for, and the write
// would be lost.
TEST_F(StagingSql, StagingRefusesSnapshotIsolation) {
  for (const char* call : {"stage_entries_under(0, false, 1, 1, '{}', '{}', '{}', '{}')",
                           "stage_entry_if(1, 1, 1, 1, NULL, NULL, 'k', 0::smallint, '', '{}')"}) {
    const auto connection = db::Connection::open(database.url());
    EXPECT_THROW(
        connection->run_script(str_cat("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT ", call)),
        db::DbError)
        << call;
  }
}

TEST_F(StagingSql, ProcessWithoutItsWriterRowCannotStage) {
  const auto connection = db::Connection::open(database.url());
  connection->run_script("DELETE FROM writers");
  EXPECT_THROW((*engine).staging.stage(branch, Key("a"), entry), Error);
  EXPECT_EQ(engine.keys(repo, "main"), "");
  engine.parts().heartbeat();  // makes a new row
  EXPECT_EQ((*engine).staging.stage(branch, Key("a"), entry), Staging::StageOutcome::kDone);
}

TEST_F(StagingSql, ConditionalStageDetectsEveryKindOfChange) {
  const auto seen = [&] { return *(*engine).staging.lookup(repo, BranchName("main"), Key("k")); };
  using Outcome = Staging::StageOutcome;
  entry.etag = "1";
  const BranchLookup empty = seen();
  EXPECT_EQ((*engine).staging.stage_if(empty, Key("k"), entry), Outcome::kDone);
  EXPECT_EQ((*engine).staging.stage_if(empty, Key("k"), entry), Outcome::kChanged)
      << "the row appeared";
  const BranchLookup staged = seen();
  engine.commit(repo, "main");
  EXPECT_EQ((*engine).staging.stage_if(staged, Key("k"), std::nullopt), Outcome::kChanged)
      << "the token moved";
  const BranchLookup committed = seen();
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "other", "x");
  engine.commit(repo, "dev");
  versioning::MergeRequest request;
  ASSERT_TRUE(std::holds_alternative<Commit>(
      versioning::merge_into(*engine, repo, "dev", BranchName("main"), request)));
  EXPECT_EQ((*engine).staging.stage_if(committed, Key("k"), std::nullopt), Outcome::kChanged)
      << "the root moved";
  EXPECT_EQ((*engine).staging.stage_if(seen(), Key("k"), std::nullopt), Outcome::kDone);
}

TEST_F(StagingSql, RetiredRowsAreSweptAfterTheirGraceOnly) {
  for (int i = 0; i < 25; ++i) engine.put(repo, "main", std::to_string(i), "x");
  engine.commit(repo, "main");
  EXPECT_EQ((*engine).staging.sweep_retired(std::chrono::hours{1}, 10), 0u);
  uint64_t rounds = 0;
  while ((*engine).staging.sweep_retired(std::chrono::milliseconds{0}, 10) > 0) ++rounds;
  EXPECT_EQ(rounds, 3u);
  const auto connection = db::Connection::open(database.url());
  const db::Rows rows = connection->run({"test_count_staging", "SELECT count(*) FROM staging"});
  EXPECT_EQ(rows.integer(0, 0), 0);
}

// Many lookups at once share a statement, which must answer each as a lookup alone.
TEST_F(StagingSql, LookupsOfOneBatchAreAnsweredAsAlone) {
  const testing::TestRepository other = engine.make_repository("sea");
  engine.put(repo, "main", "committed", "1");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "main", "staged", "2");
  engine.put(repo, "dev", "staged", "3");
  engine.remove(repo, "dev", "committed");
  engine.put(other, "main", "staged", "4");
  testing::FaultPoints faults;
  TestEngine watched(database.url(), engine.store, &faults);
  struct Asked {
    RepositoryName repository;
    BranchName branch;
    Key key;
  };
  std::vector<Asked> asked;
  for (const char* repository : {"lake", "sea", "absent"}) {
    for (const char* name : {"main", "dev", "absent"}) {
      for (const char* key : {"committed", "staged", "absent"}) {
        asked.push_back({RepositoryName(repository), BranchName(name), Key(key)});
      }
    }
  }
  const auto look_up = [&](const Asked& one) {
    const auto found = (*watched).staging.lookup(one.repository, one.branch, one.key);
    if (!found) return std::string("none");
    return str_cat(static_cast<int64_t>(found->repository), " ",
                   static_cast<int64_t>(found->branch.id), " ", found->branch.name.str(), " ",
                   found->token, " ", static_cast<int>(found->state.kind), " ",
                   found->state.entry ? found->state.entry->etag : "", " ",
                   found->branch.settings_version, " ", to_hex(found->row_bytes));
  };
  std::vector<std::string> alone;
  for (const Asked& one : asked) alone.push_back(look_up(one));
  EXPECT_EQ(std::set<std::string>(alone.begin(), alone.end()).size(), 8u);

  faults.record();
  {
    std::atomic<size_t> ready{0};
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < asked.size(); ++t) {
      threads.emplace_back([&, t] {
        ++ready;
        while (ready < asked.size()) std::this_thread::yield();
        for (size_t round = 0; round < 20; ++round) {
          const size_t i = (t + round) % asked.size();
          EXPECT_EQ(look_up(asked[i]), alone[i]);
        }
      });
    }
  }
  const std::vector<std::string> ran = faults.recorded();
  EXPECT_GT(std::count(ran.begin(), ran.end(), "staging_lookup_keys"), 0);
}

// A reader must find a key that exists before and after, however many commits move it from staging
// into the tree. Each key moves from the staging area into the tree while it is read. Verified by
// mutation: taking the branch row from one statement and the staged rows from a second: hundreds of
// reads found nothing.
TEST_F(StagingSql, ExistingKeyIsAlwaysFound) {
  constexpr int kRounds = 150;
  constexpr int kReaders = 3;
  const auto key_of = [](int round) { return "key" + std::to_string(round); };
  engine.put(repo, "main", key_of(0), "x");
  std::atomic<int> newest{0};
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0};
  std::atomic<int> missed{0};
  std::vector<std::jthread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        if (engine.read(repo, "main", key_of(newest)) != "x") ++missed;
        ++reads;
      }
    });
  }
  for (int round = 1; round <= kRounds; ++round) {
    engine.put(repo, "main", key_of(round), "x");
    newest = round;
    engine.commit(repo, "main");
  }
  stop = true;
  readers.clear();
  EXPECT_EQ(missed, 0);
  EXPECT_GT(reads, kRounds);
}

}  // namespace
}  // namespace tarn::meta
