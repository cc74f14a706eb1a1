#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/db/pool.h"
#include "core/meta/timeline.h"
#include "tests/support/postgres_test.h"

namespace tarn::meta {
namespace {

constexpr db::Query kNext{"test_next", R"sql(
  SELECT nextval('node_nids'), nextval('writer_ids'), nextval(pg_get_serial_sequence('part_lists', 'part_list_id')),
         nextval(pg_get_serial_sequence('branches', 'branch_id')))sql"};

// Every sequence of the schema, so that a new one cannot be forgotten.
constexpr db::Query kSequences{"test_sequences", R"sql(
  SELECT sequencename, coalesce(last_value, start_value) FROM pg_sequences WHERE schemaname = current_schema()
  ORDER BY sequencename)sql"};

constexpr db::Query kWriteSetting{"test_write",
                                  "INSERT INTO settings (key, value) VALUES ($1, '')"};

class Timeline : public ::testing::Test {
 protected:
  explicit Timeline(bool accepts_loss = false)
      : lineage_({.accepts_loss = accepts_loss, .server = "here"}),
        pool_(database_.url(), {.connections_max = 4, .witness = &lineage_}) {}

  void write(const std::string& name) { pool_.run(kWriteSetting, {name}, db::Pool::Retry::kWrite); }
  void change(const std::string& sql) { db::Connection::open(database_.url())->run_script(sql); }
  /// The error of `lineage` about the database as it is now; "" = nothing is missing.
  std::string look(Lineage& lineage) {
    try {
      lineage.enter(*db::Connection::open(database_.url()));
    } catch (const db::DbError& error) {
      EXPECT_EQ(error.sqlstate(), db::kStateWentBack) << error.message();
      EXPECT_EQ(error.reason(), "database_went_back");
      return error.message();
    }
    return "";
  }
  /// Simulates a restart of the server with the log up to `position`.
  void restart_at(const std::string& position) {
    change(
        str_cat("UPDATE database_starts SET start = number::text; INSERT INTO database_starts "
                "(number, token, start, inherited) SELECT max(number) + 1, gen_random_uuid(), "
                "current_start(), ",
                position, " FROM database_starts"));
  }
  std::string reports() {
    const auto rows = db::Connection::open(database_.url())
                          ->run({"test_reports", "SELECT server, missing FROM lost_writes"});
    return rows.empty() ? "" : str_cat(rows.text(0, 0), ": ", rows.text(0, 1));
  }

