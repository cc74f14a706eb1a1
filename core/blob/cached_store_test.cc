#include "core/blob/cached_store.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "tests/support/blob_objects.h"
#include "tests/support/forwarding_store.h"
#include "tests/support/memory_store_fixture.h"
#include "tests/support/temporary_directory.h"

namespace tarn::testing {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kTrailerBytes = 24;

/// Ways in which an answer may be wrong while it has the right length.
enum class Harm { kNone, kFlips, kRepeats, kReorders };

/// Reads all of another reader first, and then hands it out spoiled.
class HarmedReader final : public blob::BlobReader {
 public:
  HarmedReader(blob::BlobReader& inner, Harm harm) {
    char buffer[64];
    while (const size_t got = inner.read(buffer)) bytes_.append(buffer, got);
    const size_t half = bytes_.size() / 2;
    if (harm == Harm::kFlips) bytes_[half] = static_cast<char>(bytes_[half] ^ 1);
    if (harm == Harm::kRepeats)
      bytes_ = bytes_.substr(0, half) + bytes_.substr(0, bytes_.size() - half);
    if (harm == Harm::kReorders) bytes_ = bytes_.substr(half) + bytes_.substr(0, half);
  }
  size_t read(std::span<char> out) override {
    const size_t got = bytes_.copy(out.data(), out.size(), at_);
    at_ += got;
    return got;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

/// Counts what is opened, and may take its time, fail or answer wrongly.
class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  std::unique_ptr<blob::BlobReader> open(std::string_view key, blob::ByteRange range,
                                         std::string_view if_etag) override {
    ++opens;
    std::this_thread::sleep_for(delay);
    if (fails) throw Error(ErrorCode::kUnavailable, "the store is away");
    auto reader = store_.open(key, range, if_etag);
    if (const auto call = std::exchange(opened, nullptr)) call();
    if (reader && wrong_answers > 0 && wrong_answers-- > 0) {
      return std::make_unique<HarmedReader>(*reader, harm);
    }
    return reader;
  }

  std::optional<blob::BlobStat> stat(std::string_view key) override {
    ++stats;
    return store_.stat(key);
  }

  std::atomic<int> opens = 0;
  std::atomic<int> stats = 0;
  std::atomic<bool> fails = false;
  Harm harm = Harm::kNone;
  int wrong_answers = 0;         ///< the next so many
  std::function<void()> opened;  ///< called once, before the bytes are read
  std::chrono::milliseconds delay{0};
};

class Md5Check final : public blob::BytesCheck {
 public:
  explicit Md5Check(std::string hex) : hex_(std::move(hex)) {}
  void update(std::string_view bytes) override { digest_.update(bytes); }
  bool matches() override { return to_hex(digest_.finish()) == hex_; }
  std::string expected() const override { return hex_; }
  std::string found() const override { return {}; }

 private:
  const std::string hex_;
  Digest digest_{DigestAlgorithm::kMd5};
};

class CachedStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { restart(); }

  void restart(uint64_t bytes_max = 1 << 20) {
    cached_.reset();
    cache_.reset();
    cache_ = std::make_shared<blob::DiskCache>(blob::DiskCacheOptions{
        .directory = place_, .bytes_max = bytes_max, .object_bytes_max = 1000});
    auto counting = std::make_unique<CountingStore>(memory_);
    counting_ = counting.get();
    cached_ =
        std::make_unique<blob::CachedStore>(std::move(counting), cache_, "here\nlake", refuses_);
  }

  std::string put_new(const std::string& key, size_t size) {
    const std::string bytes = patterned_bytes(size, std::hash<std::string>()(key));
    EXPECT_TRUE(put(memory_, key, bytes));
    return bytes;
  }
  /// Compares with what the store holds now, as an entry records it.
  blob::RecordedBytes recorded(std::string_view key, uint64_t size, std::string_view etag = {}) {
    return {size, etag, [this, key] {
              const auto stat = memory_.stat(key);
              return std::make_unique<Md5Check>(stat ? stat->etag : "");
            }};
  }
  std::string read(std::string_view key, uint64_t size, blob::ByteRange range,
                   std::string_view if_etag = {}) {
    // Objects with an etag have no other digest.
    const auto reader = cached_->open_unchanging(
        key,
        if_etag.empty() ? recorded(key, size)
                        : blob::RecordedBytes{.size_bytes = size, .etag = if_etag, .check = {}},
        range);
    if (!reader) return "(absent)";
    std::string out;
    char buffer[100];
    while (const size_t got = reader->read(buffer)) out.append(buffer, got);
    return out;
  }
  std::string read(std::string_view key, uint64_t size) { return read(key, size, {0, size}); }
  /// Of an object that others may replace.
  std::string read_replaceable(std::string_view key, blob::ByteRange range, uint64_t size,
                               std::string_view etag) {
    const auto reader =
        cached_->open_revalidated(key, {.size_bytes = size, .etag = etag, .check = {}}, range);
    if (!reader) return "(absent)";
    std::string out(range.length, '\0');
    size_t at = 0;
    while (const size_t got = reader->read(std::span(out).subspan(at))) at += got;
    return out.substr(0, at);
  }
  std::string replace(const std::string& key, const std::string& bytes) {
    memory_.remove(key);
    EXPECT_TRUE(put(memory_, key, bytes));
    return memory_.stat(key)->etag;
  }
  int opens() const { return counting_->opens; }

  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& at : fs::recursive_directory_iterator(place_)) {
      if (at.is_regular_file() && at.path().filename() != ".lock") out.push_back(at.path());
    }
    return out;
  }

  TemporaryDirectory directory_;
  const std::string place_ = directory_ / "cache";
  blob::MemoryStore memory_;
  std::shared_ptr<blob::DiskCache> cache_;
  CountingStore* counting_ = nullptr;
  bool refuses_ = false;
  std::unique_ptr<blob::CachedStore> cached_;
};

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
  const blob::Descriptor file(reader->duplicate_fd());
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

