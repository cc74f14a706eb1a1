#include <cstdlib>

#include <gtest/gtest.h>

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

TEST(Timeline, NoSequenceReturnsANumberTwice) {
  const testing::TestDatabase database;
  const auto connection = db::Connection::open(database.url());
  const db::Rows before = connection->run(kSequences);
  connection->run_script("DELETE FROM timelines");
  enter_timeline(*connection);
  const db::Rows after = connection->run(kSequences);
  ASSERT_EQ(after.size(), before.size());
  for (size_t row = 0; row < before.size(); ++row) {
    EXPECT_GE(std::abs(after.integer(row, 1) - before.integer(row, 1)), 10'000)
        << before.text(row, 0);
  }
}

TEST(Timeline, FirstServerOnATimelineSkipsNumbersThatMayBeInUse) {
  const testing::TestDatabase database;
  const auto connection = db::Connection::open(database.url());
  const db::Rows before = connection->run(kNext);
  enter_timeline(*connection);  // known since the schema was made
  const db::Rows same = connection->run(kNext);
  EXPECT_EQ(same.integer(0, 0), before.integer(0, 0) + 1);
  connection->run_script("DELETE FROM timelines");  // as if it were another
  enter_timeline(*connection);
  const db::Rows after = connection->run(kNext);
  for (int column = 0; column < 3; ++column) {
    EXPECT_GT(after.integer(0, column), before.integer(0, column) + 1'000'000'000) << column;
  }
  EXPECT_GT(after.integer(0, 3), before.integer(0, 3) + 10'000);
  enter_timeline(*connection);
  EXPECT_EQ(connection->run(kNext).integer(0, 0), after.integer(0, 0) + 1);
}

}  // namespace
}  // namespace tarn::meta
