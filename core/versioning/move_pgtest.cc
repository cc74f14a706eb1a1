// Moving by reference over a real database.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/branch_hold.h"
#include "core/branch/settings.h"
#include "core/branch/staged_edits.h"
#include "core/meta/staging.h"
#include "core/meta/writer.h"
#include "core/objects/objects.h"
#include "core/versioning/move.h"
#include "core/versioning/reset.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {
namespace {

class Move : public testing::RepositoryTest {
 protected:
  const BranchName main{"main"};

  static MoveRequest of_prefix(std::string source, std::string destination) {
    MoveRequest request;
    request.source = std::move(source);
    request.destination = std::move(destination);
    request.prefixes = true;
    return request;
  }
  static MoveRequest of_key(std::string source, std::string destination) {
    MoveRequest request = of_prefix(std::move(source), std::move(destination));
    request.prefixes = false;
    return request;
  }
  /// How many were moved, or the reason why not.
  std::string move(const MoveRequest& request) {
    try {
      return std::to_string(move_objects(*engine, repo, main, request));
    } catch (const Error& error) {
      return std::string(error.reason());
    }
  }
  size_t stored_objects() { return engine.store->list("", "", 1000).items.size(); }
  int64_t count(const std::string& sql) {
    return db::Connection::open(shared_url())->run({"test_count", sql.c_str()}).integer(0, 0);
  }
};

TEST_F(Move, PrefixMovesEverythingVisibleBelowIt) {
  for (const char* key : {"a/1", "a/2", "a/3", "b/2", "c"}) engine.put(repo, "main", key, key);
  engine.commit(repo, "main");
  engine.put(repo, "main", "a/2", "staged");
  engine.put(repo, "main", "a/4", "new");
  engine.remove(repo, "main", "a/3");
  const Entry before = objects::get_object(*engine, repo, "main", Key("a/1")).entry;
  const size_t stored = stored_objects();

  EXPECT_EQ(move(of_prefix("a/", "b/")), "3");
  EXPECT_EQ(engine.keys(repo, "main"), "b/1 b/2 b/4 c");
  EXPECT_EQ(engine.keys(repo, "main@"), "a/1 a/2 a/3 b/2 c") << "nothing is committed";
  EXPECT_EQ(engine.read(repo, "main", "b/2"), "staged");
  EXPECT_EQ(engine.read(repo, "main", "a/1"), "<absent>");
  const Entry after = objects::get_object(*engine, repo, "main", Key("b/1")).entry;
  EXPECT_EQ(encode_entry(after), encode_entry(before)) << "the same bytes, attributes and time";
  EXPECT_EQ(stored_objects(), stored);

  engine.put(repo, "main", "a/1", "again");
  engine.remove(repo, "main", "b/4");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 b/1 b/2 c") << "later writes win";
  engine.commit(repo, "main");
  EXPECT_EQ(engine.keys(repo, "main@"), "a/1 b/1 b/2 c");
  EXPECT_EQ(engine.read(repo, "main", "b/2"), "staged");
}

TEST_F(Move, KeyMovesAlone) {
  for (const char* key : {"a", "a/1", "ab"}) engine.put(repo, "main", key, key);
  engine.commit(repo, "main");
  EXPECT_EQ(move(of_key("a", "z")), "1");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 ab z");
  EXPECT_EQ(move(of_key("a", "y")), "object_not_found");
  reset_branch(*engine, repo, main, false);
  EXPECT_EQ(engine.keys(repo, "main"), "a a/1 ab");
}

TEST_F(Move, WithoutOverwritingNothingHappensWhenAnyDestinationIsTaken) {
  for (const char* key : {"a/1", "a/2", "b/2"}) engine.put(repo, "main", key, key);
  engine.commit(repo, "main");
  MoveRequest careful = of_prefix("a/", "b/");
  careful.overwrite = false;
  EXPECT_EQ(move(careful), "precondition_failed");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 a/2 b/2");
  engine.remove(repo, "main", "b/2");
  EXPECT_EQ(move(careful), "2") << "a staged deletion leaves the place free";
  EXPECT_EQ(engine.keys(repo, "main"), "b/1 b/2");
}

TEST_F(Move, SourceAndDestinationMayLieInEachOther) {
  for (const char* key : {"a/1", "a/a/1", "a/a/2"}) engine.put(repo, "main", key, key);
  engine.commit(repo, "main");
  MoveRequest careful = of_prefix("a/", "a/a/");
  careful.overwrite = false;
  EXPECT_EQ(move(careful), "3") << "what is in the way moves away";
  EXPECT_EQ(engine.keys(repo, "main"), "a/a/1 a/a/a/1 a/a/a/2");
  EXPECT_EQ(engine.read(repo, "main", "a/a/1"), "a/1");
  EXPECT_EQ(move(of_prefix("a/a/", "a/")), "3");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 a/a/1 a/a/2");
  EXPECT_EQ(move(of_prefix("", "all/")), "3");
  EXPECT_EQ(engine.keys(repo, "main"), "all/a/1 all/a/a/1 all/a/a/2");
  engine.commit(repo, "main");
  EXPECT_EQ(engine.keys(repo, "main@"), "all/a/1 all/a/a/1 all/a/a/2");
}

TEST_F(Move, InvalidMoveIsRefusedBeforeAnyChange) {
  engine.put(repo, "main", "a/1", "1");
  engine.put(repo, "main", "a/2", "2");
  EXPECT_EQ(move(of_prefix("a/", "a/")), "invalid_argument");
  EXPECT_EQ(move(of_key("a/1", "")), "invalid_argument");
  EXPECT_EQ(move(of_prefix("a/1", "")), "invalid_argument") << "the key would be empty";
  EXPECT_EQ(move(of_prefix("a/", std::string(1023, 'x') + "/")), "key_too_long");
  EXPECT_EQ(move(of_prefix("nothing/", "b/")), "object_not_found");
  MoveRequest forbidden = of_prefix("a/", "b/");
  forbidden.check = [](const Key& from, const Key& to) {
    if (from.str() == "a/2" && to.str() == "b/2") {
      throw Error(ErrorCode::kPermissionDenied, "no");
    }
  };
  EXPECT_EQ(move(forbidden), "permission_denied");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 a/2");
  // Rows of refused moves are swept after the sweeper's grace period.
  while ((*engine).staging.sweep_retired(std::chrono::milliseconds{0}, 100) > 0) {
  }
  EXPECT_EQ(count("SELECT count(*) FROM retired_tokens"), 0);
}

// Verified by mutation: publishing without looking at the watched ranges: the late write was gone,
// hidden by the range that the move deletes.
TEST_F(Move, ConcurrentWriteIsMovedAsWell) {
  engine.put(repo, "main", "a/1", "1");
  int asked = 0;
  MoveRequest request = of_prefix("a/", "b/");
  request.check = [&](const Key&, const Key&) {
    if (asked++ == 0) engine.put(repo, "main", "a/2", "late");
  };
  EXPECT_EQ(move(request), "2");
  EXPECT_EQ(engine.keys(repo, "main"), "b/1 b/2");
  EXPECT_EQ(engine.read(repo, "main", "b/2"), "late");
  // A branch that never stands still is given up where what is written cannot be taken along.
  request = of_prefix("b/", "c/");
  request.check = [&](const Key&, const Key&) { engine.put(repo, "main", "c/x", "again"); };
  request.overwrite = false;
  EXPECT_EQ(move(request), "too_many_attempts");
  EXPECT_EQ(engine.keys(repo, "main"), "b/1 b/2 c/x");
}

// A move started over for each write below its prefixes, and gave up while writes were steady.
TEST_F(Move, IsNotStarvedByWritesToItsPrefixes) {
  testing::FaultPoints faults;
  testing::TestEngine slow(shared_url(), engine.store, &faults);
  for (const char* key : {"a/1", "a/2", "b/2", "b/3"}) engine.put(repo, "main", key, key);
  engine.commit(repo, "main");
  constexpr int kWrites = 20;
  for (int i = 0; i < kWrites; ++i) {
    faults.at_then_go_on({"staged_batch_begin_change"}, [this] {
      engine.put(repo, "main", "a/2", "later");
      engine.put(repo, "main", "a/9", "later");
      engine.put(repo, "main", "b/1", "covered");
      engine.put(repo, "main", "b/3", "kept");
    });
  }
  EXPECT_EQ(move_objects(*slow, repo, main, of_prefix("a/", "b/")), 3u);
  EXPECT_EQ(faults.unreached(), size_t{kWrites - 3}) << "it went through at the third attempt";
  EXPECT_EQ(engine.keys(repo, "main"), "b/1 b/2 b/3 b/9");
  EXPECT_EQ(engine.read(repo, "main", "b/1"), "a/1");
  EXPECT_EQ(engine.read(repo, "main", "b/2"), "later");
  EXPECT_EQ(engine.read(repo, "main", "b/3"), "kept");
  EXPECT_EQ(engine.read(repo, "main", "b/9"), "later");
}

// A deletion of what never was at the source must not take what is at the destination along.
TEST_F(Move, ConcurrentDeletionDeletesOnlyItsObject) {
  testing::FaultPoints faults;
  testing::TestEngine slow(shared_url(), engine.store, &faults);
  for (const char* key : {"a/1", "a/2", "b/9"}) engine.put(repo, "main", key, key);
  faults.at_then_go_on({"staged_batch_begin_change"}, [this] {
    const std::vector<Key> gone = {Key("a/2"), Key("a/9")};
    objects::delete_objects(*engine, repo, main, gone, false);
  });
  EXPECT_EQ(move_objects(*slow, repo, main, of_prefix("a/", "b/")), 1u);
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.keys(repo, "main"), "b/1 b/9");
}

