#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/metrics.h"
#include "core/db/connection.h"
#include "tests/support/postgres_test.h"

namespace tarn::db {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string& database_url() {
  static const testing::TestDatabase database(testing::TestDatabase::Schema::kEmpty);
  return database.url();
}

std::unique_ptr<Connection> connect() { return Connection::open(database_url()); }

constexpr Query kSelectPid{"test_select_pid", "SELECT pg_backend_pid()"};
constexpr Query kTerminate{"test_terminate", "SELECT pg_terminate_backend($1, 5000)"};

/// Kills the server's end of `victim`; returns when it is gone.
void terminate(Connection& victim) {
  const int64_t pid = victim.run(kSelectPid).integer(0, 0);
  connect()->run(kTerminate, {static_cast<int32_t>(pid)});
}

template <typename Body>
DbError error_of(Body&& body) {
  try {
    body();
  } catch (const DbError& error) {
    return error;
  }
  ADD_FAILURE() << "no DbError";
  return DbError(ErrorCode::kInternal, "", "", false);
}

template <typename Body>
ErrorCode code_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no Error";
  return ErrorCode::kInternal;
}

constexpr Query kEcho{
    "test_echo", "SELECT $1::bool, $2::int2, $3::int4, $4::int8, $5::float8, $6::text, $7::bytea"};

