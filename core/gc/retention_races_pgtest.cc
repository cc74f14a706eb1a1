// Expiry of all history but the heads, again and again, while several servers make refs of old
// commits, merge and revert: whatever a ref shows can be read.
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/settings.h"
#include "core/gc/collection_fixture.h"
#include "core/gc/holds.h"
#include "core/versioning/checkout.h"
#include "core/versioning/merge.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"

namespace tarn::gc {
namespace {

using testing::TestEngine;

constexpr size_t kWriters = 4;
// A race with fewer would say little.
constexpr int64_t kExpiredCommitsMin = 21;
constexpr int64_t kExpiredAnswersMin = 6;
constexpr int kKeys = 6;

/// A writer on a server of its own: mostly makes refs of commits that are about to expire.
class HistoryWriter {
 public:
  HistoryWriter(TestEngine& at, const Repository& repository, size_t number)
      : at_(at), repository_(repository), number_(number), random_(number) {}

  void step() {
    const std::string own = str_cat("w", number_);
    const std::string ref = str_cat("r", number_, "-", pick(3));
    switch (pick(12)) {
      case 0:
      case 1:
      case 2:
        at_.put(repository_.name, own, str_cat("k", pick(kKeys)), str_cat(number_, " ", ++texts_));
        at_.commit(repository_.name, own);
        break;
      case 3:
        at_.branch(repository_.name, ref, old_commit());
        break;
      case 4:
        branch::delete_branch(*at_, repository_, BranchName(ref), false);
        break;
      case 5:
        branch::create_tag(*at_, repository_, TagName(str_cat("t", ref)), old_commit(), false);
        break;
      case 6:
        branch::delete_tag(*at_, repository_, TagName(str_cat("t", ref)), false);
        break;
      case 7:
        branch::set_alias(*at_, repository_,
                          {.name = AliasName(str_cat("a", number_)), .actor = "t"}, old_commit());
        break;
      case 8:
        versioning::hard_reset_branch(*at_, repository_, BranchName(ref), old_commit(), false);
        break;
      case 9: {
        versioning::CherryPickRequest request;
        request.committer = "t";
        request.ref = old_commit();
        request.parent_number = 1;
        versioning::cherry_pick(*at_, repository_, BranchName(own), request);
        break;
      }
      case 10: {
        versioning::MergeRequest request;
        request.committer = "t";
        request.strategy = versioning::MergeStrategy::kSourceWins;
        versioning::merge_into(*at_, repository_, old_commit(), BranchName(own), request);
        break;
      }
      default:
        versioning::checkout_paths(*at_, repository_, BranchName(own),
                                   {.ref = old_commit(), .paths = PathScope({"**"})});
        at_.commit(repository_.name, own);
    }
  }

 private:
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  /// By its id: as a client that has read it a moment ago.
  std::string old_commit() {
    const Commit commit =
        branch::resolve_commit(*at_, repository_, str_cat("w", pick(kWriters), "~", pick(2)));
    if (pick(3) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(pick(30)));
    return to_text(commit.id);
  }

  TestEngine& at_;
  const Repository& repository_;
  const size_t number_;
  std::mt19937 random_;
  int texts_ = 0;
};

class RetentionRaces : public CollectionTest {
 protected:
  /// The commit that the ref names has its data: every object with the bytes of its checksum.
  void check(const std::string& ref) {
    std::optional<CommitId> before;
    try {
      before = branch::resolve_commit(*engine, repo, ref).id;
      // By the commit: what is staged on a branch changes between two looks.
      const std::string id = to_text(*before);
      for (const auto& item : objects::list_objects(*engine, repo, id, {"", "", "", 1000}).items) {
        const auto found = objects::find_object(*engine, repo, id, Key(item.path));
        if (!found) continue;
        const std::string bytes = engine.read(repo, id, item.path);
        if (to_hex(md5(bytes)) != found->entry.etag && is_still(ref, *before)) {
          violation(str_cat(ref, "/", item.path, ": other bytes"));
        }
      }
      ++checked;
    } catch (const Error& error) {
      if (before && is_still(ref, *before)) violation(str_cat(ref, ": ", error.message()));
    }
  }

  bool is_still(const std::string& ref, const CommitId& commit) {
    try {
      return branch::resolve_commit(*engine, repo, ref).id == commit;
    } catch (const Error&) {
      return false;
    }
  }

  void check_all() {
    for (const Branch& branch : branch::list_branches(*engine, repo, "", "", 1000, true).items) {
      check(branch.name.str());
    }
    for (const Tag& tag : branch::list_tags(*engine, repo, "", "", 1000).items)
      check(tag.name.str());
    for (size_t i = 0; i < kWriters; ++i) check(str_cat("@a", i));
  }

  static bool is_missing_commit(const Error& error) {
    return error.message().starts_with("commit ") && error.message().ends_with("but missing");
  }

  void violation(const std::string& what) {
    ++violations;
    ADD_FAILURE() << what;
  }

  std::atomic<int> violations = 0;
  std::atomic<int64_t> checked = 0;
};

TEST_F(RetentionRaces, WhatRefsShowCanBeRead) {
  branch::set_collection_rules(*engine, repo, {.default_retention_days = 0, .retention_days = {}});
  for (size_t i = 0; i < kWriters; ++i) engine.branch(repo, str_cat("w", i), "main");
  std::vector<std::unique_ptr<TestEngine>> servers;
  for (size_t i = 0; i < kWriters; ++i) {
    servers.push_back(std::make_unique<TestEngine>(database.url(), engine.store));
  }
  std::atomic<bool> stop = false;
  std::atomic<int64_t> operations = 0, refused = 0, expired = 0;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      HistoryWriter writer(*servers[i], repo, i);
      while (!stop) {
        try {
          writer.step();
          ++operations;
        } catch (const Error& error) {
          // A commit that no ref leads to any more may go between two statements of a reader;
          // torn_histories finds those that a ref leads to.
          if (error.code() == ErrorCode::kDataLoss && !is_missing_commit(error)) {
            violation(error.message());
          }
          ++(error.code() == ErrorCode::kGone ? expired : refused);
        }
      }
    });
  }
  for (const auto& server : servers) {
    threads.emplace_back([&] {
      while (!stop) {
        server->parts().heartbeat();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }
  int64_t runs = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto count_expiries = [&] {
    int64_t commits = 0;
    for (const CollectionRun& run : list_collections(*engine, repo, 1000)) {
      commits += run.counts.expired_commits;
    }
    return commits;
  };
  const auto enough = [&] {
    return runs >= kRacedCollectionsMin && expired >= kExpiredAnswersMin &&
           count_expiries() >= kExpiredCommitsMin;
  };
  while (race_lasts(begin, enough) && violations == 0) {
    request_collection(*engine, repo, "tester", 0);
    engine.parts().heartbeat();
    if (!run_one_collection(*engine, options, {})) continue;
    ++runs;
    check_all();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const int64_t expiries = count_expiries();
  for (const CollectionRun& run : list_collections(*engine, repo, 1000)) {
    EXPECT_EQ(run.state, "done") << run.error;
  }
  servers.clear();
  collect_all(repo);
  check_all();
  EXPECT_EQ(torn_histories(), 0);
  std::cout << "operations " << operations << ", refused " << refused << ", expired " << expired
            << ", collections " << runs << ", expiries " << expiries << ", refs checked " << checked
            << "\n";
  EXPECT_GE(runs, kRacedCollectionsMin);
  EXPECT_GE(expiries, kExpiredCommitsMin);
  EXPECT_GE(expired, kExpiredAnswersMin);
}

}  // namespace
}  // namespace tarn::gc
