#include "core/blob/local_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "tests/support/blob_objects.h"
#include "tests/support/temporary_directory.h"

namespace tarn::blob {
namespace {

namespace fs = std::filesystem;
using testing::get;
using testing::list_keys;
using testing::put;
using testing::walk_keys;
using Keys = std::vector<std::string>;

constexpr Instant kFuture = from_millis(32'503'680'000'000);  // the year 3000

std::string thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.reason());
  }
  return "";
}

void write_file(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::trunc) << text;
}

class LocalStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<LocalStore> open_objects() {
    return LocalStore::open(root_, LocalMode::kObjects);
  }
  std::unique_ptr<LocalStore> open_import_root() {
    return LocalStore::open(root_, LocalMode::kImportRoot);
  }

  testing::TemporaryDirectory outside_;
  std::string root_ = outside_ / "root";
};

TEST_F(LocalStoreTest, RefusesSymbolicLinksForEveryVerb) {
  const auto store = open_objects();
  fs::create_directories(outside_ / "target");
  write_file(outside_ / "target/secret", "secret");
  ASSERT_TRUE(put(*store, "d/own", "own"));
  fs::create_symlink(outside_ / "target", root_ + "/dir");
  fs::create_symlink(outside_ / "target/secret", root_ + "/file");
  fs::create_symlink(outside_ / "target", root_ + "/d/deep");
  fs::create_symlink(outside_ / "target/new", root_ + "/dangling");
  fs::create_symlink("own", root_ + "/d/within");
  for (const char* key : {"dir/secret", "file", "d/deep/secret", "dangling", "d/within"}) {
    EXPECT_EQ(thrown([&] { put(*store, key, "x"); }), "store_damaged") << key;
    EXPECT_EQ(thrown([&] { store->stat(key); }), "store_damaged") << key;
    EXPECT_EQ(thrown([&] { store->open(key, {}, ""); }), "store_damaged") << key;
    EXPECT_EQ(thrown([&] { store->remove(key); }), "store_damaged") << key;
  }
  EXPECT_EQ(thrown([&] { put(*store, "dir/new/object", "x"); }), "store_damaged");
  EXPECT_EQ(list_keys(*store), Keys{"d/own"});
  EXPECT_EQ(list_keys(*store, "dir/"), Keys{});
  EXPECT_EQ(list_keys(*store, "d/deep/"), Keys{});
  EXPECT_EQ(walk_keys(*store), Keys{"d/own"});
  EXPECT_FALSE(fs::exists(outside_ / "target/new"));
  EXPECT_TRUE(fs::exists(outside_ / "target/secret"));
}

TEST_F(LocalStoreTest, ImportRootFollowsNoLinkAndSkipsSpecialFiles) {
  write_file(root_ + "/a", "1");
  write_file(root_ + "/odd\nname\\..\\x", "2");
  write_file(outside_ / "secret", "secret");
  fs::create_symlink(outside_ / "secret", root_ + "/link");
  fs::create_symlink(outside_.path(), root_ + "/up");
  fs::create_symlink(".", root_ + "/loop");
  ASSERT_EQ(::mkfifo((root_ + "/fifo").c_str(), 0600), 0);
  const auto store = open_import_root();
  EXPECT_EQ(list_keys(*store), (Keys{"a", "odd\nname\\..\\x"}));
  EXPECT_EQ(walk_keys(*store), (Keys{"a", "odd\nname\\..\\x"}));
  EXPECT_EQ(thrown([&] { store->open("link", {}, ""); }), "permission_denied");
  EXPECT_EQ(thrown([&] { store->open("up/secret", {}, ""); }), "permission_denied");
  EXPECT_EQ(store->open("fifo", {}, ""), nullptr);
  EXPECT_EQ(store->stat("fifo"), std::nullopt);
}

TEST_F(LocalStoreTest, ImportRootIsReadOnly) {
  write_file(root_ + "/a", "1");
  const auto store = open_import_root();
  EXPECT_EQ(thrown([&] { store->create("b", 1); }), "permission_denied");
  EXPECT_EQ(thrown([&] { store->remove("a"); }), "permission_denied");
  EXPECT_EQ(thrown([&] { store->remove_unfinished("", kFuture); }), "permission_denied");
  EXPECT_EQ(thrown([&] { store->write_store_id("id"); }), "permission_denied");
  EXPECT_EQ(get(*store, "a"), "1");
}

