#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/db/migrations.h"
#include "tests/support/postgres_test.h"

namespace tarn::db {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Migration kFirst{1, "numbers",
                           "CREATE TABLE numbers (n int); INSERT INTO numbers VALUES (1)"};
constexpr Migration kSecond{2, "more",
                            "-- a comment alone is fine too\nINSERT INTO numbers VALUES (2);"};
constexpr Migration kBroken{2, "broken", "INSERT INTO numbers VALUES (3); SELECT 1 / 0"};

class Migrations : public ::testing::Test {
 protected:
  std::vector<int64_t> numbers() {
    return c_->run({"test_numbers", "SELECT coalesce(array_agg(n ORDER BY n), '{}') FROM numbers"})
        .integers(0, 0);
  }
  std::vector<std::string> applied() {
    return c_
        ->run({"test_applied", R"sql(
            SELECT coalesce(array_agg(version || ' ' || name ORDER BY version), '{}')
            FROM schema_migrations
            WHERE length(checksum) = 64 AND applied_at <= now())sql"})
        .strings(0, 0);
  }
  std::string refusal(std::span<const Migration> migrations) {
    try {
      migrate(*c_, migrations);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPreconditionFailed);
      return error.message();
    }
    return "accepted";
  }

  const testing::TestDatabase database_{testing::TestDatabase::Schema::kEmpty};
  const std::unique_ptr<Connection> c_ = Connection::open(database_.url());
};

TEST_F(Migrations, AreAppliedOnceInOrder) {
  const Migration both[] = {kFirst, kSecond};
  migrate(*c_, {both, 1});
  EXPECT_THAT(applied(), ElementsAre("1 numbers"));
  migrate(*c_, both);
  migrate(*c_, both);
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
  EXPECT_THAT(applied(), ElementsAre("1 numbers", "2 more"));
}

TEST_F(Migrations, LogOneLineForAnEmptyDatabaseAndOneForEachUpgrade) {
  const Migration all[] = {kFirst, kSecond, {3, "last", "SELECT 1"}};
  const auto logged = [&](std::span<const Migration> migrations) {
    ::testing::internal::CaptureStderr();
    migrate(*c_, migrations);
    return ::testing::internal::GetCapturedStderr();
  };
  const std::string created = logged({all, 2});
  EXPECT_THAT(created, HasSubstr(" info database_schema_created version=2\n"));
  EXPECT_EQ(std::count(created.begin(), created.end(), '\n'), 1) << created;
  const std::string upgraded = logged(all);
  EXPECT_THAT(upgraded, HasSubstr(" info migration_applied version=3 name=last\n"));
  EXPECT_EQ(std::count(upgraded.begin(), upgraded.end(), '\n'), 1) << upgraded;
  EXPECT_EQ(logged(all), "");
}

TEST_F(Migrations, AreAppliedOnceByManyServersAtOnce) {
  const Migration both[] = {kFirst, kSecond};
  {
    std::vector<std::jthread> servers;
    for (int i = 0; i < 8; ++i) {
      servers.emplace_back([&] { migrate(*Connection::open(database_.url()), both); });
    }
  }
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
  EXPECT_THAT(applied(), ElementsAre("1 numbers", "2 more"));
}

TEST_F(Migrations, FailedOneKeepsTheEarlierOnes) {
  const Migration both[] = {kFirst, kBroken};
  EXPECT_THROW(migrate(*c_, both), DbError);
  EXPECT_THAT(applied(), ElementsAre("1 numbers"));
  EXPECT_THAT(numbers(), ElementsAre(1));
  const Migration mended[] = {kFirst, kSecond};
  migrate(*c_, mended);
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(Migrations, RefuseAChangedText) {
  const Migration both[] = {kFirst, kSecond};
  migrate(*c_, both);
  const Migration changed[] = {kFirst, {2, "more", "INSERT INTO numbers VALUES (3)"}};
  EXPECT_THAT(refusal(changed), HasSubstr("migration 2 (more) was applied with another text"));
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(Migrations, RefuseASchemaFromBeforeTheFirstRelease) {
  const Migration unreleased[] = {kFirst, kSecond, {3, "last", "SELECT 1"}};
  migrate(*c_, unreleased);
  const std::vector<std::string> before = applied();
  for (const char* name : {"schema", "numbers"}) {
    const Migration ours[] = {{1, name, "CREATE TABLE numbers (n int)"},
                              {2, "added", "INSERT INTO numbers VALUES (4)"}};
    const std::string why = refusal(ours);
    EXPECT_THAT(why, HasSubstr("its schema was made before the first release of Tarn"));
    EXPECT_THAT(why, HasSubstr("start this one with an empty database"));
  }
  EXPECT_EQ(applied(), before);
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(Migrations, RefuseANewerDatabase) {
  const Migration both[] = {kFirst, kSecond};
  migrate(*c_, both);
  EXPECT_THAT(refusal({both, 1}),
              HasSubstr("it has migration 2 (more) and is newer than this program"));
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(Migrations, RefuseAnotherHistory) {
  const Migration gap[] = {{2, "later", "SELECT 1"}};
  migrate(*c_, gap);
  const Migration ours[] = {kFirst, {2, "later", "SELECT 1"}};
  EXPECT_THAT(refusal(ours),
              HasSubstr("it has migration 2 (later) where this program has 1 (numbers)"));
}

TEST_F(Migrations, MayExceedTheStatementTimeout) {
  const auto hurried = Connection::open(database_.url() + " options='-c statement_timeout=20ms'");
  const Migration slow{1, "slow", "SELECT pg_sleep(0.1)"};
  migrate(*hurried, {&slow, 1});
  EXPECT_EQ(
      hurried->run({"test_timeout", "SELECT current_setting('statement_timeout')"}).text(0, 0),
      "20ms");
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory() || entry.path().extension() == ".sql") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(EmbeddedMigrations, AreTheFilesOfTheFolder) {
  const std::vector<std::filesystem::path> found = sorted_entries(TARN_MIGRATIONS_DIRECTORY);
  const std::span<const Migration> embedded = embedded_migrations();
  ASSERT_EQ(embedded.size(), found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    std::string number = std::to_string(embedded[i].version);
    number.insert(0, 4 - number.size(), '0');
    if (!std::filesystem::is_directory(found[i])) {
      EXPECT_EQ(embedded[i].sql, contents(found[i])) << found[i];
      EXPECT_EQ(found[i].filename(), str_cat("V", number, "__", embedded[i].name, ".sql"));
      continue;
    }
    std::string parts;
    for (const std::filesystem::path& part : sorted_entries(found[i])) parts += contents(part);
    EXPECT_EQ(embedded[i].sql, parts) << found[i];
    EXPECT_EQ(found[i].filename(), str_cat("V", number));
    EXPECT_EQ(embedded[i].name, "schema");
  }
}

TEST(EmbeddedMigrations, AreAppliedInATestDatabase) {
  const testing::TestDatabase database;
  const auto c = Connection::open(database.url());
  const Rows rows = c->run({"test_count_migrations", "SELECT count(*) FROM schema_migrations"});
  EXPECT_EQ(rows.integer(0, 0), static_cast<int64_t>(embedded_migrations().size()));
  migrate(*c, embedded_migrations());
}

}  // namespace
}  // namespace tarn::db
