#include <atomic>
#include <cstdio>
#include <future>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/meta/node_writer.h"
#include "core/tree/cursor.h"
#include "core/tree/edit.h"
#include "tests/support/engine_fixture.h"

namespace tarn::meta {
namespace {

constexpr tree::TreeFormat kFormat{7};
constexpr size_t kCacheBytes = 1 << 20;
/// Some 250 nodes of less than a megabyte, and more than are kept in memory.
constexpr int kMany = 40'000;
constexpr int kTooMany = 150'000;
/// Of each entry of the latter, which take as many bytes as ten times as many short ones.
constexpr size_t kLongEtag = 240;

std::string key_of(int number) {
  char out[16];
  std::snprintf(out, sizeof out, "k%07d", number);
  return out;
}

class NewEntries final : public tree::ChangeSource {
 public:
  NewEntries(int count, size_t etag) : count_(count), etag_(etag) {}

  std::optional<tree::Change> next() override {
    if (at_ == count_) return std::nullopt;
    Entry entry;
    entry.size_bytes = 1;
    for (size_t i = 0; i < etag_; ++i)
      entry.etag.push_back(static_cast<char>('0' + random_() % 64));
    entry.address = new_own_address(from_millis(1'700'000'000'000 + at_));
    return tree::Change{key_of(at_++), std::move(entry)};
  }

 private:
  const int count_;
  const size_t etag_;
  std::minstd_rand random_;  // so that they do not compress
  int at_ = 0;
};

/// Counts what a writer takes.
class CountedSink final : public tree::NodeSink {
 public:
  explicit CountedSink(NodeWriter& writer) : writer_(writer) {}
  Nid put(uint8_t level, const Hash128& hash, std::string encoding) override {
    const Nid nid = writer_.put(level, hash, std::move(encoding));
    ++taken_;
    return nid;
  }
  int taken() const { return taken_; }

 private:
  NodeWriter& writer_;
  std::atomic<int> taken_ = 0;
};

class NodeWriterTest : public ::testing::Test {
 protected:
  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  NodeStore store{engine.pool, kCacheBytes};
  NodeWriter writer{engine.pool, store, RepositoryId{1}};

  tree::EditResult build(tree::NodeSink& sink, int entries) {
    NewEntries edits(entries, entries == kTooMany ? kLongEtag : 0);
    return tree::edit_tree(store, sink, kFormat, {}, {}, edits);
  }
  int64_t rows() {
    return engine.pool.lease()
        ->run({"test_count_nodes", "SELECT count(*) FROM nodes WHERE repo_id = 1"})
        .integer(0, 0);
  }
  /// Entries of the tree as the database has it.
  int entries_of(const TreeRoot& root) {
    NodeStore fresh(engine.pool, kCacheBytes);
    int count = 0;
    tree::Cursor cursor(fresh, root);
    for (cursor.seek(""); cursor.valid(); cursor.next()) {
      EXPECT_EQ(cursor.key(), key_of(count++));
    }
    return count;
  }
};

TEST_F(NodeWriterTest, LeavesAFewNodesToThePublication) {
  build(writer, 10);
  const NodeWriter::Pending pending = writer.finish();
  EXPECT_EQ(pending.nids.size(), 1u);
  EXPECT_EQ(pending.bodies.size(), 1u);
  EXPECT_EQ(rows(), 0);
}

TEST_F(NodeWriterTest, StoresManyNodesBeforeItFinishes) {
  const tree::EditResult built = build(writer, kMany);
  EXPECT_TRUE(writer.finish().nids.empty());
  EXPECT_GT(built.nodes_written, 100u);
  EXPECT_EQ(static_cast<uint64_t>(rows()), built.nodes_written);
  EXPECT_EQ(entries_of(built.root), kMany);
}

TEST_F(NodeWriterTest, TakesFurtherNodesAfterAFlush) {
  const tree::EditResult first = build(writer, kMany);
  writer.flush();
  const tree::EditResult few = build(writer, 20);
  EXPECT_EQ(writer.finish().nids.size(), few.nodes_written);
  const tree::EditResult again = build(writer, kMany);
  writer.flush();
  EXPECT_EQ(static_cast<uint64_t>(rows()), first.nodes_written + again.nodes_written);
  EXPECT_EQ(entries_of(again.root), kMany);
}

TEST_F(NodeWriterTest, DropsWhatIsNotFinished) {
  {
    NodeWriter dropped(engine.pool, store, RepositoryId{1});
    build(dropped, kMany);
  }
  EXPECT_EQ(rows(), 0);
}

TEST_F(NodeWriterTest, ThrowsTheErrorOfACopyWhileTheTreeIsBuilt) {
  engine.pool.lease()->run_script("ALTER TABLE nodes RENAME TO hidden");
  CountedSink sink(writer);
  EXPECT_THROW(build(sink, kTooMany), Error);
  const int until_it_failed = sink.taken();
  EXPECT_THROW(writer.flush(), Error);
  engine.pool.lease()->run_script("ALTER TABLE hidden RENAME TO nodes");
  NodeWriter next(engine.pool, store, RepositoryId{1});
  const tree::EditResult built = build(next, kTooMany);
  EXPECT_LT(until_it_failed, static_cast<int>(built.nodes_written) / 2);
}

TEST_F(NodeWriterTest, ThrowsTheErrorOfTheLastCopy) {
  engine.pool.lease()->run_script("ALTER TABLE nodes RENAME TO hidden");
  build(writer, kMany);
  EXPECT_THROW(writer.finish(), Error);
}

TEST_F(NodeWriterTest, KeepsABoundedPartInMemoryWhenTheDatabaseIsSlow) {
  CountedSink sink(writer);
  std::future<tree::EditResult> building;
  int while_locked = 0;
  engine.pool.transaction([&](db::Connection& connection) {
    connection.run_script("LOCK TABLE nodes IN ACCESS EXCLUSIVE MODE");
    building = std::async(std::launch::async, [&] { return build(sink, kTooMany); });
    for (int before = -1; before != sink.taken();) {
      before = sink.taken();
      std::this_thread::sleep_for(std::chrono::milliseconds{300});
    }
    while_locked = sink.taken();
  });
  const tree::EditResult built = building.get();
  EXPECT_TRUE(writer.finish().nids.empty());
  EXPECT_GT(while_locked, 100);
  EXPECT_LT(while_locked, static_cast<int>(built.nodes_written) / 2);
  EXPECT_EQ(static_cast<uint64_t>(rows()), built.nodes_written);
}

}  // namespace
}  // namespace tarn::meta