TEST_F(LocalStoreTest, ImportRootServesFilesItsOwnerMadeUnreadable) {
  write_file(root_ + "/a", "1");
  ASSERT_EQ(::chmod((root_ + "/a").c_str(), 0000), 0);
  EXPECT_EQ(list_keys(*open_import_root()), Keys{"a"});
}

TEST_F(LocalStoreTest, MissingRootsAreDistinguishedFromMissingObjects) {
  EXPECT_EQ(thrown([&] { open_import_root(); }), "bucket_not_found");
  const auto store = open_objects();
  fs::remove_all(root_);
  EXPECT_EQ(thrown([&] { store->stat("k"); }), "bucket_not_found");
  EXPECT_EQ(thrown([&] { store->open("k", {}, ""); }), "bucket_not_found");
  EXPECT_EQ(thrown([&] { store->list("", "", 1); }), "bucket_not_found");
  EXPECT_EQ(thrown([&] { walk_keys(*store); }), "bucket_not_found");
  EXPECT_EQ(thrown([&] { put(*store, "d/k", ""); }), "bucket_not_found");
}

TEST_F(LocalStoreTest, EtagIsTheDigestOfPathSizeAndTime) {
  write_file(root_ + "/d/a", "123");
  const auto store = open_import_root();
  const auto stat = store->stat("d/a");
  ASSERT_TRUE(stat.has_value());
  const std::string identity =
      std::string("d/a\0", 4) + std::string("3\0", 2) + std::to_string(stat->mtime_ns);
  EXPECT_EQ(stat->etag, to_hex(md5(identity)) + "-1");
  EXPECT_EQ(store->list("", "", 1).items[0], *stat);
  std::vector<BlobStat> walked;
  store->walk("", "", [&](const BlobStat& one) { return walked.push_back(one), true; });
  EXPECT_EQ(walked, std::vector<BlobStat>{*stat});
}

