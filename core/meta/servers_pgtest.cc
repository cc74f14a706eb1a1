#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/meta/servers.h"
#include "tests/support/postgres_test.h"

namespace tarn::meta {
namespace {

class ServersTest : public ::testing::Test {
 protected:
  static const std::string& url() {
    static const testing::TestDatabase database;
    return database.url();
  }
  void SetUp() override { pool.run({"test_empty", "DELETE FROM servers"}, {}, kWrite); }

  ServerProcess process(const std::string& id, const std::string& version = "1.0.0") {
    return {.id = id,
            .version = version,
            .host = "host-" + id,
            .listen = "127.0.0.1:8000",
            .started = from_millis(1'700'000'000'123)};
  }
  void let_pass(const std::string& id, int64_t seconds) {
    pool.run({"test_age",
              "UPDATE servers SET seen_at = seen_at - make_interval(secs => $2::bigint) "
              "WHERE server_id = $1"},
             {id, seconds}, kWrite);
  }
  int64_t rows() {
    return pool.run({"test_count", "SELECT count(*) FROM servers"}, {}, db::Pool::Retry::kRead)
        .integer(0, 0);
  }

  static constexpr db::Pool::Retry kWrite = db::Pool::Retry::kWrite;
  db::Pool pool{url(), {}};
  Servers servers{pool};
};

TEST_F(ServersTest, ListsWhatEachAnnouncedLastSeenFirst) {
  servers.announce(process("aa", "1.0.0"));
  servers.announce(process("bb", "1.1.0"));
  const auto found = servers.list();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].id, "bb");
  EXPECT_EQ(found[0].version, "1.1.0");
  EXPECT_EQ(found[1].id, "aa");
  EXPECT_EQ(found[1].version, "1.0.0");
  EXPECT_EQ(found[1].host, "host-aa");
  EXPECT_EQ(found[1].listen, "127.0.0.1:8000");
  EXPECT_EQ(found[1].started, from_millis(1'700'000'000'123));
  EXPECT_TRUE(found[0].alive);
  EXPECT_TRUE(found[1].alive);
  EXPECT_LT(std::chrono::abs(found[0].seen - SystemClock().now()), std::chrono::minutes{1});
}

TEST_F(ServersTest, IsGoneAfterAMinuteOfTheDatabasesClockUntilItIsSeenAgain) {
  servers.announce(process("aa"));
  servers.announce(process("bb"));
  let_pass("aa", 50);
  EXPECT_TRUE(servers.list()[1].alive);
  let_pass("aa", 11);
  const auto found = servers.list();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].alive);
  EXPECT_EQ(found[1].id, "aa");
  EXPECT_FALSE(found[1].alive);
  servers.announce(process("aa", "2.0.0"));
  const auto again = servers.list();
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].id, "aa");
  EXPECT_EQ(again[0].version, "2.0.0");
  EXPECT_TRUE(again[0].alive);
}

TEST_F(ServersTest, RemovesOne) {
  servers.announce(process("aa"));
  servers.announce(process("bb"));
  servers.remove("aa");
  servers.remove("no such server");
  const auto found = servers.list();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "bb");
}

TEST_F(ServersTest, RowsAreDeletedADayAfterTheirServerWasSeen) {
  for (const char* id : {"aa", "bb", "cc"}) servers.announce(process(id));
  let_pass("aa", int64_t{25} * 3600);
  let_pass("bb", int64_t{23} * 3600);
  let_pass("cc", int64_t{25} * 3600);
  servers.announce(process("cc"));  // suspended for a day, and awake again
  const auto found = servers.list();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].id, "cc");
  EXPECT_TRUE(found[0].alive);
  EXPECT_EQ(found[1].id, "bb");
}

TEST_F(ServersTest, DeletesAndListsABoundedNumber) {
  pool.run(
      {"test_fill",
       "INSERT INTO servers (server_id, version, host, listen, started_at, seen_at) "
       "SELECT n::text, '1', 'h', 'l', clock_timestamp(), clock_timestamp() - interval '2 days' "
       "FROM generate_series(1, 1100) AS n"},
      {}, kWrite);
  EXPECT_EQ(servers.list().size(), kServersMax);
  servers.announce(process("aa"));
  EXPECT_EQ(rows(), 1001);
}

TEST_F(ServersTest, DoesNotWaitForWhoLocksTheTable) {
  const db::Pool::Lease holder = pool.lease();
  holder->begin();
  holder->run({"test_lock", "LOCK TABLE servers IN ACCESS EXCLUSIVE MODE"});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(servers.announce(process("aa")), Error);
  EXPECT_THROW(servers.remove("aa"), Error);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{15});
  holder->rollback();
  servers.announce(process("aa"));
  EXPECT_EQ(rows(), 1);
}

}  // namespace
}  // namespace tarn::meta
