#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/db/pool.h"
#include "tests/support/fault_points.h"
#include "tests/support/postgres_test.h"

namespace tarn::db {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr Query kSelectPooledPid{"test_select_pid", "SELECT pg_backend_pid()"};
constexpr Query kTerminateOthers{"test_terminate_others", R"sql(
  SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid())sql"};
constexpr Query kTerminateMyself{"test_terminate_myself",
                                 "SELECT pg_terminate_backend(pg_backend_pid())"};
constexpr Query kIncrement{"test_increment", "UPDATE counter SET n = n + 1"};
constexpr Query kSelectCounter{"test_select_counter", "SELECT n FROM counter"};
constexpr Query kSelectCounters{"test_select_counters", "SELECT n FROM counter WHERE $1 > 0"};

class PoolTest : public ::testing::Test {
 protected:
  PoolTest() {
    Connection::open(url())->run_script(
        "CREATE TABLE IF NOT EXISTS counter (n int8); DELETE FROM counter; INSERT INTO counter "
        "VALUES (0)");
  }
  int64_t counter() { return pool_.run(kSelectCounter, {}, Pool::Retry::kRead).integer(0, 0); }
  int64_t server_process() {
    return pool_.run(kSelectPooledPid, {}, Pool::Retry::kRead).integer(0, 0);
  }
  void terminate_all() { Connection::open(url())->run(kTerminateOthers); }

  static const std::string& url() {
    static const testing::TestDatabase database(testing::TestDatabase::Schema::kEmpty);
    return database.url();
  }
  Pool pool_{url(), {.connections_max = 2, .lease_timeout = milliseconds(200)}};
};

TEST_F(PoolTest, ReusesAConnection) { EXPECT_EQ(server_process(), server_process()); }

TEST_F(PoolTest, IsUnavailableWhenAllAreLeasedForTooLong) {
  const Pool::Lease first = pool_.lease();
  const Pool::Lease second = pool_.lease();
  const Clock::time_point start = Clock::now();
  try {
    pool_.lease();
    FAIL() << "leased a third of two";
  } catch (const DbError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  }
  EXPECT_GE(Clock::now() - start, milliseconds(200));
}

TEST_F(PoolTest, HandsAReturnedConnectionToAWaiter) {
  std::optional<Pool::Lease> first = pool_.lease();
  const Pool::Lease second = pool_.lease();
  const int64_t process = (*first)->run(kSelectPooledPid).integer(0, 0);
  std::jthread returning([&] { first.reset(); });
  EXPECT_EQ(pool_.lease()->run(kSelectPooledPid).integer(0, 0), process);
}

TEST_F(PoolTest, EndsTheTransactionOfAnAbandonedLease) {
  const int64_t process = server_process();
  {
    const Pool::Lease lease = pool_.lease();
    lease->begin();
    lease->run(kIncrement);
  }
  EXPECT_EQ(counter(), 0);
  EXPECT_EQ(server_process(), process);
}

TEST_F(PoolTest, ReplacesConnectionsThatDiedIdle) {
  const int64_t process = server_process();
  terminate_all();
  pool_.run(kIncrement, {}, Pool::Retry::kWrite);
  EXPECT_EQ(counter(), 1);
  EXPECT_NE(server_process(), process);
}

TEST_F(PoolTest, DropsAConnectionThatBrokeUnderALease) {
  for (int round = 0; round < 5; ++round) {  // more than connections_max: none stays counted
    const Pool::Lease lease = pool_.lease();
    EXPECT_THROW(lease->run(kTerminateMyself), DbError);
  }
  EXPECT_EQ(counter(), 0);
}

/// Fails on the given connection by closing it in the middle of the statement.
constexpr Query kDieOn{"test_die_on", R"sql(
  SELECT CASE WHEN pg_backend_pid() = $1 THEN pg_terminate_backend(pg_backend_pid()) END,
         pg_backend_pid())sql"};

TEST_F(PoolTest, RetriesAReadOnAFreshConnection) {
  const int64_t process = server_process();
  const Rows rows = pool_.run(kDieOn, {process}, Pool::Retry::kRead);
  EXPECT_NE(rows.integer(0, 1), process);
}

TEST_F(PoolTest, DoesNotRepeatAWriteThatWasSent) {
  const int64_t process = server_process();
  try {
    pool_.run(kDieOn, {process}, Pool::Retry::kWrite);
    FAIL() << "ran twice";
  } catch (const DbError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_TRUE(error.in_doubt());
  }
}

TEST_F(PoolTest, DoesNotRepeatWhatTheServerRefused) {
  std::atomic<int> runs = 0;
  EXPECT_THROW(pool_.transaction([&](Connection& c) {
    ++runs;
    c.run({"test_divide", "SELECT 1 / 0"});
  }),
               DbError);
  EXPECT_EQ(runs, 1);
}

TEST_F(PoolTest, FailsFastWhileTheServerRefusesConnections) {
  Pool nowhere("host=/nonexistent port=1", {});
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 1000; ++i) EXPECT_THROW(nowhere.lease(), DbError);
  EXPECT_LT(Clock::now() - start, seconds(2));
}

