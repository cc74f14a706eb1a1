// Tests that the database is idle while object bytes move.
#include <gtest/gtest.h>

#include "core/base/metrics.h"
#include "core/base/str_cat.h"
#include "core/db/connection.h"
#include "core/objects/multipart.h"
#include "tests/support/blob_objects.h"
#include "tests/support/engine_fixture.h"

namespace tarn::objects {
namespace {

using testing::TestDatabase;
using testing::TestEngine;

/// Transactions open and advisory locks held in this database by anybody else.
constexpr db::Query kOpen{"test_open_transactions", R"sql(
  SELECT (SELECT count(*) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
            AND xact_start IS NOT NULL)
       + (SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
          WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.pid <> pg_backend_pid()))sql"};

/// Checks the database with every piece that is read.
class WatchingBody final : public UploadBody {
 public:
  explicit WatchingBody(db::Connection& watcher) : watcher_(watcher) {}
  size_t read(std::span<char> out) override {
    open_ += watcher_.run(kOpen).integer(0, 0);
    if (++reads_ > kPieces) return 0;
    const size_t size = std::min(out.size(), kPieceBytes);
    std::fill_n(out.begin(), size, 'x');
    return size;
  }
  UploadDigests digests() override { return {std::string(32, '0'), {}}; }

  int64_t open() const { return open_; }
  int reads() const { return reads_; }

 private:
  static constexpr int kPieces = 5;
  static constexpr size_t kPieceBytes = 1000;
  db::Connection& watcher_;
  int64_t open_ = 0;
  int reads_ = 0;
};

class MovingBytes : public ::testing::Test {
 protected:
  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
  std::unique_ptr<db::Connection> watcher = db::Connection::open(database.url());

  UploadTarget target(const branch::Condition& condition = {}) {
    return check_upload(*engine, repo, BranchName("main"), Key("a"), false, condition);
  }
};

TEST_F(MovingBytes, LostBytesOfServersAreDamageAndThoseOfASourceAreGone) {
  const auto key_of = [&](const std::string& path) {
    const FoundObject found = get_object(*engine, repo, "main", Key(path));
    return physical_address(*engine, found.repository, found.entry)
        .substr(std::string_view("local://").size());
  };
  const auto outcome = [&](const std::string& path, blob::ByteRange range) {
    const FoundObject found = get_object(*engine, repo, "main", Key(path));
    try {
      open_object(*engine, found.repository, found.entry, range);
    } catch (const Error& error) {
      return str_cat(name_of(error.code()), "/", error.reason());
    }
    return std::string("read");
  };
  const auto counted = [] {
    const std::string text = metrics::text();
    constexpr std::string_view kName = "\ntarn_object_corruption_total ";
    const size_t at = text.find(kName);
    return at == std::string::npos ? 0.0 : std::stod(text.substr(at + kName.size()));
  };
  const double before = counted();
  engine.put(repo, "main", "own", "bytes");
  const testing::TestRepository other = engine.make_repository("pond");
  engine.put(other, "main", "theirs", "bytes");
  copy_object(*engine, {other, "main", Key("theirs")}, repo, BranchName("main"), Key("foreign"), {},
              false);
  const MultipartUpload upload = create_multipart(*engine, target(), {"tester", {}, "", ""});
  testing::TextBody part("bytes");
  const std::string etag = put_part(*engine, upload, 1, part, 5).etag;
  Completion completion;
  completion.parts = {{1, etag, {}}};
  complete_multipart(*engine, upload, completion);
  const std::vector<std::string> ours = {"own", "foreign", "a"};
  for (const std::string& path : ours) {
    const std::string key = key_of(path);
    engine.store->remove(key);
    EXPECT_EQ(outcome(path, {1, 2}), "data_loss/bytes_missing") << path;
    ASSERT_TRUE(testing::put(*engine.store, key, "byt"));
    EXPECT_EQ(outcome(path, {0, 5}), "data_loss/object_corrupt") << path;
    EXPECT_EQ(outcome(path, {4, 1}), "data_loss/object_corrupt") << path;
    EXPECT_EQ(outcome(path, {0, 3}), "read") << path;
  }
  EXPECT_EQ(counted() - before, 3.0 * static_cast<double>(ours.size()));
}

TEST_F(MovingBytes, WatcherDetectsATransactionAndALock) {
  EXPECT_EQ(watcher->run(kOpen).integer(0, 0), 0);
  db::Pool::Lease lease = engine.pool.lease();
  lease->begin();
  lease->run({"test_lock", "SELECT pg_advisory_xact_lock_shared(1, 1)"});
  EXPECT_EQ(watcher->run(kOpen).integer(0, 0), 2);
  lease->rollback();
}

// Verified by mutation: leasing a connection and running a statement in a transaction at the top of
// put_object and of put_part: every read saw it.
TEST_F(MovingBytes, AnUploadHoldsNoTransactionAndNoLock) {
  for (const bool conditional : {false, true}) {
    branch::Condition condition;
    condition.if_absent = conditional;
    WatchingBody body(*watcher);
    if (conditional) engine.remove(repo, "main", "a");
    put_object(*engine, target(condition), body, std::nullopt, {}, condition);
    EXPECT_GT(body.reads(), 1);
    EXPECT_EQ(body.open(), 0);
  }
}

TEST_F(MovingBytes, APartHoldsNoTransactionAndNoLock) {
  const MultipartUpload upload = create_multipart(*engine, target(), {"tester", {}, "", ""});
  WatchingBody body(*watcher);
  put_part(*engine, upload, 1, body, std::nullopt);
  EXPECT_GT(body.reads(), 1);
  EXPECT_EQ(body.open(), 0);
}

}  // namespace
}  // namespace tarn::objects