TEST_F(LocalStoreTest, SourceThatChangesDuringAReadIsAnError) {
  write_file(root_ + "/a", std::string(1000, 'x'));
  const auto store = open_import_root();
  const std::string etag = store->stat("a")->etag;
  const auto overwritten = store->open("a", {.offset = 0, .length = 1000}, etag);
  const auto cut = store->open("a", {.offset = 0, .length = 1000}, etag);
  const auto unconditional = store->open("a", {.offset = 0, .length = 1000}, "");
  fs::last_write_time(root_ + "/a", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(thrown([&] { testing::read_to_end(*overwritten); }), "source_changed");
  EXPECT_EQ(testing::read_to_end(*unconditional).size(), 1000u);
  fs::resize_file(root_ + "/a", 10);
  EXPECT_EQ(thrown([&] { testing::read_to_end(*cut); }), "source_changed");
}

TEST_F(LocalStoreTest, ReaderHandsOverItsFile) {
  const auto store = open_objects();
  ASSERT_TRUE(put(*store, "k", "0123456789"));
  const auto reader = store->open("k", {.offset = 4, .length = 3}, "");
  const Descriptor file(reader->duplicate_fd());
  char bytes[3];
  ASSERT_EQ(::pread(file.get(), bytes, 3, static_cast<off_t>(reader->file_offset())), 3);
  EXPECT_EQ(std::string(bytes, 3), "456");
}

TEST_F(LocalStoreTest, ObjectsAreReadOnlyFilesUnderTheirKeys) {
  const auto store = open_objects();
  ASSERT_TRUE(put(*store, "data/00/k", "v"));
  struct stat status {};
  ASSERT_EQ(::stat((root_ + "/data/00/k").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0440u);
}

TEST_F(LocalStoreTest, FileOfAKilledWriterIsNotAnObjectAndCanBeRemoved) {
  const auto store = open_objects();
  ASSERT_TRUE(put(*store, "d/whole", "v"));
  write_file(root_ + "/d/killed", "half");
  ASSERT_EQ(::chmod((root_ + "/d/killed").c_str(), 0200), 0);
  EXPECT_EQ(store->stat("d/killed"), std::nullopt);
  EXPECT_EQ(store->open("d/killed", {}, ""), nullptr);
  EXPECT_EQ(list_keys(*store), Keys{"d/whole"});
  EXPECT_FALSE(put(*store, "d/killed", "new"));
  store->remove("d/killed");
  EXPECT_TRUE(fs::exists(root_ + "/d/killed"));
  const Instant hour_ago = SystemClock().now() - std::chrono::hours(1);
  EXPECT_EQ(store->remove_unfinished("", hour_ago), 0u);
  EXPECT_EQ(store->remove_unfinished("e/", kFuture), 0u);
  EXPECT_EQ(store->remove_unfinished("d/", kFuture), 1u);
  EXPECT_FALSE(fs::exists(root_ + "/d/killed"));
  EXPECT_EQ(get(*store, "d/whole"), "v");
}

TEST_F(LocalStoreTest, RefusesKeysWhereADirectoryOrObjectIs) {
  const auto store = open_objects();
  ASSERT_TRUE(put(*store, "d/k", "v"));
  EXPECT_EQ(thrown([&] { put(*store, "d", "x"); }), "store_damaged");
  EXPECT_EQ(thrown([&] { put(*store, "d/k/below", "x"); }), "store_damaged");
  EXPECT_EQ(thrown([&] { put(*store, std::string(256, 'n'), "x"); }), "invalid_argument");
  EXPECT_TRUE(put(*store, std::string(255, 'n'), "x"));
}

TEST_F(LocalStoreTest, WritesIntoDirectoriesThatWereRemovedMeanwhile) {
  const auto store = open_objects();
  ASSERT_TRUE(put(*store, "a/b/k", "v"));
  fs::remove_all(root_ + "/a");
  EXPECT_TRUE(put(*store, "a/b/k2", "v2"));
  EXPECT_EQ(list_keys(*store), Keys{"a/b/k2"});
}

TEST_F(LocalStoreTest, RemovalTakesDirectoriesThatAreEmptyThen) {
  const auto store = open_objects();
  for (const char* key : {"lake/data/a/1", "lake/data/a/2", "lake/data/b/1", "lake/data/b/2"}) {
    put(*store, key, "bytes");
  }
  const Keys keys = {"lake/data/b/1", "lake/data/a/2", "lake/data/a/1", "lake/data/c/1"};
  EXPECT_TRUE(store->remove_all(keys).empty());
  EXPECT_FALSE(fs::exists(root_ + "/lake/data/a"));
  EXPECT_TRUE(fs::exists(root_ + "/lake/data/b"));
  EXPECT_EQ(list_keys(*store, ""), Keys{"lake/data/b/2"});
  EXPECT_TRUE(store->remove_all(Keys{"lake/data/b/2"}).empty());
  EXPECT_TRUE(fs::exists(root_ + "/lake/data")) << "only those that held objects";
  put(*store, "lake/data/a/1", "again");
  EXPECT_EQ(get(*store, "lake/data/a/1"), "again");
}

// An upload that another server has begun in the directory keeps it.
TEST_F(LocalStoreTest, RemovalLeavesADirectoryThatIsWrittenTo) {
  const auto store = open_objects();
  const auto other = open_objects();
  put(*store, "lake/data/a/1", "bytes");
  const auto writer = other->create("lake/data/a/2", 5);
  EXPECT_TRUE(store->remove_all(Keys{"lake/data/a/1"}).empty());
  writer->write("bytes");
  EXPECT_TRUE(writer->finish());
  EXPECT_EQ(get(*store, "lake/data/a/2"), "bytes");
}

// Writers of two servers in a directory that becomes empty again and again.
TEST_F(LocalStoreTest, WritersMakeADirectoryAgainThatARemovalTakes) {
  constexpr int kRemovedMin = 200;
  constexpr int kRoundsMin = 2'000;
  constexpr int kRoundsMax = 40'000;
  const std::unique_ptr<LocalStore> stores[] = {open_objects(), open_objects(), open_objects()};
  std::atomic<int> removed = 0;
  std::vector<std::thread> writers;
  for (int number = 0; number < 2; ++number) {
    writers.emplace_back([&, number] {
      for (int round = 0; round < kRoundsMin || (removed < kRemovedMin && round < kRoundsMax);
           ++round) {
        const std::string key =
            "lake/data/a/" + std::to_string(number) + "-" + std::to_string(round);
        put(*stores[number], key, "bytes");
        EXPECT_EQ(get(*stores[number], key), "bytes");
        stores[2]->remove_all(Keys{key});
        if (!fs::exists(root_ + "/lake/data/a")) ++removed;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_GE(removed, kRemovedMin);
  EXPECT_EQ(list_keys(*stores[0], ""), Keys{});
}

TEST_F(LocalStoreTest, WritesNextToARecreatedDirectory) {
  const auto store = open_objects();
  ASSERT_TRUE(put(*store, "a/b/k", "v"));
  fs::remove_all(root_ + "/a");
  fs::create_directories(root_ + "/a");
  EXPECT_TRUE(put(*store, "a/c/k", "v2"));
  EXPECT_EQ(list_keys(*store), Keys{"a/c/k"});
}

// As a restore does it: the old state is moved away, another takes its place.
TEST_F(LocalStoreTest, WritesIntoAReplacedDirectory) {
  const auto store = open_objects();
  ASSERT_TRUE(put(*store, "a/b/k", "v"));
  fs::rename(root_ + "/a", outside_ / "old");
  EXPECT_TRUE(put(*store, "a/b/k2", "v2"));
  EXPECT_EQ(get(*store, "a/b/k2"), "v2");
  fs::rename(root_ + "/a", outside_ / "older");
  fs::copy(outside_ / "old", root_ + "/a", fs::copy_options::recursive);
  EXPECT_TRUE(put(*store, "a/b/k3", "v3"));
  EXPECT_EQ(list_keys(*store), (Keys{"a/b/k", "a/b/k3"}));
}

TEST_F(LocalStoreTest, SaysThatAFileTookThePlaceOfADirectory) {
  const auto store = open_objects();
  for (const char* lost : {"/a", "/a/b", "/a/b/c"}) {
    fs::remove_all(root_ + "/a");
    ASSERT_TRUE(put(*store, "a/b/c/k", "v"));
    fs::remove_all(root_ + lost);
    write_file(root_ + lost, "");
    // The directory itself was known, its neighbour was not.
    EXPECT_EQ(thrown([&] { put(*store, "a/b/c/k2", "x"); }), "store_damaged") << lost;
    EXPECT_EQ(thrown([&] { put(*store, "a/b/c/d/k", "x"); }), "store_damaged") << lost;
    fs::remove(root_ + lost);
    EXPECT_TRUE(put(*store, "a/b/c/k3", "v")) << lost;
  }
}

TEST_F(LocalStoreTest, SaysThatALinkTookThePlaceOfADirectory) {
  const auto store = open_objects();
  ASSERT_TRUE(put(*store, "a/k", "v"));
  fs::rename(root_ + "/a", root_ + "/moved");
  fs::create_symlink("moved", root_ + "/a");
  EXPECT_EQ(thrown([&] { put(*store, "a/k2", "x"); }), "store_damaged");
  EXPECT_EQ(thrown([&] { get(*store, "a/k"); }), "store_damaged");
  EXPECT_EQ(list_keys(*store), Keys{"moved/k"});
}

TEST_F(LocalStoreTest, KeepsFewDirectoriesOpen) {
  const auto store = open_objects();
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(put(*store, "d" + std::to_string(i) + "/k", ""));
  const auto open_files =
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  EXPECT_LT(open_files, 480);
  EXPECT_EQ(list_keys(*store).size(), 600u);
}

void set_time(const std::string& path, fs::file_time_type time) { fs::last_write_time(path, time); }

TEST_F(LocalStoreTest, NextPageSeesAFileMadeInADirectoryThatWasStillForLong) {
  const auto store = open_objects();
  for (const char* key : {"d/a", "d/c"}) ASSERT_TRUE(put(*store, key, ""));
  for (const std::string& path : {root_ + "/d", root_}) {
    set_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  ASSERT_TRUE(store->list("", "", 1).has_more);
  ASSERT_TRUE(put(*store, "d/b", ""));
  EXPECT_EQ(list_keys(*store, "", "d/a"), (Keys{"d/b", "d/c"}));
}

TEST_F(LocalStoreTest, NextPageSeesAFileMadeInTheSameTickAsTheOnesBefore) {
  const auto store = open_objects();
  for (const char* key : {"d/a", "d/c"}) ASSERT_TRUE(put(*store, key, ""));
  const auto tick = fs::file_time_type::clock::now();
  set_time(root_ + "/d", tick);
  ASSERT_TRUE(store->list("", "", 1).has_more);
  ASSERT_TRUE(put(*store, "d/b", ""));
  set_time(root_ + "/d", tick);
  EXPECT_EQ(list_keys(*store, "", "d/a"), (Keys{"d/b", "d/c"}));
}

TEST_F(LocalStoreTest, StoreIdIsWrittenOnceAndHidden) {
  const auto store = open_objects();
  EXPECT_EQ(store->read_store_id(), std::nullopt);
  store->write_store_id("0123-abc");
  EXPECT_EQ(store->read_store_id(), "0123-abc");
  EXPECT_EQ(thrown([&] { store->write_store_id("other"); }), "precondition_failed");
  EXPECT_EQ(open_objects()->read_store_id(), "0123-abc");
  EXPECT_EQ(list_keys(*store), Keys{});
  EXPECT_EQ(thrown([&] { store->stat(".tarn-store-id"); }), "invalid_argument");
  EXPECT_EQ(thrown([&] { put(*store, ".tarn-store-id", "x"); }), "invalid_argument");
  EXPECT_TRUE(put(*store, "d/.tarn-store-id", "an ordinary key"));
}

class LocalTreeTest : public LocalStoreTest {
 protected:
  // Names around '/' in byte order, directories and files mixed, several levels.
  void make_files(int count) {
    constexpr const char* kTails[] = {"", "-", ".x", "0", " ", "+", "!"};
    for (int i = 0; i < count; ++i) {
      const std::string directory =
          "d" + std::to_string(i % 97) + kTails[i % 7] + "/" + std::to_string(i % 5) + "e";
      keys_.push_back(directory + "/" + std::to_string(i) + kTails[i % 3]);
      if (i % 4 == 0)
        keys_.back() =
            "d" + std::to_string(i % 97) + kTails[i % 7] + "/" + std::to_string(i) + ".top";
    }
    std::string made;
    for (const std::string& key : keys_) {
      const std::string parent = fs::path(key).parent_path();
      if (made != parent) fs::create_directories(root_ + "/" + parent);
      std::ofstream(root_ + "/" + key) << key.size();
    }
    std::sort(keys_.begin(), keys_.end());
  }
  Keys keys_;
};

TEST_F(LocalTreeTest, WalkOfTwentyThousandFilesEqualsTheSortedPaths) {
  make_files(20'000);
  const auto store = open_import_root();
  EXPECT_TRUE(walk_keys(*store) == keys_);
  EXPECT_TRUE(list_keys(*store) == keys_);
  EXPECT_TRUE(list_keys(*store, "", "", 77) == keys_);
  const auto middle = keys_.begin() + static_cast<std::ptrdiff_t>(keys_.size() / 2);
  EXPECT_TRUE(walk_keys(*store, "", *middle) == Keys(middle + 1, keys_.end()));
  EXPECT_TRUE(walk_keys(*store, "", *middle + "\x01") == Keys(middle + 1, keys_.end()));
}

TEST_F(LocalTreeTest, WalkMayEndEarlyOrThrowWhileFilesAreLookedAt) {
  make_files(5'000);
  const auto store = open_import_root();
  for (const size_t stop_at : {1u, 600u, 4'999u}) {
    size_t seen = 0;
    store->walk("", "", [&](const BlobStat&) { return ++seen < stop_at; });
    EXPECT_EQ(seen, stop_at);
    EXPECT_THROW(
        store->walk("", "", [&](const BlobStat&) -> bool { throw std::runtime_error("visit"); }),
        std::runtime_error);
  }
}

TEST_F(LocalTreeTest, RefusesToGoDeeperThanItsLimit) {
  fs::create_directories(root_);
  std::string path = root_;
  for (int i = 0; i < 300; ++i) path += "/d";
  write_file(path + "/f", "");
  const auto store = open_import_root();
  EXPECT_EQ(thrown([&] { walk_keys(*store); }), "directory_too_deep");
  EXPECT_EQ(thrown([&] { list_keys(*store); }), "directory_too_deep");
}

}  // namespace
}  // namespace tarn::blob