  const testing::TestDatabase database_;
  Lineage lineage_;
  db::Pool pool_;
};

TEST_F(Timeline, NoSequenceReturnsANumberTwice) {
  const auto connection = db::Connection::open(database_.url());
  const db::Rows before = connection->run(kSequences);
  change("DELETE FROM timelines");
  EXPECT_EQ(look(lineage_), "");
  const db::Rows after = connection->run(kSequences);
  ASSERT_EQ(after.size(), before.size());
  for (size_t row = 0; row < before.size(); ++row) {
    EXPECT_GE(std::abs(after.integer(row, 1) - before.integer(row, 1)), 10'000)
        << before.text(row, 0);
  }
}

TEST_F(Timeline, FirstServerOnATimelineSkipsNumbersThatMayBeInUse) {
  const auto connection = db::Connection::open(database_.url());
  const db::Rows before = connection->run(kNext);
  EXPECT_EQ(look(lineage_), "");  // known since the schema was made
  const db::Rows same = connection->run(kNext);
  EXPECT_EQ(same.integer(0, 0), before.integer(0, 0) + 1);
  change("DELETE FROM timelines");  // as if it were another
  EXPECT_EQ(look(lineage_), "");
  const db::Rows after = connection->run(kNext);
  for (int column = 0; column < 3; ++column) {
    EXPECT_GT(after.integer(0, column), before.integer(0, column) + 1'000'000'000) << column;
  }
  EXPECT_GT(after.integer(0, 3), before.integer(0, 3) + 10'000);
  EXPECT_EQ(look(lineage_), "");
  EXPECT_EQ(connection->run(kNext).integer(0, 0), after.integer(0, 0) + 1);
}

TEST_F(Timeline, ADatabaseThatKeptEverythingIsUsed) {
  write("a");
  EXPECT_EQ(look(lineage_), "");
  restart_at("pg_current_wal_insert_lsn()");
  EXPECT_EQ(look(lineage_), "");
  write("b");
  pool_.transaction([](db::Connection& connection) { connection.run(kWriteSetting, {"c"}); });
  restart_at("pg_current_wal_insert_lsn()");
  EXPECT_EQ(look(lineage_), "");
  EXPECT_EQ(reports(), "");
}

TEST_F(Timeline, OneServerEntersAStartAndAllHaveItsToken) {
  write("a");
  const auto connection = db::Connection::open(database_.url());
  const auto token = [&] {
    return std::string(connection->run({"test_enter", "SELECT enter_start()"}).text(0, 0));
  };
  EXPECT_EQ(token(), token());
  EXPECT_EQ(connection->run({"test_starts", "SELECT count(*) FROM database_starts"}).integer(0, 0),
            1);
}

/// The log position of a write, before its commit.
constexpr db::Query kPosition{"test_position", "SELECT pg_current_wal_insert_lsn()::text"};

TEST_F(Timeline, OneCommitThatIsMissingIsNoticed) {
  write("a");
  lineage_.mark(pool_);
  const std::string position(pool_.run(kPosition, {}, db::Pool::Retry::kRead).text(0, 0));
  write("b");
  restart_at(str_cat('\'', position, "'::pg_lsn"));
  EXPECT_NE(look(lineage_), "");
  EXPECT_EQ(reports().substr(0, 25), "here: up to 2 commits sin");  // the mark itself and b
  EXPECT_NE(look(lineage_), "") << "the second time";
}

TEST_F(Timeline, ACommitWhoseRowsArrivedWithoutItsEndIsNoticed) {
  write("a");
  const auto connection = db::Connection::open(database_.url());
  // The same number is that of a transaction that was under way when the log ended.
  connection->begin();
  const db::Rows rows =
      connection->run({"test_aborted", "SELECT pg_current_xact_id()::text::bigint"});
  const int64_t transaction = rows.integer(0, 0);
  connection->rollback();
  const auto lease = pool_.lease();
  EXPECT_TRUE(lineage_.acknowledge(*lease, {transaction, 1}));
  restart_at("pg_current_wal_insert_lsn()");
  EXPECT_NE(look(lineage_), "");
}

TEST_F(Timeline, ADatabaseWithoutTheStartIsRefusedWhateverItsTimelineAndPosition) {
  write("a");
  change("DELETE FROM database_starts");
  change(
      "INSERT INTO database_starts (number, token, start, inherited) SELECT 1, 'other', "
      "current_start(), pg_current_wal_insert_lsn() ON CONFLICT DO NOTHING");
  EXPECT_NE(look(lineage_), "");
}

TEST_F(Timeline, ADatabaseFromBeforeTheUpgradeIsRefused) {
  write("a");
  change("ALTER TABLE database_starts RENAME TO elsewhere");
  EXPECT_THROW(lineage_.enter(*db::Connection::open(database_.url())), db::DbError);
}

TEST_F(Timeline, WhatOneServerMissesAllRefuse) {
  write("a");
  restart_at("'0/1'::pg_lsn");
  Lineage other({.server = "there"});
  EXPECT_EQ(look(other), "");
  EXPECT_NE(look(lineage_), "");
  EXPECT_NE(look(other), "");
  const auto connection = db::Connection::open(database_.url());
  EXPECT_FALSE(other.permits(*connection));
  EXPECT_EQ(accept_lost_writes(*connection).size(), 1u);
  EXPECT_TRUE(other.permits(*connection));
  EXPECT_EQ(look(other), "");
  EXPECT_EQ(look(lineage_), "");
  EXPECT_EQ(accept_lost_writes(*connection).size(), 0u);
}

TEST_F(Timeline, AnAcceptedLossPermitsNoSecondOne) {
  write("a");
  restart_at("'0/1'::pg_lsn");
  EXPECT_NE(look(lineage_), "");
  accept_lost_writes(*db::Connection::open(database_.url()));
  EXPECT_EQ(look(lineage_), "");
  write("b");
  restart_at("'0/1'::pg_lsn");
  EXPECT_NE(look(lineage_), "");
}

TEST_F(Timeline, AMarkCoversWhatClosedConnectionsWrote) {
  {
    db::Pool closed(database_.url(), {.witness = &lineage_});
    closed.run(kWriteSetting, {"a"}, db::Pool::Retry::kWrite);
  }
  restart_at("'0/1'::pg_lsn");
  EXPECT_NE(look(lineage_), "");
  accept_lost_writes(*db::Connection::open(database_.url()));
  EXPECT_EQ(look(lineage_), "");
  lineage_.mark(pool_);
  restart_at("pg_current_wal_insert_lsn()");
  EXPECT_EQ(look(lineage_), "");
}

TEST_F(Timeline, AStartThatWasSeenAtTheBeginningIsRequired) {
  write("a");
  const auto connection = db::Connection::open(database_.url());
  const db::Rows rows = connection->run({"test_token", "SELECT token FROM database_starts"});
  Lineage begun({.server = "there", .newest_start = std::string(rows.text(0, 0))});
  EXPECT_EQ(look(begun), "");
  Lineage elsewhere({.server = "there", .newest_start = "of the other host"});
  EXPECT_NE(look(elsewhere), "");
}

class AcceptingTimeline : public Timeline {
 protected:
  AcceptingTimeline() : Timeline(true) {}
};

TEST_F(AcceptingTimeline, GoesOnAndSkipsNumbersThatAreCached) {
  write("a");
  restart_at("'0/1'::pg_lsn");
  const auto connection = db::Connection::open(database_.url());
  const int64_t before = connection->run(kNext).integer(0, 0);
  EXPECT_EQ(look(lineage_), "");
  EXPECT_GT(connection->run(kNext).integer(0, 0), before + 1'000'000'000'000);
  EXPECT_EQ(reports(), "");
  write("b");
}

TEST_F(AcceptingTimeline, IgnoresTheReportsOfOthers) {
  change("INSERT INTO lost_writes (report, server, missing) VALUES ('r', 'there', 'all')");
  EXPECT_EQ(look(lineage_), "");
  EXPECT_TRUE(lineage_.permits(*db::Connection::open(database_.url())));
}

}  // namespace
}  // namespace tarn::meta