TEST_F(CachedStoreTest, AWrongAnswerIsAskedForAgainAndNeverKept) {
  int number = 0;
  for (const Harm harm : {Harm::kFlips, Harm::kRepeats, Harm::kReorders}) {
    for (const bool by_etag : {false, true}) {
      for (const int answers : {1, 2, 3}) {
        const std::string key = std::to_string(++number);
        SCOPED_TRACE(key);
        const std::string bytes = put_new(key, 500);
        const std::string etag = by_etag ? memory_.stat(key)->etag : "";
        counting_->harm = harm;
        counting_->wrong_answers = answers;
        const int before = opens();
        const std::string first = read(key, 500, {0, 500}, etag);
        EXPECT_EQ(first == bytes, answers < 3) << "the store has the last word";
        EXPECT_EQ(opens() - before, answers == 1 ? 2 : 3);
        restart();
        EXPECT_EQ(read(key, 500, {0, 500}, etag), bytes);
        EXPECT_EQ(read(key, 500, {100, 7}, etag), bytes.substr(100, 7));
        EXPECT_EQ(opens(), answers == 1 ? 0 : 1) << "the right answer is kept";
      }
    }
  }
}

TEST_F(CachedStoreTest, ARefusingStoreServesNoRangeOfWrongBytes) {
  refuses_ = true;
  restart();
  const std::string bytes = put_new("a", 500);
  counting_->harm = Harm::kFlips;
  counting_->wrong_answers = 2;
  try {
    read("a", 500, {0, 10});
    ADD_FAILURE() << "bytes of an object that is known to be wrong";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), "object_corrupt");
  }
  EXPECT_EQ(read("a", 500, {0, 10}), bytes.substr(0, 10));
}

TEST_F(CachedStoreTest, AnAnswerThatIsCutIsNotKept) {
  const std::string bytes = put_new("a", 500);
  memory_.remove("a");
  ASSERT_TRUE(put(memory_, "a", bytes.substr(0, 300)));
  EXPECT_THROW(read("a", 500), Error);
  replace("a", bytes);
  EXPECT_EQ(read("a", 500), bytes);
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(CachedStoreTest, WhatNothingCanBeComparedWithIsNotKept) {
  const std::string bytes = put_new("a", 100);
  for (int n = 1; n <= 2; ++n) {
    const auto reader =
        cached_->open_unchanging("a", {.size_bytes = 100, .etag = {}, .check = {}}, {0, 100});
    char got[100];
    EXPECT_EQ(reader->read(got), 100U);
    EXPECT_EQ(opens(), n);
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(CachedStoreTest, EtagsThatAreNoMd5sStopBeingCompared) {
  put_new("a", 100);
  const blob::RecordedBytes bytes{
      .size_bytes = 100, .etag = {}, .check = [] { return std::unique_ptr<blob::BytesCheck>(); }};
  EXPECT_TRUE(cached_->open_unchanging("a", bytes, {0, 100}));
  EXPECT_TRUE(files().empty());
  // Wrong answers look like the etags of a store that encrypts.
  const std::string etag = memory_.stat("a")->etag;
  counting_->harm = Harm::kFlips;
  counting_->wrong_answers = 1000;
  for (int n = 0; n < 8; ++n) read("a", 100, {0, 100}, etag);
  const int before = opens();
  read("a", 100, {0, 100}, etag);
  EXPECT_EQ(opens(), before + 1) << "one request for each read";
}

TEST_F(CachedStoreTest, CopiesOfEarlierVersionsAreNotServed) {
  const std::string bytes = put_new("a", 100);
  read("a", 100);
  ASSERT_EQ(files().size(), 1U);
  std::fstream file(files().front(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100 + 7);
  file.put('1');
  file.close();
  restart();
  EXPECT_EQ(read("a", 100), bytes);
  EXPECT_EQ(opens(), 1);
}

// Such a copy cannot be made by a store any more: the digest of another entry stands for it.
TEST_F(CachedStoreTest, ACheckOfCopiesRemovesThoseOfOtherBytes) {
  const std::string bytes = put_new("a", 100);
  EXPECT_TRUE(cached_->check_copy("a", recorded("a", 100))) << "there is none";
  read("a", 100);
  EXPECT_TRUE(cached_->check_copy("a", recorded("a", 100)));
  EXPECT_EQ(files().size(), 1U);
  replace("a", std::string(100, 'x'));
  EXPECT_FALSE(cached_->check_copy("a", recorded("a", 100)));
  EXPECT_TRUE(files().empty());
  read("a", 100);
  fs::resize_file(files().front(), 50);
  EXPECT_FALSE(cached_->check_copy("a", recorded("a", 100)));
  EXPECT_EQ(cache_->bytes(), 0U);
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
