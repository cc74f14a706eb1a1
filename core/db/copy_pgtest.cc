#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/db/connection.h"
#include "tests/support/postgres_test.h"

namespace tarn::db {
namespace {

using ::testing::ElementsAre;

using Row = std::tuple<int64_t, std::optional<int64_t>, std::string>;

constexpr const char* kCopyIn = "COPY t (k, n, v) FROM STDIN BINARY";
constexpr Query kCount{"test_count_copied", "SELECT count(*) FROM t"};
constexpr Query kBytes{"test_bytes_copied", "SELECT sum(length(v)) FROM t"};
constexpr Query kAll{"test_all_copied", "SELECT k, n, v FROM t ORDER BY k"};

class Copy : public ::testing::Test {
 protected:
  Copy() { c_->run_script("CREATE TEMP TABLE t (k int4 PRIMARY KEY, n int8, v bytea)"); }

  int64_t count() { return c_->run(kCount).integer(0, 0); }
  std::vector<Row> all() {
    const Rows rows = c_->run(kAll);
    std::vector<Row> out;
    for (size_t i = 0; i < rows.size(); ++i) {
      out.emplace_back(rows.integer(i, 0),
                       rows.null(i, 1) ? std::nullopt : std::optional(rows.integer(i, 1)),
                       std::string(rows.bytes(i, 2)));
    }
    return out;
  }

  static const std::string& url() {
    static const testing::TestDatabase database(testing::TestDatabase::Schema::kEmpty);
    return database.url();
  }
  const std::unique_ptr<Connection> c_ = Connection::open(url());
};

TEST_F(Copy, CopiesRows) {
  const std::string binary("a\0\n\\\xff", 5);
  Connection::CopyIn in(*c_, kCopyIn);
  in.row({int32_t{1}, int64_t{-2}, Bytes{binary}});
  in.row({int32_t{2}, std::nullopt, Bytes{""}});
  in.finish();
  EXPECT_THAT(all(), ElementsAre(Row{1, -2, binary}, Row{2, std::nullopt, ""}));
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
  EXPECT_EQ(c_->run(kBytes).integer(0, 0), 3'000'000);
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
  EXPECT_EQ(count(), 0);
}

}  // namespace
}  // namespace tarn::db
