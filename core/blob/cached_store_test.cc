#include <barrier>
#include <fstream>

#include <gmock/gmock.h>

#include "core/blob/cached_store_fixture.h"

namespace tarn::testing {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kTrailerBytes = 24;

TEST_F(CachedStoreTest, SecondReadAsksNoStore) {
  const std::string bytes = put_new("a", 1000);
  EXPECT_EQ(read("a", 1000), bytes);
  EXPECT_EQ(read("a", 1000), bytes);
  EXPECT_EQ(opens(), 1);
  EXPECT_EQ(cache_->bytes(), 1000 + kTrailerBytes);
}

TEST_F(CachedStoreTest, RangesComeFromTheWholeObject) {
  const std::string bytes = put_new("a", 900);
  EXPECT_EQ(read("a", 900, {300, 50}), bytes.substr(300, 50));
  EXPECT_EQ(read("a", 900, {0, 900}), bytes);
  EXPECT_EQ(read("a", 900, {899, 1}), bytes.substr(899));
  EXPECT_EQ(opens(), 1);
}

// The file of a copy has a trailer, which is none of the object's bytes.
TEST_F(CachedStoreTest, CopyStatesTheSizeOfTheObject) {
  put_new("a", 100);
  for (int i = 0; i < 2; ++i) {
    const auto reader = cached_->open_unchanging("a", recorded("a", 100), {20, 10});
    EXPECT_EQ(reader->object_bytes(), std::optional<uint64_t>(100));
  }
}

TEST_F(CachedStoreTest, FileOfReaderHoldsTheRange) {
  const std::string bytes = put_new("a", 900);
  read("a", 900);
  const auto reader = cached_->open_unchanging("a", recorded("a", 900), {300, 50});
  const Descriptor file(reader->duplicate_fd());
  char got[50];
  ASSERT_EQ(::pread(file.get(), got, sizeof(got), static_cast<off_t>(reader->file_offset())), 50);
  EXPECT_EQ(std::string_view(got, 50), bytes.substr(300, 50));
}

TEST_F(CachedStoreTest, MutableAndLargeObjectsAreNotCached) {
  const std::string large = put_new("large", 1001);
  const std::string small = put_new("small", 10);
  for (int n = 1; n <= 2; ++n) {
    EXPECT_EQ(read("large", 1001), large);
    char got[10];
    EXPECT_EQ(cached_->open("small", {0, 10}, "")->read(got), 10u);
    EXPECT_EQ(cached_->open("small", {0, 10}, memory_.stat("small")->etag)->read(got), 10u);
    EXPECT_EQ(opens(), 3 * n);
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(CachedStoreTest, CachesEveryEtagSeparately) {
  const std::string bytes = put_new("a", 10);
  const std::string etag = memory_.stat("a")->etag;
  EXPECT_EQ(read("a", 10, {0, 10}, etag), bytes);
  memory_.remove("a");
  const std::string changed = "otherbytes";
  ASSERT_TRUE(put(memory_, "a", changed));
  const std::string changed_etag = memory_.stat("a")->etag;
  ASSERT_NE(changed_etag, etag);
  EXPECT_EQ(read("a", 10, {0, 10}, etag), bytes);
  EXPECT_EQ(opens(), 1);
  EXPECT_EQ(read("a", 10, {0, 10}, changed_etag), changed);
  EXPECT_THROW(read("a", 10, {0, 10}, "neither"), Error);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(CachedStoreTest, CopyOfAReplaceableObjectIsReadOnceTheStoreSaysItIsTheSame) {
  const std::string first = put_new("a", 100);
  const std::string etag = memory_.stat("a")->etag;
  EXPECT_EQ(read_replaceable("a", {10, 20}, 100, etag), first.substr(10, 20));
  EXPECT_EQ(counting_->stats, 0) << "the read that fetches it has its own condition";
  EXPECT_EQ(read_replaceable("a", {0, 100}, 100, etag), first);
  EXPECT_EQ(opens(), 1);
  EXPECT_EQ(counting_->stats, 1);

  const std::string second(100, 's');
  const std::string other = replace("a", second);
  try {
    read_replaceable("a", {0, 100}, 100, etag);
    ADD_FAILURE() << "bytes that the object no longer has";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kGone);
  }
  EXPECT_EQ(read_replaceable("a", {0, 100}, 100, other), second);
  memory_.remove("a");
  EXPECT_EQ(read_replaceable("a", {0, 100}, 100, other), "(absent)");
  EXPECT_EQ(replace("a", first), etag) << "the same object again";
  const int before = opens();
  EXPECT_EQ(read_replaceable("a", {0, 100}, 100, etag), first);
  EXPECT_EQ(opens(), before);
}

// A copy that was fetched while a request waited may be of a state before that request.
TEST_F(CachedStoreTest, WaiterForACopyOfAReplaceableObjectAsksAgain) {
  const std::string first = put_new("a", 100);
  const std::string etag = memory_.stat("a")->etag;
  std::thread waiter;
  std::string got = "refused";
  counting_->opened = [&] {
    replace("a", std::string(100, 's'));
    waiter = std::thread([&] {
      try {
        got = read_replaceable("a", {0, 100}, 100, etag);
      } catch (const Error&) {
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds{100});  // until it waits
  };
  EXPECT_EQ(read_replaceable("a", {0, 100}, 100, etag), first);
  waiter.join();
  EXPECT_EQ(got, "refused");
}

TEST_F(CachedStoreTest, KeysAreSeparatePerStore) {
  put_new("a", 10);
  read("a", 10);
  blob::MemoryStore other;
  ASSERT_TRUE(put(other, "a", "elsewhere!"));
  blob::CachedStore neighbour(std::make_unique<CountingStore>(other), cache_, "here\npond", false);
  char got[10];
  const blob::RecordedBytes theirs{.size_bytes = 10, .etag = {}, .check = [&] {
                                     return std::make_unique<Md5Check>(other.stat("a")->etag);
                                   }};
  ASSERT_EQ(neighbour.open_unchanging("a", theirs, {0, 10})->read(got), 10u);
  EXPECT_EQ(std::string_view(got, 10), "elsewhere!");
}

TEST_F(CachedStoreTest, AbsentAndShorterObjectsAreReadFromTheStore) {
  EXPECT_EQ(read("nothing", 10), "(absent)");
  const std::string bytes = put_new("short", 10);
  EXPECT_EQ(read("short", 20, {0, 10}), bytes);
  EXPECT_THROW(read("short", 20, {5, 10}), Error);
  EXPECT_THROW(read("short", 10, {5, 10}), Error);
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(cache_->bytes(), 0u);
}

TEST_F(CachedStoreTest, StoreFailureCachesNothing) {
  const std::string bytes = put_new("a", 10);
  counting_->fails = true;
  EXPECT_THROW(read("a", 10), Error);
  counting_->fails = false;
  EXPECT_EQ(read("a", 10), bytes);
  EXPECT_EQ(cache_->bytes(), 10 + kTrailerBytes);
}

TEST_F(CachedStoreTest, EvictsTheLeastRecentlyReadFirst) {
  restart(3 * (100 + kTrailerBytes));
  for (const char* key : {"a", "b", "c"}) {
    put_new(key, 100);
    read(key, 100);
  }
  read("a", 100);
  put_new("d", 100);
  read("d", 100);  // in place of b
  EXPECT_EQ(opens(), 4);
  EXPECT_EQ(files().size(), 3u);
  for (const char* key : {"a", "c", "d"}) read(key, 100);
  EXPECT_EQ(opens(), 4);
  read("b", 100);
  EXPECT_EQ(opens(), 5);
  EXPECT_EQ(cache_->bytes(), 3 * (100 + kTrailerBytes));
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(CachedStoreTest, RestartKeepsCopiesAndTheirOrder) {
  for (const char* key : {"a", "b", "c"}) {
    put_new(key, 100);
    read(key, 100);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // of the clock of files
  }
  read("a", 100);
  restart(2 * (100 + kTrailerBytes));
  EXPECT_EQ(cache_->bytes(), 2 * (100 + kTrailerBytes));
  read("a", 100);
  read("c", 100);
  EXPECT_EQ(opens(), 0);
  read("b", 100);
  EXPECT_EQ(opens(), 1);
}

TEST_F(CachedStoreTest, DamagedAndTruncatedFilesAreNeverServed) {
  const std::string bytes = put_new("a", 500);
  const std::vector<std::function<void(const fs::path&)>> harms = {
      [](const fs::path& file) {  // one bit in the middle
        std::fstream at(file, std::ios::in | std::ios::out | std::ios::binary);
        at.seekg(250);
        const int was = at.get();
        at.seekp(250);
        at.put(static_cast<char>(was ^ 1));
      },
      [](const fs::path& file) { fs::resize_file(file, 250); },
      [](const fs::path& file) { fs::resize_file(file, 0); },
      [](const fs::path& file) { fs::resize_file(file, 2000); },
      [](const fs::path& file) { fs::remove(file); },
  };
  for (size_t n = 0; n < harms.size(); ++n) {
    restart();
    read("a", 500);
    const int before = opens();
    ASSERT_EQ(files().size(), 1u);
    harms[n](files().front());
    if (n % 2 == 1) restart();
    EXPECT_EQ(read("a", 500), bytes) << n;
    EXPECT_EQ(opens(), n % 2 == 1 ? 1 : before + 1) << n;
    EXPECT_EQ(cache_->bytes(), 500 + kTrailerBytes) << n;
  }
}

TEST_F(CachedStoreTest, OnlyLeftoversAreRemovedAtStart) {
  put_new("a", 10);
  read("a", 10);
  const fs::path file = files().front();
  const fs::path leftover = file.string() + ".tmp";
  const fs::path foreign = fs::path(place_) / "notes.tmp";
  std::ofstream(leftover) << "half";
  std::ofstream(foreign) << "mine";
  restart();
  EXPECT_FALSE(fs::exists(leftover));
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(CachedStoreTest, UnwritableDirectoryFailsNoRead) {
  const std::string bytes = put_new("a", 10);
  fs::remove_all(place_);
  std::ofstream(place_) << "no directory";
  EXPECT_EQ(read("a", 10), bytes);
  EXPECT_EQ(read("a", 10), bytes);
  EXPECT_EQ(cache_->bytes(), 0u);
}

TEST_F(CachedStoreTest, OneProcessOwnsTheDirectory) {
  try {
    const blob::DiskCache second({.directory = place_});
    FAIL() << "two caches in one directory";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPreconditionFailed);
    EXPECT_THAT(error.message(), ::testing::HasSubstr("another tarnd uses it"));
  }
}

TEST_F(CachedStoreTest, RemovedObjectsLoseTheirCopy) {
  put_new("a", 10);
  read("a", 10);
  cached_->remove("a");
  EXPECT_EQ(read("a", 10), "(absent)");
  EXPECT_TRUE(files().empty());
}

// Garbage collection removes an object that is being read: no copy of it stays.
TEST_F(CachedStoreTest, WhatIsRemovedWhileItIsFetchedIsNotKept) {
  const std::function<void()> removals[] = {[this] { cached_->forget("a"); },
                                            [this] { cache_->clear(); }};
  for (const auto& forget : removals) {
    put_new("a", 10);
    counting_->opened = [this, &forget] {
      memory_.remove("a");
      forget();
    };
    read("a", 10);
    EXPECT_TRUE(files().empty());
    EXPECT_EQ(cache_->bytes(), 0U);
    EXPECT_EQ(read("a", 10), "(absent)");
  }
  put_new("a", 10);
  read("a", 10);
  EXPECT_EQ(files().size(), 1U) << "only what was fetched meanwhile";
}

TEST_F(CachedStoreTest, ReadersAtTheSameTimeFetchOnce) {
  constexpr int kReaders = 8;
  const std::string bytes = put_new("a", 1000);
  counting_->delay = std::chrono::milliseconds(50);
  std::barrier start(kReaders);
  std::atomic<int> right = 0;
  std::vector<std::thread> readers;
  for (int n = 0; n < kReaders; ++n) {
    readers.emplace_back([&] {
      start.arrive_and_wait();
      if (read("a", 1000) == bytes) ++right;
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(right, kReaders);
  EXPECT_EQ(opens(), 1);
}

TEST_F(CachedStoreTest, ReadersDuringEvictionSeeCorrectBytes) {
  constexpr int kReaders = 4;
  constexpr int kKeys = 6;
  constexpr int kRounds = 200;
  restart(2 * (800 + kTrailerBytes));
  std::vector<std::string> bytes;
  for (int n = 0; n < kKeys; ++n) bytes.push_back(put_new(std::to_string(n), 800));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int n = 0; n < kReaders; ++n) {
    readers.emplace_back([&, n] {
      for (int round = 0; round < kRounds; ++round) {
        const int key = (round * (n + 1)) % kKeys;
        if (read(std::to_string(key), 800) != bytes[static_cast<size_t>(key)]) ++wrong;
        if (cache_->bytes() > 2 * (800 + kTrailerBytes)) ++wrong;
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(files().size(), 2u);
}

}  // namespace
}  // namespace tarn::testing