TEST_F(Move, ConditionalWriteThatReadBeforeTheMoveChecksAgain) {
  engine.put(repo, "main", "a", "1");
  std::optional<meta::BranchLookup> seen;
  MoveRequest request = of_key("a", "b");
  request.check = [&](const Key&, const Key& to) {
    seen = (*engine).staging.lookup(repo, main, to);
  };
  EXPECT_EQ(move(request), "1");
  EXPECT_EQ(seen->state.kind, meta::StagedState::Kind::kNone);
  const Entry entry = objects::get_object(*engine, repo, "main", Key("b")).entry;
  EXPECT_EQ((*engine).staging.stage_if(*seen, Key("b"), entry),
            meta::Staging::StageOutcome::kChanged);
}

TEST_F(Move, RuleSetDuringTheMoveApplies) {
  engine.put(repo, "main", "a", "1");
  MoveRequest request = of_key("a", "b");
  request.check = [&](const Key&, const Key&) {
    branch::set_branch_rules(*engine, repo, {{.pattern = Glob("main")}}, {});
  };
  EXPECT_EQ(move(request), "protected_branch");
  EXPECT_EQ(engine.keys(repo, "main"), "a");
}

// Its rows were swept, or its server's objects may have been, so nothing may refer to them.
// Verified by mutation: leaving out in turn the look at the batch and at the server's registration:
// the move went through.
TEST_F(Move, CancelledMoveIsNotPublished) {
  engine.put(repo, "main", "a", "1");
  const auto move_while = [&](const std::string& script) {
    MoveRequest request = of_key("a", "b");
    request.check = [&](const Key&, const Key&) {
      db::Connection::open(shared_url())->run_script(script);
    };
    return move(request);
  };
  EXPECT_EQ(move_while("DELETE FROM retired_tokens"), "batch_expired");
  EXPECT_EQ(move_while(str_cat("DELETE FROM writers WHERE writer_id = ", (*engine).writer.id())),
            "writer_lost");
  EXPECT_EQ(engine.keys(repo, "main"), "a");
}