TEST(Connection, ReturnsScalarsAsGiven) {
  const auto c = connect();
  const std::string binary("a\0b\xff", 4);
  const Rows rows = c->run(
      kEcho, {true, std::numeric_limits<int16_t>::min(), std::numeric_limits<int32_t>::min(),
              std::numeric_limits<int64_t>::max(), -1.5e300, "caf\xc3\xa9 \"'\\", Bytes{binary}});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.boolean(0, 0), true);
  EXPECT_EQ(rows.integer(0, 1), std::numeric_limits<int16_t>::min());
  EXPECT_EQ(rows.integer(0, 2), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(rows.integer(0, 3), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(rows.real(0, 4), -1.5e300);
  EXPECT_EQ(rows.text(0, 5), "caf\xc3\xa9 \"'\\");
  EXPECT_EQ(rows.bytes(0, 6), binary);
}

TEST(Connection, ReturnsNullsOfEveryType) {
  const auto c = connect();
  const Rows rows = c->run(kEcho, {std::optional<bool>(), std::optional<int16_t>(),
                                   std::optional<int32_t>(), std::optional<int64_t>(), std::nullopt,
                                   std::optional<std::string>(), std::optional<Bytes>()});
  for (int column = 0; column < 7; ++column) EXPECT_TRUE(rows.null(0, column)) << column;
}

constexpr Query kEchoArrays{"test_echo_arrays",
                            "SELECT $1::int2[], $2::int4[], $3::int8[], $4::text[], $5::bytea[]"};

TEST(Connection, ReturnsArraysAsGiven) {
  const auto c = connect();
  const std::string binary("\0\xff", 2);
  const Rows rows = c->run(
      kEchoArrays,
      {std::vector<int16_t>{-1, 2}, std::vector<int32_t>{-3}, std::vector<int64_t>{1LL << 40, -5},
       std::vector<std::string>{"", "NULL", "{,}"}, std::vector<Bytes>{{binary}, {""}}});
  EXPECT_THAT(rows.integers(0, 0), ElementsAre(-1, 2));
  EXPECT_THAT(rows.integers(0, 1), ElementsAre(-3));
  EXPECT_THAT(rows.integers(0, 2), ElementsAre(1LL << 40, -5));
  EXPECT_THAT(rows.strings(0, 3), ElementsAre("", "NULL", "{,}"));
  EXPECT_THAT(rows.strings(0, 4), ElementsAre(binary, ""));
}

TEST(Connection, ReturnsEmptyArrays) {
  const auto c = connect();
  const Rows rows =
      c->run(kEchoArrays, {std::vector<int16_t>{}, std::vector<int32_t>{}, std::vector<int64_t>{},
                           std::vector<std::string>{}, std::vector<Bytes>{}});
  EXPECT_THAT(rows.integers(0, 2), ElementsAre());
  EXPECT_THAT(rows.strings(0, 3), ElementsAre());
}

TEST(Connection, RefusesNulInText) {
  const std::string cut("a\0b", 3);
  EXPECT_EQ(code_of([&] { Param{cut}; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([&] {
              Param{std::vector<std::string>{"fine", cut}};
            }),
            ErrorCode::kInvalidArgument);
}

TEST(Connection, RefusesReadsOfWrongTypesAndColumns) {
  const auto c = connect();
  const Rows rows = c->run({"test_misread", "SELECT 1::int8, NULL::int8, ARRAY[1, NULL]::int8[]"});
  EXPECT_EQ(code_of([&] { (void)rows.text(0, 0); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { (void)rows.bytes(0, 0); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { (void)rows.integer(0, 1); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { (void)rows.integers(0, 2); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { (void)rows.integer(1, 0); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([&] { (void)rows.integer(0, 3); }), ErrorCode::kInternal);
}

TEST(Connection, CountsAffectedRows) {
  const auto c = connect();
  c->run_script("CREATE TEMP TABLE t AS SELECT generate_series(1, 7) AS i");
  EXPECT_EQ(c->run({"test_delete_some", "DELETE FROM t WHERE i > $1"}, {3}).affected(), 4u);
  EXPECT_EQ(c->run({"test_delete_none", "DELETE FROM t WHERE i > 100"}).affected(), 0u);
}

TEST(Connection, TakesOtherParameterTypesForOneQuery) {
  const auto c = connect();
  constexpr Query query{"test_add", "SELECT ($1 + 1)::int8"};
  EXPECT_EQ(c->run(query, {int32_t{1}}).integer(0, 0), 2);
  EXPECT_EQ(c->run(query, {int64_t{1} << 40}).integer(0, 0), (int64_t{1} << 40) + 1);
  EXPECT_EQ(c->run(query, {int32_t{5}}).integer(0, 0), 6);
}

TEST(Connection, RefusesOneNameForTwoStatements) {
  const auto c = connect();
  c->run({"test_same_name", "SELECT 1"});
  EXPECT_EQ(code_of([&] { c->run({"test_same_name", "SELECT 2"}); }), ErrorCode::kInternal);
}

TEST(Connection, ConfiguresTheSession) {
  const auto c = connect();
  const Rows rows = c->run({"test_settings", R"sql(
      SELECT current_setting('application_name'), current_setting('statement_timeout'),
             current_setting('transaction_isolation'), current_setting('plan_cache_mode'),
             current_setting('jit'), current_setting('idle_in_transaction_session_timeout'))sql"});
  std::vector<std::string> values;
  for (int column = 0; column < 6; ++column) values.emplace_back(rows.text(0, column));
  EXPECT_THAT(values,
              ElementsAre("tarnd", "1min", "read committed", "force_generic_plan", "off", "30s"));
}

TEST(Connection, LetsTheUrlChangeTheStatementTimeout) {
  const auto c = Connection::open(database_url() + " options='-c statement_timeout=50ms'");
  const DbError error = error_of([&] { c->run({"test_sleep", "SELECT pg_sleep(10)"}); });
  EXPECT_EQ(error.sqlstate(), "57014");
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(c->broken());
  EXPECT_EQ(c->run({"test_jit", "SELECT current_setting('jit')"}).text(0, 0), "off");
}

TEST(Connection, RefusesAnotherIsolationLevel) {
  EXPECT_EQ(code_of([] {
              Connection::open(database_url() +
                               " options='-c default_transaction_isolation=serializable'");
            }),
            ErrorCode::kInternal);
}

TEST(Connection, IsUnavailableWhenNobodyListens) {
  EXPECT_EQ(code_of([] { Connection::open("host=/nonexistent port=1"); }), ErrorCode::kUnavailable);
  EXPECT_EQ(code_of([] { Connection::open("no connection string"); }), ErrorCode::kInvalidArgument);
}

TEST(Connection, MapsSqlstates) {
  struct Case {
    const char* name;
    const char* sql;
    const char* sqlstate;
    ErrorCode code;
  };
  const auto c = connect();
  c->run_script("CREATE TEMP TABLE once (i int PRIMARY KEY); INSERT INTO once VALUES (1)");
  for (const Case& one : {
           Case{"test_map_unique", "INSERT INTO once VALUES (1)", "23505",
                ErrorCode::kAlreadyExists},
           Case{"test_map_syntax", "SELEC", "42601", ErrorCode::kInternal},
           Case{"test_map_division", "SELECT 1 / 0", "22012", ErrorCode::kInternal},
           Case{"test_map_serialization", "DO $$BEGIN RAISE SQLSTATE '40001'; END$$", "40001",
                ErrorCode::kConflict},
           Case{"test_map_deadlock", "DO $$BEGIN RAISE SQLSTATE '40P01'; END$$", "40P01",
                ErrorCode::kConflict},
           Case{"test_map_disk_full", "DO $$BEGIN RAISE SQLSTATE '53100'; END$$", "53100",
                ErrorCode::kUnavailable},
           Case{"test_map_lock", "DO $$BEGIN RAISE SQLSTATE '55P03'; END$$", "55P03",
                ErrorCode::kUnavailable},
           Case{"test_map_own", "DO $$BEGIN RAISE SQLSTATE 'LK001'; END$$", "LK001",
                ErrorCode::kInternal},
       }) {
    const DbError error = error_of([&] { c->run({one.name, one.sql}); });
    EXPECT_EQ(error.sqlstate(), one.sqlstate) << error.what();
    EXPECT_EQ(error.code(), one.code) << one.sqlstate;
    EXPECT_EQ(error.reason() == kDatabaseFull, error.sqlstate() == "53100") << one.sqlstate;
    EXPECT_FALSE(error.in_doubt());
    EXPECT_THAT(error.message(), HasSubstr(one.name));
  }
  EXPECT_FALSE(c->broken());
}

TEST(Connection, KeepsRowValuesOutOfMessages) {
  const auto c = connect();
  c->run_script(
      "CREATE TEMP TABLE secret (s text PRIMARY KEY); INSERT INTO secret VALUES ('xyzzy')");
  const DbError error = error_of([&] {
    c->run({"test_secret", "INSERT INTO secret VALUES ($1)"}, {"xyzzy"});
  });
  EXPECT_EQ(error.message().find("xyzzy"), std::string::npos) << error.message();
}

TEST(Connection, CountsTimePerQuery) {
  connect()->run({"test_metered", "SELECT 1"});
  EXPECT_THAT(metrics::text(), HasSubstr("tarn_sql_seconds_count{query=\"test_metered\"} 1"));
}

TEST(Connection, SurvivesAStatementThatDoesNotParse) {
  const auto c = connect();
  EXPECT_EQ(error_of([&] { c->run({"test_nonsense", "SELEC $1"}, {1}); }).sqlstate(), "42601");
  EXPECT_EQ(c->run({"test_one", "SELECT 1"}).integer(0, 0), 1);
}

constexpr Query kInsertDeferred{"test_insert_deferred", "INSERT INTO uniq VALUES ($1)"};

// The first run of a statement and later ones take different ways to the server.
TEST(Connection, AFailureAtTheEndOfTheTransactionOfAStatementIsFound) {
  const auto c = connect();
  c->run_script("CREATE TEMP TABLE uniq (i int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
  c->run_script("INSERT INTO uniq VALUES (1)");
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(error_of([&] { c->run(kInsertDeferred, {1}); }).code(), ErrorCode::kAlreadyExists);
  }
  EXPECT_EQ(c->run({"test_count_uniq", "SELECT count(*) FROM uniq"}).integer(0, 0), 1);
}

// Transactions.

constexpr Query kCountT{"test_count_t", "SELECT count(*) FROM t"};
constexpr Query kInsertT{"test_insert_t", "INSERT INTO t VALUES (1)"};

class Transactions : public ::testing::Test {
 protected:
  Transactions() { a_->run_script("CREATE TABLE t (i int)"); }
  ~Transactions() override {
    a_->rollback();
    b_->rollback();
    connect()->run_script("DROP TABLE t");
  }
  int64_t seen_by(Connection& c) { return c.run(kCountT).integer(0, 0); }

  const std::unique_ptr<Connection> a_ = connect();
  const std::unique_ptr<Connection> b_ = connect();
};

TEST_F(Transactions, AreSeenAfterCommitOnly) {
  a_->begin();
  a_->run(kInsertT);
  EXPECT_EQ(seen_by(*b_), 0);
  a_->commit();
  EXPECT_EQ(seen_by(*b_), 1);
}

TEST_F(Transactions, AreUndoneByRollback) {
  a_->begin();
  a_->run(kInsertT);
  a_->rollback();
  EXPECT_EQ(seen_by(*a_), 0);
  a_->run(kInsertT);
  EXPECT_EQ(seen_by(*b_), 1) << "after the rollback a statement is its own transaction again";
}

TEST_F(Transactions, WithoutStatementsHaveNoEffect) {
  a_->begin();
  a_->commit();
  a_->begin();
  a_->rollback();
  a_->run(kInsertT);
  EXPECT_EQ(seen_by(*b_), 1);
}

TEST_F(Transactions, MayBeginWithAScript) {
  a_->begin();
  a_->run_script("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)");
  EXPECT_EQ(seen_by(*b_), 0);
  a_->commit();
  EXPECT_EQ(seen_by(*b_), 2);
}

TEST_F(Transactions, CommitAfterAFailedStatementThrows) {
  a_->begin();
  a_->run(kInsertT);
  EXPECT_EQ(error_of([&] { a_->run({"test_fail", "SELECT 1 / 0"}); }).sqlstate(), "22012");
  EXPECT_EQ(error_of([&] { a_->commit(); }).sqlstate(), "25P02");
  a_->rollback();
  EXPECT_EQ(seen_by(*b_), 0);
}

TEST_F(Transactions, ThatBeginWithAFailureAreUndone) {
  a_->begin();
  EXPECT_EQ(error_of([&] { a_->run({"test_fail", "SELECT 1 / 0"}); }).sqlstate(), "22012");
  a_->rollback();
  a_->begin();
  a_->run(kInsertT);
  a_->commit();
  EXPECT_EQ(seen_by(*b_), 1);
}

TEST_F(Transactions, SnapshotsSeeOneStateAndDoNotWrite) {
  a_->begin_snapshot();
  EXPECT_EQ(seen_by(*a_), 0);
  b_->run(kInsertT);
  EXPECT_EQ(seen_by(*a_), 0);
  EXPECT_EQ(error_of([&] { a_->run(kInsertT); }).sqlstate(), "25006");
  a_->rollback();
  EXPECT_EQ(seen_by(*a_), 1);
}

// Lost connections.

TEST_F(Transactions, ALostCommitIsInDoubt) {
  a_->begin();
  a_->run(kInsertT);
  terminate(*a_);
  const DbError error = error_of([&] { a_->commit(); });
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(error.in_doubt());
  EXPECT_TRUE(a_->broken());
}

TEST_F(Transactions, LostStatementInsideATransactionIsNotInDoubt) {
  a_->begin();
  a_->run(kInsertT);
  terminate(*a_);
  const DbError error = error_of([&] { a_->run(kInsertT); });
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(error.in_doubt());
  a_->rollback();  // of a dead connection: nothing
  EXPECT_EQ(seen_by(*b_), 0);
}

TEST_F(Transactions, LostStatementOutsideATransactionIsInDoubt) {
  a_->run(kInsertT);
  terminate(*a_);
  const DbError error = error_of([&] { a_->run(kInsertT); });
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(error.in_doubt());
  const DbError later = error_of([&] { a_->run(kInsertT); });
  EXPECT_EQ(later.code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(later.in_doubt()) << "nothing was sent";
}

TEST(Connection, NoticesDeathWithoutAskingTheServer) {
  const auto c = connect();
  EXPECT_TRUE(c->alive());
  terminate(*c);
  EXPECT_FALSE(c->alive());
  EXPECT_TRUE(c->broken());
}

TEST(Connection, IsReplacedWhenAMigrationChangedAResult) {
  const auto c = connect();
  c->run_script("CREATE TABLE shape (i int); INSERT INTO shape VALUES (1)");
  constexpr Query query{"test_shape", "SELECT * FROM shape"};
  c->run(query);
  connect()->run_script("ALTER TABLE shape ALTER i TYPE text");
  const DbError error = error_of([&] { c->run(query); });
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(error.in_doubt());
  EXPECT_TRUE(c->broken());
  EXPECT_EQ(connect()->run(query).text(0, 0), "1");
}

}  // namespace
}  // namespace tarn::db
