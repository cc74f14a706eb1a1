#include <gtest/gtest.h>

#include "core/meta/database_clock.h"
#include "tests/support/postgres_test.h"

namespace tarn::meta {
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
  db::Pool pool{url(), {}};
  WrongClock wall;
};

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
}  // namespace tarn::meta