TEST_F(Move, ManyMovesAreFoldedAndLoseNothing) {
  engine.put(repo, "main", "x0/a", "1");
  engine.put(repo, "main", "kept", "1");
  const int rounds = 3 * static_cast<int>(branch::kSealedTokensMax);
  for (int i = 0; i < rounds; ++i) {
    EXPECT_EQ(move(of_prefix(str_cat("x", i, "/"), str_cat("x", i + 1, "/"))), "1");
  }
  EXPECT_EQ(engine.keys(repo, "main"), str_cat("kept x", rounds, "/a"));
  EXPECT_LE(branch::BranchHold(*engine, branch::get_branch(*engine, repo, main), false, nullptr)
                .lease()
                .sealed.size(),
            branch::kSealedTokensMax + 1);
}

TEST_F(Move, MoreThanAPageMovesInOrder) {
  constexpr int kObjects = 25'000;
  Entry entry;
  entry.etag = "e";
  const BranchId branch = (*engine).staging.lookup(repo, main, Key("a"))->branch.id;
  for (int begin = 0; begin < kObjects; begin += 5000) {
    std::vector<meta::StagedRow> rows;
    for (int i = begin; i < begin + 5000; ++i) {
      entry.size_bytes = static_cast<uint64_t>(i);
      rows.push_back({str_cat("in/", 100'000 + i), entry});
    }
    (*engine).staging.stage_many(branch, std::move(rows));
    if (begin == 10'000) engine.commit(repo, "main");
  }
  EXPECT_EQ(move(of_prefix("in/", "out/")), std::to_string(kObjects));
  engine.commit(repo, "main");
  int seen = 0;
  objects::ListOptions options{.prefix = "", .after = "", .delimiter = "", .limit = 1000};
  for (;;) {
    const Page<objects::ListItem> page = objects::list_objects(*engine, repo, "main@", options);
    for (const objects::ListItem& item : page.items) {
      ASSERT_EQ(item.path, str_cat("out/", 100'000 + seen));
      ASSERT_EQ(item.entry->size_bytes, static_cast<uint64_t>(seen));
      ++seen;
    }
    if (!page.has_more) break;
    options.after = page.next;
  }
  EXPECT_EQ(seen, kObjects);
}

}  // namespace
}  // namespace tarn::versioning
