#include <gtest/gtest.h>

#include "core/db/database_clock.h"
#include "tests/support/postgres_test.h"

namespace tarn::db {
namespace {

using std::chrono::milliseconds;

class WrongClock final : public Clock {
 public:
  Instant now() const override { return SystemClock().now() + ahead; }
  milliseconds ahead{0};
};

class DatabaseClockTest : public ::testing::Test {
 protected:
  static const std::string& url() {
    static const testing::TestDatabase database(testing::TestDatabase::Schema::kEmpty);
    return database.url();
  }
  /// The database runs on this machine: its clock is the system's.
  static milliseconds error_of(const Clock& clock) {
    return std::chrono::abs(clock.now() - SystemClock().now());
  }
  Pool pool{url(), {}};
  WrongClock wall;
};

/// A database whose clock is set.
class SetClockTest : public ::testing::Test {
 protected:
  SetClockTest() {
    Pool at_setup(database.url(), {});
    at_setup.lease()->run_script(R"sql(
      CREATE SCHEMA set_clock;
      CREATE TABLE set_clock.ahead AS SELECT interval '0' AS by;
      CREATE FUNCTION set_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
        'SELECT pg_catalog.clock_timestamp() + by FROM set_clock.ahead';
      DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET search_path = set_clock, pg_catalog, public',
                       current_database());
      END $$;)sql");
    pool.emplace(database.url(), PoolOptions{});
  }
  void set_ahead(const std::string& by) {
    pool->lease()->run_script("UPDATE set_clock.ahead SET by = interval '" + by + "'");
  }
  Instant real() const { return SystemClock().now(); }

  const testing::TestDatabase database{testing::TestDatabase::Schema::kEmpty};
  std::optional<Pool> pool;
  const SystemClock wall;
};

TEST_F(SetClockTest, StoredMomentsNeverGoBackAndOthersFollowTheDatabase) {
  constexpr std::chrono::hours kDay{24};
  constexpr std::chrono::seconds kError{5};
  DatabaseClock clock(*pool, wall);
  Instant last = clock.now();
  const auto later = [&] {
    const Instant now = clock.now();
    EXPECT_GE(now, last);
    return last = now;
  };
  set_ahead("1 day");
  clock.measure();
  EXPECT_LT(std::chrono::abs(later() - real() - kDay), kError);
  EXPECT_LT(std::chrono::abs(clock.measured().now() - real() - kDay), kError);
  for (const char* back : {"0", "-1 day"}) {
    set_ahead(back);
    clock.measure();
    EXPECT_LT(std::chrono::abs(later() - real() - kDay), kError) << "it stands still";
    const auto wanted = back[0] == '0' ? std::chrono::hours{0} : -kDay;
    EXPECT_LT(std::chrono::abs(clock.measured().now() - real() - wanted), kError);
  }
  const DatabaseClock after_a_restart(*pool, wall);
  EXPECT_LT(std::chrono::abs(after_a_restart.now() - real() + kDay), kError);
  set_ahead("2 days");
  clock.measure();
  EXPECT_LT(std::chrono::abs(later() - real() - 2 * kDay), kError) << "it goes on";
}

TEST_F(DatabaseClockTest, ShowsTheDatabasesTimeOnAServerWhoseClockIsWrong) {
  wall.ahead = std::chrono::hours{1};
  const DatabaseClock clock(pool, wall);
  EXPECT_LT(error_of(clock), milliseconds(500));
  EXPECT_LT(std::chrono::abs(clock.offset() - wall.ahead), milliseconds(500));
}

TEST_F(DatabaseClockTest, DoesNotFollowAStepOfTheServersClock) {
  DatabaseClock clock(pool, wall);
  EXPECT_LT(std::chrono::abs(clock.offset()), milliseconds(500));
  wall.ahead = -std::chrono::hours{1};
  EXPECT_LT(error_of(clock), milliseconds(500));
  clock.measure();
  EXPECT_LT(error_of(clock), milliseconds(500));
  EXPECT_LT(std::chrono::abs(clock.offset() - wall.ahead), milliseconds(500));
}

}  // namespace
}  // namespace tarn::db
