#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/db/connection.h"
#include "tests/support/postgres_test.h"

namespace tarn::db {
namespace {

using ::testing::ElementsAre;

using Fields = std::vector<std::optional<std::string>>;

constexpr const char* kCopyIn = "COPY t (k, n, v) FROM STDIN BINARY";
constexpr const char* kCopyOut = "COPY (SELECT k, n, v FROM t ORDER BY k) TO STDOUT BINARY";
constexpr Query kCount{"test_count_copied", "SELECT count(*) FROM t"};

class Copy : public ::testing::Test {
 protected:
  Copy() { c_->run_script("CREATE TEMP TABLE t (k int4 PRIMARY KEY, n int8, v bytea)"); }

  int64_t count() { return c_->run(kCount).integer(0, 0); }
  std::vector<Fields> all() {
    std::vector<Fields> out;
    c_->copy_out(kCopyOut, [&out](std::span<const std::optional<std::string_view>> row) {
      Fields& fields = out.emplace_back();
      for (const auto& field : row) {
        fields.push_back(field ? std::optional<std::string>(*field) : std::nullopt);
      }
    });
    return out;
  }

  static const std::string& url() {
    static const testing::TestDatabase database(testing::TestDatabase::Schema::kEmpty);
    return database.url();
  }
  const std::unique_ptr<Connection> c_ = Connection::open(url());
};

TEST_F(Copy, CopiesRowsInAndOut) {
  const std::string binary("a\0\n\\\xff", 5);
  Connection::CopyIn in(*c_, kCopyIn);
  in.row({int32_t{1}, int64_t{-2}, Bytes{binary}});
  in.row({int32_t{2}, std::nullopt, Bytes{""}});
  in.finish();
  EXPECT_THAT(all(), ElementsAre(Fields{std::string("\0\0\0\1", 4),
                                        "\xff\xff\xff\xff\xff\xff\xff\xfe", binary},
                                 Fields{std::string("\0\0\0\2", 4), std::nullopt, ""}));
}

TEST_F(Copy, MayBeEmpty) {
  Connection::CopyIn(*c_, kCopyIn).finish();
  EXPECT_THAT(all(), ElementsAre());
}

TEST_F(Copy, SupportsSeveralPieces) {
  const std::string body(3000, 'x');
  Connection::CopyIn in(*c_, kCopyIn);
  for (int32_t i = 0; i < 1000; ++i) in.row({i, int64_t{i}, Bytes{body}});
  in.finish();
  EXPECT_EQ(count(), 1000);
  size_t bytes = 0;
  c_->copy_out(kCopyOut, [&](std::span<const std::optional<std::string_view>> row) {
    bytes += row[2]->size();
  });
  EXPECT_EQ(bytes, 3'000'000u);
}

TEST_F(Copy, AbandonedLeavesNothingAndTheConnectionUsable) {
  {
    Connection::CopyIn in(*c_, kCopyIn);
    const std::string body(500'000, 'x');  // more than a piece: the server has whole rows already
    in.row({int32_t{1}, int64_t{1}, Bytes{body}});
  }
  EXPECT_EQ(count(), 0);
  EXPECT_FALSE(c_->broken());
}

TEST_F(Copy, RefusedByTheServerThrowsAtTheEnd) {
  Connection::CopyIn in(*c_, kCopyIn);
  in.row({int32_t{1}, int64_t{1}, Bytes{"x"}});
  in.row({int32_t{1}, int64_t{1}, Bytes{"twice"}});
  try {
    in.finish();
    FAIL() << "took a duplicate";
  } catch (const DbError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kAlreadyExists);
    EXPECT_FALSE(error.in_doubt());
  }
  EXPECT_EQ(count(), 0);
}

TEST_F(Copy, IsPartOfATransaction) {
  c_->begin();
  Connection::CopyIn in(*c_, kCopyIn);
  in.row({int32_t{1}, int64_t{1}, Bytes{"x"}});
  in.finish();
  EXPECT_EQ(count(), 1);
  c_->rollback();
  EXPECT_EQ(count(), 0);
}

TEST_F(Copy, RefusesAnotherStatement) {
  EXPECT_THROW(Connection::CopyIn(*c_, "SELECT 1"), Error);
  EXPECT_THROW(c_->copy_out("SELECT 1", [](auto) {}), Error);
  EXPECT_EQ(count(), 0);
}

TEST_F(Copy, OutStopsWithItsReader) {
  c_->run_script("INSERT INTO t SELECT i, i, 'x' FROM generate_series(1, 10) i");
  int seen = 0;
  EXPECT_THROW(c_->copy_out(kCopyOut,
                            [&seen](auto) {
                              if (++seen == 3) throw std::runtime_error("enough");
                            }),
               std::runtime_error);
  EXPECT_EQ(seen, 3);
  EXPECT_TRUE(c_->broken());
}

TEST_F(Copy, OutThrowsErrorsThatOccurMidway) {
  c_->run_script("INSERT INTO t SELECT i, i - 5, 'x' FROM generate_series(1, 10) i");
  int seen = 0;
  try {
    c_->copy_out("COPY (SELECT 1 / n FROM t ORDER BY k) TO STDOUT BINARY",
                 [&seen](auto) { ++seen; });
    FAIL() << "divided by zero";
  } catch (const DbError& error) {
    EXPECT_EQ(error.sqlstate(), "22012");
  }
  EXPECT_EQ(seen, 4);
  EXPECT_EQ(count(), 10);
}

}  // namespace
}  // namespace tarn::db
