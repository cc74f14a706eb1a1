// Read leases: two engines represent two servers; one reads from memory, the other writes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/metrics.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/settings.h"
#include "core/meta/read_leases.h"
#include "core/meta/repository_settings.h"
#include "core/objects/objects.h"
#include "core/versioning/commit.h"
#include "core/versioning/merge.h"
#include "core/versioning/move.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/fault_points.h"
#include "tests/support/long_tests.h"

namespace tarn::meta {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::FaultPoints;
using testing::TestDatabase;
using testing::TestEngine;

class ReadLease : public ::testing::Test {
 protected:
  /// Reads until the answer comes from memory. false: it does not within some seconds.
  bool become_leased(const std::string& branch = "main", const std::string& key = "k") {
    const auto end = steady_clock::now() + milliseconds{8'000};
    while (steady_clock::now() < end) {
      faults.record();
      holder.read(repo, branch, key);
      const auto ran = faults.recorded();
      if (std::ranges::find(ran, "staging_lookup_key") == ran.end()) return true;
    }
    return false;
  }
  /// Reads until the holder has asked for a lease. false: it does not within some seconds.
  bool ask_for_a_lease() {
    const auto asked = std::make_shared<std::atomic<bool>>(false);
    faults.at_then_go_on({"read_leases_take", false}, [asked] { *asked = true; });
    const auto end = steady_clock::now() + milliseconds{8'000};
    while (!*asked && steady_clock::now() < end) holder.read(repo, "main", "k");
    return *asked;
  }
  static double leased_reads() {
    const std::string page = metrics::text();
    const std::string_view line = "\ntarn_leased_reads_total ";
    const size_t at = page.find(line);
    return at == std::string::npos ? 0 : std::stod(page.substr(at + line.size()));
  }
  size_t leases() {
    return static_cast<size_t>(
        connection->run({"test_count_leases", "SELECT count(*) FROM read_leases"}).integer(0, 0));
  }
  /// Waits until the holder has given back what was revoked.
  bool none_left() {
    const auto end = steady_clock::now() + milliseconds{8'000};
    while (steady_clock::now() < end) {
      if (leases() == 0) return true;
      std::this_thread::sleep_for(milliseconds{5});
    }
    return false;
  }

  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
  FaultPoints faults;
  TestEngine holder{database.url(), engine.store, &faults, true};
  std::unique_ptr<db::Connection> connection = db::Connection::open(database.url());
};

TEST_F(ReadLease, BranchThatIsReadOftenIsReadFromMemory) {
  engine.put(repo, "main", "committed", "1");
  engine.put(repo, "main", "deleted", "2");
  engine.commit(repo, "main");
  engine.put(repo, "main", "staged", "3");
  engine.remove(repo, "main", "deleted");
  ASSERT_TRUE(become_leased());
  faults.record();
  EXPECT_EQ(holder.read(repo, "main", "committed"), "1");
  EXPECT_EQ(holder.read(repo, "main", "staged"), "3");
  EXPECT_EQ(holder.read(repo, "main", "deleted"), "<absent>");
  EXPECT_EQ(holder.read(repo, "main", "never"), "<absent>");
  const auto ran = faults.recorded();
  EXPECT_EQ(std::ranges::count(ran, "staging_lookup_key"), 0);
  EXPECT_EQ(leases(), 1u);
}

TEST_F(ReadLease, FewReadsTakeNone) {
  engine.put(repo, "main", "k", "1");
  for (int i = 0; i < 10; ++i) holder.read(repo, "main", "k");
  std::this_thread::sleep_for(milliseconds{100});
  EXPECT_EQ(leases(), 0u);
}

/// A change of what reads of `main` return, made by the other server.
struct Change {
  const char* name;
  std::function<void(TestEngine&, const testing::TestRepository&)> make;
};

// Prints the name alone.
void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

class ReadLeaseEndsBefore : public ReadLease, public ::testing::WithParamInterface<Change> {};

// Verified by mutation: without the check in the staging functions, or without any of the three
// triggers, the changes that depend on it are read late.
TEST_P(ReadLeaseEndsBefore, TheChangeIsAcknowledged) {
  const BranchName main("main");
  engine.put(repo, "main", "k", "committed");
  engine.put(repo, "main", "dir/a", "a");
  engine.put(repo, "main", "dir/b", "b");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "k", "of dev");
  engine.put(repo, "dev", "n", "of dev");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "staged", "s");
  ASSERT_TRUE(become_leased());
  ASSERT_TRUE(become_leased("dev"));
  const std::vector<std::pair<std::string, std::string>> asked = {
      {"main", "k"},      {"main", "dir/a"}, {"main", "dir/b"}, {"main", "n"},
      {"main", "staged"}, {"main", "moved"}, {"dev", "k"}};
  const auto all = [&](TestEngine& server) {
    std::string out;
    for (const auto& [branch, key] : asked) {
      try {
        const auto found = objects::find_object(*server, repo.name, branch, Key(key), 6);
        out += str_cat(branch, "/", key, "=", found ? found->entry.etag : "absent", " ",
                       found ? static_cast<int>(found->versioning) : 0, "; ");
      } catch (const Error& error) {
        out += str_cat(branch, "/", key, ":", error.reason(), "; ");
      }
    }
    return out;
  };
  const std::string before = all(holder);
  GetParam().make(engine, repo);
  const std::string after = all(holder);
  EXPECT_NE(after, before) << "the change is none";
  EXPECT_EQ(after, all(engine));
}

INSTANTIATE_TEST_SUITE_P(
    OfEachKind, ReadLeaseEndsBefore,
    ::testing::Values(
        Change{"Upload", [](TestEngine& e, const auto& repo) { e.put(repo, "main", "k", "new"); }},
        Change{"ConditionalUpload",
               [](TestEngine& e, const auto& repo) {
                 branch::Condition absent;
                 absent.if_absent = true;
                 e.put(repo, "main", "n", "new", absent);
               }},
        Change{"Deletion", [](TestEngine& e, const auto& repo) { e.remove(repo, "main", "k"); }},
        Change{"Move",
               [](TestEngine& e, const auto& repo) {
                 versioning::MoveRequest request;
                 request.source = "dir/a";
                 request.destination = "moved";
                 versioning::move_objects(*e, repo, BranchName("main"), request);
               }},
        Change{"Reset",
               [](TestEngine& e, const auto& repo) {
                 versioning::reset_branch(*e, repo, BranchName("main"), false);
               }},
        Change{"ResetOfAnObject",
               [](TestEngine& e, const auto& repo) {
                 versioning::reset_object(*e, repo, BranchName("main"), Key("staged"), false);
               }},
        Change{"ResetOfAPrefix",
               [](TestEngine& e, const auto& repo) {
                 versioning::reset_prefix(*e, repo, BranchName("main"), "st", false);
               }},
        Change{"HardReset",
               [](TestEngine& e, const auto& repo) {
                 e.commit(repo, "main");
                 versioning::hard_reset_branch(*e, repo, BranchName("main"), "main~1", false);
               }},
        Change{"Merge",
               [](TestEngine& e, const auto& repo) {
                 versioning::MergeRequest request;
                 request.strategy = versioning::MergeStrategy::kSourceWins;
                 request.allow_dirty = true;
                 versioning::merge_into(*e, repo, "dev", BranchName("main"), request);
               }},
        Change{"Revert",
               [](TestEngine& e, const auto& repo) {
                 e.commit(repo, "main");
                 versioning::RevertRequest request;
                 request.ref = "main";
                 versioning::revert_branch(*e, repo, BranchName("main"), request);
               }},
        Change{"DeletedBranch",
               [](TestEngine& e, const auto& repo) {
                 branch::delete_branch(*e, repo, BranchName("dev"), false);
               }},
        Change{"DeletedRepository",
               [](TestEngine& e, const auto& repo) {
                 branch::delete_repository(*e, repo.name, true);
               }},
        Change{"Versioning",
               [](TestEngine& e, const auto& repo) {
                 (*e).settings.set_versioning(repo.id, Versioning::kEnabled);
               }}),
    [](const auto& change) { return std::string(change.param.name); });

// Also by statements that take no write lease.
TEST_F(ReadLease, NothingThatReadsReturnChangesBesideIt) {
  engine.put(repo, "main", "k", "1");
  connection->run_script(
      "INSERT INTO read_leases (branch_id, holder, number, repo_id) "
      "SELECT branch_id, 999999, 999999, repo_id FROM branches WHERE name = 'main'");
  const auto state_of = [&](const std::string& sql) {
    try {
      connection->run_script(sql);
    } catch (const db::DbError& error) {
      return error.sqlstate();
    }
    return std::string("done");
  };
  for (const char* change :
       {"head = decode(repeat('ab', 32), 'hex')", "root_nid = 5", "root_hash = '\\x00'",
        "token = 99", "sealed = '{1}'", "has_ranges = true", "name = 'x'", "hidden = true",
        "lease_owner = 5, lease_until = clock_timestamp()"}) {
    EXPECT_EQ(state_of(str_cat("UPDATE branches SET ", change)), db::kStateReadLeased) << change;
  }
  EXPECT_EQ(state_of("DELETE FROM branches"), db::kStateReadLeased);
  for (const char* change :
       {"name = 'x'", "deleted_ms = 1", "settings_version = settings_version + 1"}) {
    EXPECT_EQ(state_of(str_cat("UPDATE repositories SET ", change)), db::kStateReadLeased)
        << change;
  }
  EXPECT_EQ(state_of("UPDATE branches SET expires_ms = 1, lease_owner = NULL"), "done");
  EXPECT_EQ(state_of("UPDATE repositories SET metadata = '{}'"), "done");
}

// A listing, a search and a comparison, in pages that are longer and shorter than what is staged.
TEST_F(ReadLease, ListingsFromMemoryAreThoseOfTheDatabase) {
  for (int i = 0; i < 40; ++i) engine.put(repo, "main", str_cat("c", 100 + i), "x");
  engine.commit(repo, "main");
  for (int i = 0; i < 40; i += 3) engine.remove(repo, "main", str_cat("c", 100 + i));
  for (int i = 0; i < 30; ++i) engine.put(repo, "main", str_cat("d", 100 + i), "y");
  const auto listed = [&](TestEngine& server, uint32_t limit) {
    std::string out;
    objects::ListOptions options;
    options.limit = limit;
    for (;;) {
      const auto page = objects::list_objects(*server, repo.name, "main", options, 6);
      for (const auto& item : page.items) out += str_cat(item.path, " ");
      if (!page.has_more) return out;
      options.after = page.next;
    }
  };
  ASSERT_TRUE(become_leased());
  for (const uint32_t limit : {1u, 7u, 30u, 1000u}) {
    faults.record();
    const std::string from_memory = listed(holder, limit);
    const auto ran = faults.recorded();
    EXPECT_EQ(std::ranges::count(ran, "staging_select_page"), 0) << limit;
    EXPECT_EQ(from_memory, listed(engine, limit)) << limit;
  }
}

// Its thread hangs, so it cannot give the lease back; it also must not read from it any more.
TEST_F(ReadLease, WriterWaitsForTheEndOfALeaseWhoseHolderHangs) {
  engine.put(repo, "main", "k", "1");
  ASSERT_TRUE(become_leased());
  std::atomic<bool> written{false};
  faults.at_then_go_on({"read_leases_select_own", false}, [&] {
    const auto end = steady_clock::now() + milliseconds{10'000};
    while (!written && steady_clock::now() < end) std::this_thread::sleep_for(milliseconds{10});
    // Reads go on while the thread hangs.
    std::this_thread::sleep_for(milliseconds{300});
  });
  std::this_thread::sleep_for(3 * kReadLeaseRenewal);
  const auto begin = steady_clock::now();
  engine.put(repo, "main", "k", "2");
  written = true;
  EXPECT_EQ(holder.read(repo, "main", "k"), "2");
  EXPECT_GE(steady_clock::now() - begin, kReadLease);
  EXPECT_LT(steady_clock::now() - begin, kReadLease + milliseconds{2'000});
  EXPECT_EQ(leases(), 0u);
}

TEST_F(ReadLease, HolderThatGivesItBackDelaysAWriterLittle) {
  engine.put(repo, "main", "k", "1");
  ASSERT_TRUE(become_leased());
  const auto begin = steady_clock::now();
  engine.put(repo, "main", "k", "2");
  EXPECT_LT(steady_clock::now() - begin, kReadLease);
  EXPECT_EQ(holder.read(repo, "main", "k"), "2");
}

TEST_F(ReadLease, LeaseOfACrashedServerEnds) {
  engine.put(repo, "main", "k", "1");
  connection->run_script(
      "INSERT INTO read_leases (branch_id, holder, number, repo_id) "
      "SELECT branch_id, 999999, 999999, repo_id FROM branches WHERE name = 'main'");
  EXPECT_EQ(engine.read(repo, "main", "k"), "1");
  engine.put(repo, "main", "k", "2");
  EXPECT_EQ(leases(), 0u);
  EXPECT_EQ(engine.read(repo, "main", "k"), "2");
}

TEST_F(ReadLease, LeaseIsNotTakenUnderAWriteLease) {
  engine.put(repo, "main", "k", "1");
  connection->run_script(
      "UPDATE branches SET lease_owner = 1, lease_until = clock_timestamp() + interval '1 hour'");
  ASSERT_TRUE(ask_for_a_lease());
  std::this_thread::sleep_for(milliseconds{100});
  EXPECT_EQ(leases(), 0u);
  connection->run_script("UPDATE branches SET lease_until = clock_timestamp()");
  EXPECT_TRUE(become_leased());
}

TEST_F(ReadLease, LostAnswerLeavesNoRow) {
  engine.put(repo, "main", "k", "1");
  const auto own = db::Connection::open(database.url());
  std::atomic<int64_t> lost{0};
  faults.lose_answer("read_leases_take", [&] {
    lost = own->run({"test_newest_lease", "SELECT max(number) FROM read_leases"}).integer(0, 0);
  });
  const auto end = steady_clock::now() + milliseconds{8'000};
  while (lost == 0 && steady_clock::now() < end) holder.read(repo, "main", "k");
  ASSERT_NE(lost, 0);
  // Another one may have been taken since.
  const auto stands = [&] {
    return connection
        ->run({"test_lease_stands", "SELECT EXISTS (SELECT 1 FROM read_leases WHERE number = $1)"},
              {lost.load()})
        .boolean(0, 0);
  };
  while (stands() && steady_clock::now() < end) std::this_thread::sleep_for(milliseconds{5});
  EXPECT_FALSE(stands());
  EXPECT_TRUE(become_leased());
}

TEST_F(ReadLease, IsRevokedWhileItIsFilled) {
  engine.put(repo, "main", "k", "1");
  std::atomic<bool> met{false};
  faults.at_then_go_on({"staging_select_page", true}, [&] {
    engine.put(repo, "main", "k", "2");
    met = true;
  });
  const auto end = steady_clock::now() + milliseconds{8'000};
  while (!met && steady_clock::now() < end) {
    const std::string before = met ? "2" : "1";
    EXPECT_GE(holder.read(repo, "main", "k"), before);
  }
  ASSERT_TRUE(met);
  EXPECT_EQ(holder.read(repo, "main", "k"), "2");
}

// It would read the branch without what they are about to commit.
TEST_F(ReadLease, NoneIsTakenBesideTransactionsThatChangeTheBranch) {
  engine.put(repo, "main", "k", "1");
  const auto other = db::Connection::open(database.url());
  const auto take = [&] {
    return connection->run({"test_take", "SELECT count(*) FROM take_read_lease('lake', 'main', 5)"})
        .integer(0, 0);
  };
  for (const char* change : {"SELECT pg_advisory_xact_lock_shared(1, branch_id) FROM branches",
                             "UPDATE branches SET hidden = true",
                             "UPDATE repositories SET settings_version = settings_version + 1"}) {
    other->run_script(str_cat("BEGIN; ", change));
    EXPECT_EQ(take(), 0) << change;
    other->run_script("ROLLBACK");
  }
  EXPECT_EQ(take(), 1);
}

// Otherwise one of many readers would always be between the end of the leases and the write.
TEST_F(ReadLease, NoneIsTakenWhileAWriterWaits) {
  engine.put(repo, "main", "k", "1");
  ASSERT_TRUE(become_leased());
  engine.put(repo, "main", "k", "2");
  const auto take = [&] {
    return connection->run({"test_take", "SELECT count(*) FROM take_read_lease('lake', 'main', 5)"})
        .integer(0, 0);
  };
  EXPECT_EQ(take(), 0);
  connection->run_script("UPDATE read_lease_refusals SET until = clock_timestamp()");
  EXPECT_EQ(take(), 1);
}

TEST_F(ReadLease, ManyStagedRowsAreReadFromTheDatabase) {
  engine.put(repo, "main", "k", "1");
  connection->run_script(
      str_cat("INSERT INTO staging (token, key, kind, val) SELECT token, convert_to('x' || n, "
              "'UTF8'), 1, '' "
              "FROM branches, generate_series(1, ",
              kLeasedRowsMax + 1, ") AS n WHERE name = 'main'"));
  ASSERT_TRUE(ask_for_a_lease());
  EXPECT_TRUE(none_left());
  EXPECT_EQ(holder.read(repo, "main", "k"), "1");
}

TEST_F(ReadLease, IsGivenBackAtShutdown) {
  engine.put(repo, "main", "k", "1");
  {
    TestEngine other(database.url(), engine.store, nullptr, true);
    const auto end = steady_clock::now() + milliseconds{8'000};
    while (leases() == 0 && steady_clock::now() < end) other.read(repo, "main", "k");
    EXPECT_EQ(leases(), 1u);
  }
  EXPECT_EQ(leases(), 0u);
}

// The writer of a key knows what was acknowledged. Readers of both servers read what is at least as
// new as what was acknowledged before they began.
TEST_F(ReadLease, ReadsAreNeverOlderThanAcknowledgedWrites) {
  TestEngine second(database.url(), engine.store, nullptr, true);
  TestEngine* const servers[] = {&holder, &second};
  constexpr int kWriters = 2;
  constexpr int kWritesMin = 10;  // of each
  std::atomic<int> acknowledged[kWriters] = {};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> reads{0};
  std::atomic<uint64_t> stale{0};
  const auto key_of = [](int writer) { return "k" + std::to_string(writer); };
  for (int w = 0; w < kWriters; ++w) engine.put(repo, "main", key_of(w), "0");
  const auto leased_before = leased_reads();
  {
    std::vector<std::jthread> threads;
    for (int w = 0; w < kWriters; ++w) {
      threads.emplace_back([&, w] {
        for (int i = 1; !stop; ++i) {
          servers[w]->put(repo, "main", key_of(w), std::to_string(i));
          acknowledged[w] = i;
          if (i % 5 == 0 && w == 0) servers[w]->commit(repo, "main");
          std::this_thread::sleep_for(milliseconds{40 + 30 * (i % 4)});
        }
      });
    }
    for (TestEngine* const server : servers) {
      for (int w = 0; w < kWriters; ++w) {
        threads.emplace_back([&, server, w] {
          while (!stop) {
            const int least = acknowledged[w];
            if (std::stoi(server->read(repo, "main", key_of(w))) < least) ++stale;
            ++reads;
          }
        });
      }
    }
    const auto begun = std::chrono::steady_clock::now();
    const auto lasts = [&](milliseconds time) {
      return std::chrono::steady_clock::now() - begun < time;
    };
    const auto written = [&] { return std::min(acknowledged[0].load(), acknowledged[1].load()); };
    while (lasts(testing::is_long() ? milliseconds{20'000} : milliseconds{2'000}) ||
           (written() <= kWritesMin && lasts(milliseconds{60'000}))) {
      std::this_thread::sleep_for(milliseconds{50});
    }
    stop = true;
  }
  EXPECT_EQ(stale, 0u);
  EXPECT_GT(acknowledged[0], kWritesMin);
  EXPECT_GT(acknowledged[1], kWritesMin);
  EXPECT_GT(leased_reads() - leased_before, 100) << "of " << reads;
}

}  // namespace
}  // namespace tarn::meta