TEST_F(PoolTest, TriesAgainAfterThePause) {
  const std::string name(
      Connection::open(url())->run({"test_name", "SELECT current_database()"}).text(0, 0));
  const auto admin = Connection::open(url() + " dbname=postgres");
  const auto accept = [&](const char* whether) {
    admin->run_script(str_cat("ALTER DATABASE ", name, " ALLOW_CONNECTIONS ", whether));
  };
  Pool refused(url(), {});
  accept("false");
  EXPECT_THROW(refused.lease(), DbError);
  accept("true");
  EXPECT_THROW(refused.lease(), DbError) << "asked the server again at once";
  std::this_thread::sleep_for(kRefusedPause + milliseconds(20));
  EXPECT_EQ(refused.lease()->run({"test_one", "SELECT 1"}).integer(0, 0), 1);
}

TEST_F(PoolTest, RetriesConflictingTransactionsUntilOneWins) {
  std::atomic<int> runs = 0;
  const int64_t result = pool_.transaction([&](Connection& c) {
    c.run(kIncrement);
    if (++runs < 3) c.run_script("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$");
    return c.run(kSelectCounter).integer(0, 0);
  });
  EXPECT_EQ(result, 1);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(counter(), 1);
}

TEST_F(PoolTest, RetriesOfAConflictAreBounded) {
  int runs = 0;
  try {
    pool_.transaction([&](Connection& c) {
      ++runs;
      c.run_script("DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$");
    });
    FAIL() << "no conflict";
  } catch (const DbError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kConflict);
  }
  EXPECT_EQ(runs, kConflictRetriesMax);
}

TEST_F(PoolTest, UndoesATransactionWhoseBodyThrows) {
  EXPECT_THROW(pool_.transaction([](Connection& c) {
    c.run(kIncrement);
    throw Error(ErrorCode::kNotFound, "no");
  }),
               Error);
  EXPECT_EQ(counter(), 0);
}

TEST_F(PoolTest, ServesManyThreads) {
  Pool pool(url(), {.connections_max = 4});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 16; ++t) {
      threads.emplace_back([&pool] {
        for (int i = 0; i < 20; ++i) {
          pool.transaction([](Connection& c) { c.run(kIncrement); });
          EXPECT_EQ(pool.run(kSelectCounters, {1}, Pool::Retry::kRead).size(), 1u);
        }
      });
    }
  }
  EXPECT_EQ(counter(), 320);
}

TEST_F(PoolTest, InjectedFaultsBreakTheConnectionBeforeOrAfterAStatement) {
  testing::FaultPoints faults;
  Pool pool(url(), {.connections_max = 1, .faults = &faults});
  faults.lose_connection("test_increment");
  pool.run(kIncrement, {}, Pool::Retry::kWrite);  // nothing was sent: once more
  EXPECT_EQ(counter(), 1);
  faults.lose_answer("test_increment");
  try {
    pool.run(kIncrement, {}, Pool::Retry::kWrite);
    ADD_FAILURE() << "the answer was not lost";
  } catch (const DbError& error) {
    EXPECT_TRUE(error.in_doubt());
  }
  EXPECT_EQ(counter(), 2);
  faults.lose_answer("commit");
  try {
    pool.transaction([](Connection& connection) { connection.run(kIncrement); });
    ADD_FAILURE() << "the answer was not lost";
  } catch (const DbError& error) {
    EXPECT_TRUE(error.in_doubt());
  }
  EXPECT_EQ(counter(), 3);
  EXPECT_EQ(faults.unreached(), 0u);
}

}  // namespace
}  // namespace tarn::db
