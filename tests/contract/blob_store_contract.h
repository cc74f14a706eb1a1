// The contract of every store. A test program includes this and instantiates BlobStoreContract once
// per store.
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/blob/blob_store.h"
#include "tests/support/blob_objects.h"
#include "tests/support/faulty_store.h"

namespace tarn::testing {

/// How a store treats keys such as "a//b", "/a", "a/", "./a", "../a".
enum class PathlessKeys { kHeld, kRefused, kServerDecides };

/// Permitted differences between stores. Each is documented at its store.
struct BlobStoreTraits {
  PathlessKeys pathless_keys = PathlessKeys::kHeld;
  bool holds_key_below_key = true;  ///< "a" together with "a/b"
  bool create_is_exclusive = true;  ///< for concurrent writers; sequential ones always
  bool is_faulty = false;           ///< the store of another case, over requests that fail
};

/// An empty store, and the resources that it needs.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual blob::BlobStore& store() = 0;
};

struct BlobStoreCase {
  std::string name;
  BlobStoreTraits traits;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
};

inline void PrintTo(const BlobStoreCase& one, std::ostream* out) { *out << one.name; }
inline std::string name_of_case(const ::testing::TestParamInfo<BlobStoreCase>& info) {
  return info.param.name;
}

class BlobStoreContract : public ::testing::TestWithParam<BlobStoreCase> {
 protected:
  void SetUp() override {
    under_test_ = GetParam().make();
    store_ = &under_test_->store();
  }
  blob::BlobStore& store() { return *store_; }
  const BlobStoreTraits& traits() { return GetParam().traits; }

  /// The code and reason of the error that `call` throws; "" if it returns.
  template <typename Call>
  static std::string thrown(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(name_of(error.code())) + "/" + std::string(error.reason());
    }
    return "";
  }

 private:
  std::unique_ptr<StoreUnderTest> under_test_;
  blob::BlobStore* store_ = nullptr;
};

constexpr const char* kInvalid = "invalid_argument/invalid_argument";
constexpr const char* kCorrupt = "data_loss/object_corrupt";
constexpr const char* kSourceChanged = "gone/source_changed";
constexpr const char* kFaultInjected = "unavailable/unavailable";

TEST_P(BlobStoreContract, ReadsBackWhatWasWritten) {
  constexpr size_t kMiB = 1024 * 1024;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, 8 * kMiB + 1, 40 * kMiB}) {
    const std::string key = "data/size-" + std::to_string(size);
    const std::string bytes = patterned_bytes(size);
    ASSERT_TRUE(put(store(), key, bytes));
    const auto stat = store().stat(key);
    ASSERT_TRUE(stat.has_value());
    EXPECT_EQ(stat->key, key);
    EXPECT_EQ(stat->size_bytes, size);
    EXPECT_FALSE(stat->etag.empty());
    EXPECT_TRUE(get(store(), key) == bytes) << size;
  }
}

TEST_P(BlobStoreContract, ManySmallAndOneLargeWriteMakeTheSameObject) {
  const std::string bytes = patterned_bytes(5'000'000);
  const auto writer = store().create("k", std::nullopt);
  size_t at = 0;
  for (size_t step = 1; at < bytes.size(); step = step * 3 + 1) {
    writer->write(std::string_view(bytes).substr(at, step));
    at += step;
  }
  ASSERT_TRUE(writer->finish());
  EXPECT_TRUE(get(store(), "k") == bytes);
}

TEST_P(BlobStoreContract, StampsTheTimeOfWriting) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t before_s = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  ASSERT_TRUE(put(store(), "k", "v"));
  const int64_t written_s = store().stat("k")->mtime_ns / 1'000'000'000;
  EXPECT_GE(written_s, before_s - 2);
  EXPECT_LE(written_s, before_s + 60);
}

TEST_P(BlobStoreContract, AnswersNothingForAbsentKeys) {
  ASSERT_TRUE(put(store(), "a/b", "v"));
  for (const char* key : {"absent", "a", "a/b2", "a/c/d", "b/c"}) {
    EXPECT_EQ(store().stat(key), std::nullopt) << key;
    EXPECT_EQ(store().open(key, {.offset = 0, .length = 1}), nullptr) << key;
  }
}

TEST_P(BlobStoreContract, RefusesKeysItCannotHold) {
  std::vector<std::string> keys = {"", std::string("a\0b", 3), std::string("\0", 1)};
  if (traits().pathless_keys == PathlessKeys::kRefused) {
    for (const char* key :
         {"/a", "a/", "a//b", ".", "..", "./a", "../a", "a/..", "a/../b", "a/./b"}) {
      keys.push_back(key);
    }
  }
  for (const std::string& key : keys) {
    EXPECT_EQ(thrown([&] { store().create(key, 1); }), kInvalid) << key;
    EXPECT_EQ(thrown([&] { store().stat(key); }), kInvalid) << key;
    EXPECT_EQ(thrown([&] { store().open(key, {}); }), kInvalid) << key;
    EXPECT_EQ(thrown([&] { store().remove(key); }), kInvalid) << key;
  }
  EXPECT_EQ(list_keys(store()), std::vector<std::string>{});
}

TEST_P(BlobStoreContract, ReadsRangesAtAllEdges) {
  const std::string bytes = patterned_bytes(100'000);
  ASSERT_TRUE(put(store(), "k", bytes));
  const uint64_t size = bytes.size();
  const std::vector<std::pair<uint64_t, uint64_t>> ranges = {
      {0, 0},        {0, 1},     {0, size}, {1, size - 1},
      {size - 1, 1}, {size, 0},  {4095, 2}, {size / 2, 65'537 % (size / 2)},
      {size / 2, 0}, {65'536, 1}};
  for (const auto& [offset, length] : ranges) {
    EXPECT_TRUE(get_range(store(), "k", {.offset = offset, .length = length}) ==
                bytes.substr(offset, length))
        << offset << "+" << length;
  }
  constexpr uint64_t kHuge = ~uint64_t{0};
  const std::vector<std::pair<uint64_t, uint64_t>> outside = {
      {0, size + 1},     {1, size},  {size, 1},     {size + 1, 0},
      {size - 1, kHuge}, {kHuge, 1}, {kHuge, kHuge}};
  for (const auto& one : outside) {
    const blob::ByteRange range{.offset = one.first, .length = one.second};
    EXPECT_EQ(thrown([&] { get_range(store(), "k", range); }), kCorrupt)
        << range.offset << "+" << range.length;
  }
}

TEST_P(BlobStoreContract, EmptyObjectHasOneEmptyRange) {
  ASSERT_TRUE(put(store(), "k", ""));
  EXPECT_EQ(get_range(store(), "k", {.offset = 0, .length = 0}), "");
  EXPECT_EQ(thrown([&] { get_range(store(), "k", {.offset = 0, .length = 1}); }), kCorrupt);
}

TEST_P(BlobStoreContract, ReadsInPiecesOfAnySize) {
  const std::string bytes = patterned_bytes(70'000);
  ASSERT_TRUE(put(store(), "k", bytes));
  const auto reader = store().open("k", {.offset = 3, .length = 60'000});
  ASSERT_NE(reader, nullptr);
  std::string got;
  std::string piece(9'973, '\0');
  for (size_t wanted = 1; const size_t count = reader->read(std::span(piece).first(wanted));) {
    ASSERT_LE(count, wanted);
    got.append(piece, 0, count);
    wanted = std::min(wanted * 2, piece.size());
  }
  EXPECT_TRUE(got == bytes.substr(3, 60'000));
}

TEST_P(BlobStoreContract, RefusesTheSecondCreationOfAKey) {
  ASSERT_TRUE(put(store(), "k", "first"));
  EXPECT_FALSE(put(store(), "k", "second, and longer"));
  EXPECT_FALSE(put(store(), "k", patterned_bytes(20'000'000)));
  EXPECT_EQ(get(store(), "k"), "first");
}

TEST_P(BlobStoreContract, OfManyRacersExactlyOneWins) {
  if (!traits().create_is_exclusive)
    GTEST_SKIP() << "the server behind this store decides a race late";
  constexpr int kRacers = 64;
  std::atomic<int> winners = 0;
  std::atomic<int> winner = -1;
  std::barrier start(kRacers);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kRacers; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        if (put(store(), "race", "racer " + std::to_string(i))) {
          ++winners;
          winner = i;
        }
      });
    }
  }
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(get(store(), "race"), "racer " + std::to_string(winner));
}

TEST_P(BlobStoreContract, NothingIsVisibleBeforeFinish) {
  const std::string bytes = patterned_bytes(20'000'000);
  std::vector<std::string> finished;
  for (const auto size_hint : {std::optional<uint64_t>(), std::optional<uint64_t>(bytes.size())}) {
    const std::string key = size_hint ? "dir/known" : "dir/k";
    const auto writer = store().create(key, size_hint);
    write_in_pieces(*writer, bytes);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(50));  // bytes that are sent outside the store's API arrive
    EXPECT_EQ(store().stat(key), std::nullopt);
    EXPECT_EQ(store().open(key, {}), nullptr);
    EXPECT_EQ(list_keys(store()), finished);
    EXPECT_EQ(walk_keys(store()), finished);
    ASSERT_TRUE(writer->finish());
    finished.push_back(key);
    EXPECT_EQ(list_keys(store()), finished);
    EXPECT_TRUE(get(store(), key) == bytes);
  }
}

TEST_P(BlobStoreContract, SizeHintMayBeWrong) {
  const std::string bytes = patterned_bytes(3'000'000);
  for (const uint64_t hint :
       std::initializer_list<uint64_t>{0, 1'000, 2'000'000, 2'999'999, 3'000'001, 9'000'000}) {
    const std::string key = "hint/" + std::to_string(hint);
    const auto writer = store().create(key, hint);
    write_in_pieces(*writer, bytes);
    ASSERT_TRUE(writer->finish()) << hint;
    EXPECT_TRUE(get(store(), key) == bytes) << hint;
  }
}

TEST_P(BlobStoreContract, AbandonedWriterLeavesNothing) {
  for (const size_t size : std::initializer_list<size_t>{0, 10, 20'000'000}) {
    const auto writer = store().create("dir/k", size);
    write_in_pieces(*writer, patterned_bytes(size));
  }
  EXPECT_EQ(store().stat("dir/k"), std::nullopt);
  EXPECT_EQ(list_keys(store()), std::vector<std::string>{});
  EXPECT_TRUE(put(store(), "dir/k", "v"));
  EXPECT_TRUE(get(store(), "dir/k") == "v");
}

TEST_P(BlobStoreContract, TellsAChangedSourceFromAnAbsentOne) {
  ASSERT_TRUE(put(store(), "k", "one"));
  const std::string etag = store().stat("k")->etag;
  EXPECT_EQ(get_range(store(), "k", {.offset = 0, .length = 3}, etag), "one");
  EXPECT_EQ(get_range(store(), "k", {.offset = 3, .length = 0}, etag), "");
  store().remove("k");
  EXPECT_EQ(store().open("k", {.offset = 0, .length = 3}, etag), nullptr);
  ASSERT_TRUE(put(store(), "k", "other"));
  EXPECT_EQ(thrown([&] { store().open("k", {.offset = 0, .length = 3}, etag); }), kSourceChanged);
  EXPECT_EQ(thrown([&] { store().open("k", {.offset = 0, .length = 0}, etag); }), kSourceChanged);
  // Shorter than recorded: the error must be about the change, not the range.
  EXPECT_EQ(thrown([&] { store().open("k", {.offset = 100, .length = 3}, etag); }), kSourceChanged);
}

TEST_P(BlobStoreContract, RemovesAndForgivesRemovingAgain) {
  ASSERT_TRUE(put(store(), "a/k", "v"));
  ASSERT_TRUE(put(store(), "a/k2", "v2"));
  store().remove("a/k");
  store().remove("a/k");
  store().remove("never/was");
  EXPECT_EQ(store().stat("a/k"), std::nullopt);
  EXPECT_EQ(list_keys(store()), std::vector<std::string>{"a/k2"});
  EXPECT_TRUE(put(store(), "a/k", "again"));
  EXPECT_EQ(get(store(), "a/k"), "again");
}

TEST_P(BlobStoreContract, RemovesManyAtOnce) {
  std::vector<std::string> keys = {"never/was", "a b/c+%&<>\"'", "\xc3\xbc/\xe6\xbc\xa2"};
  for (size_t i = 0; keys.size() < blob::kRemovedAtOnceMax; ++i)
    keys.push_back("d/" + std::to_string(i));
  for (size_t i = 1; i < 40; ++i) ASSERT_TRUE(put(store(), keys[i], "v"));
  ASSERT_TRUE(put(store(), "kept", "v"));
  EXPECT_EQ(store().remove_all(keys).size(), 0u);
  EXPECT_EQ(list_keys(store()), std::vector<std::string>{"kept"});
  EXPECT_EQ(store().remove_all(keys).size(), 0u);
  EXPECT_EQ(store().remove_all({}).size(), 0u);
}

TEST_P(BlobStoreContract, HoldsOddKeysUnchanged) {
  std::vector<std::string> keys = {"a b/c  d",
                                   "a+b",
                                   "a%20b",
                                   "100%",
                                   "%2F",
                                   "%",
                                   "x&y=z;q?r#s",
                                   "q'\"<>&amp;",
                                   "~tilde-._",
                                   "(a)[b]{c}!*$@:,",
                                   "\xc3\xbc/\xe6\xbc\xa2\xe5\xad\x97",
                                   "e\xcc\x81",
                                   "\xf0\x9f\x90\x9f",
                                   "...",
                                   ".hidden",
                                   "a..b/..c",
                                   "back\\slash",
                                   "a|b^c`d"};
  if (traits().pathless_keys == PathlessKeys::kHeld) {
    for (const char* key : {"n//m", "/a", "t/", "./p", "../p", "//"}) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) ASSERT_TRUE(put(store(), key, "bytes of " + key)) << key;
  for (const std::string& key : keys) EXPECT_EQ(get(store(), key), "bytes of " + key) << key;
  EXPECT_EQ(list_keys(store()), keys);
  EXPECT_EQ(list_keys(store(), "", "", 1), keys);
  EXPECT_EQ(walk_keys(store()), keys);
  for (const std::string& key : keys) {
    EXPECT_THAT(list_keys(store(), key), ::testing::Contains(key));
    store().remove(key);
  }
  EXPECT_EQ(list_keys(store()), std::vector<std::string>{});
}

/// Sorted keys that match a prefix: the expected result of list and walk.
inline std::vector<std::string> filtered(const std::vector<std::string>& sorted,
                                         const std::string& prefix, const std::string& after) {
  std::vector<std::string> out;
  for (const std::string& key : sorted) {
    if (key.starts_with(prefix) && key > after) out.push_back(key);
  }
  return out;
}

TEST_P(BlobStoreContract, ListsByPrefixAndAfterInByteOrder) {
  std::vector<std::string> keys = {"a-b",
                                   "a-b/c",
                                   "a.txt",
                                   "a/b",
                                   "a/b-c",
                                   "a/c/d/e",
                                   "a/c/d0",
                                   "a/c0",
                                   "a0",
                                   "aa/b",
                                   "b",
                                   "b+/x",
                                   "c/d",
                                   "c0/d",
                                   "\xc3\xbc",
                                   "\xc3\xbc"
                                   "/1",
                                   "z z/1",
                                   "z/1"};
  if (!traits().holds_key_below_key)
    std::erase_if(keys, [](const auto& k) { return k == "a-b" || k == "\xc3\xbc"; });
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) ASSERT_TRUE(put(store(), key, key));
  std::vector<std::string> probes = {
      "",   "a",  "a-", "a/", "a/b", "a/c", "a/c/", "a/c/d", "a/c/d/", "a/c/d/e", "a/c/d/z", "a/z",
      "a0", "aa", "c",  "c0", "x",   "z",   "z ",   "zz",    "\xff",   "a//",     "a/c/./",  "../"};
  for (const std::string& prefix : probes) {
    EXPECT_EQ(list_keys(store(), prefix), filtered(keys, prefix, "")) << prefix;
    // 72 listings of a faulty store are enough, as what they return is that of the other case.
    const size_t step = traits().is_faulty ? 8 : 1;
    for (size_t at = 0; at < probes.size(); at += step) {
      const std::string& after = probes[at];
      const auto expected = filtered(keys, prefix, after);
      ASSERT_EQ(list_keys(store(), prefix, after, 2), expected) << prefix << " after " << after;
      ASSERT_EQ(walk_keys(store(), prefix, after), expected) << prefix << " after " << after;
    }
  }
}

TEST_P(BlobStoreContract, PagesAreFullAndTellWhetherMoreFollows) {
  for (const char* key : {"p/1", "p/2", "p/3", "q/1"}) ASSERT_TRUE(put(store(), key, "v"));
  const auto page = store().list("p/", "", 3);
  EXPECT_EQ(page.items.size(), 3u);
  EXPECT_FALSE(page.has_more);
  const auto shorter = store().list("p/", "p/1", 1);
  ASSERT_EQ(shorter.items.size(), 1u);
  EXPECT_EQ(shorter.items[0].key, "p/2");
  EXPECT_TRUE(shorter.has_more);
  EXPECT_EQ(thrown([&] { store().list("", "", 0); }), kInvalid);
  EXPECT_EQ(thrown([&] { store().list("", "", 1001); }), kInvalid);
}

TEST_P(BlobStoreContract, ListedStatsEqualThoseOfStat) {
  ASSERT_TRUE(put(store(), "d/a", "1"));
  ASSERT_TRUE(put(store(), "d/b", "22"));
  for (const blob::BlobStat& listed : store().list("", "", 10).items) {
    const auto stat = store().stat(listed.key);
    ASSERT_TRUE(stat.has_value());
    EXPECT_EQ(listed.size_bytes, stat->size_bytes);
    EXPECT_EQ(listed.etag, stat->etag);
    EXPECT_EQ(listed.mtime_ns / 1'000'000'000, stat->mtime_ns / 1'000'000'000);
  }
}

TEST_P(BlobStoreContract, PagesSeeWhatWasWrittenMeanwhile) {
  for (const char* key : {"m/a", "m/c", "m/e"}) ASSERT_TRUE(put(store(), key, "v"));
  ASSERT_EQ(store().list("m/", "", 1).items[0].key, "m/a");
  ASSERT_TRUE(put(store(), "m/b", "v"));
  store().remove("m/c");
  EXPECT_EQ(list_keys(store(), "m/", "m/a"), (std::vector<std::string>{"m/b", "m/e"}));
}

TEST_P(BlobStoreContract, WalkStopsWhenToldTo) {
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(put(store(), "w/" + std::to_string(i), "v"));
  std::vector<std::string> seen;
  store().walk("w/", "w/1", [&](const blob::BlobStat& item) {
    seen.push_back(item.key);
    return seen.size() < 3;
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"w/2", "w/3", "w/4"}));
}

TEST_P(BlobStoreContract, ServesConcurrentReadersAndWriters) {
  constexpr int kThreads = 8;
  constexpr int kObjectsEach = 12;
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kObjectsEach; ++i) {
          const std::string key =
              "s" + std::to_string(i % 3) + "/" + std::to_string(t) + "-" + std::to_string(i);
          const std::string bytes =
              patterned_bytes(10'000 + static_cast<size_t>(t), static_cast<uint64_t>(i + 1));
          if (!put(store(), key, bytes) || get(store(), key) != bytes) ++wrong;
          if (store().list("s" + std::to_string(t % 3), "", 10).items.size() > 10) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(list_keys(store(), "", "", 7).size(), static_cast<size_t>(kThreads * kObjectsEach));
}

/// After any call that fails or loses its response, the object is absent or complete, and a retry
/// succeeds.
TEST_P(BlobStoreContract, AFaultLeavesAnObjectAbsentOrWhole) {
  const std::string bytes = patterned_bytes(600'000);
  for (const Fault fault : {Fault::kFails, Fault::kLosesAnswer}) {
    FaultyStore faulty(store());
    bool failed = true;
    for (uint64_t call = 1; failed; ++call) {
      const std::string key =
          "f" + std::to_string(static_cast<int>(fault)) + "/" + std::to_string(call);
      faulty.fail_call(call, fault);
      bool created = false;
      const std::string error = thrown([&] { created = put(faulty, key, bytes); });
      failed = !error.empty();
      EXPECT_EQ(error, failed ? kFaultInjected : "");
      const auto seen = get(store(), key);
      EXPECT_TRUE(seen == std::nullopt || seen == bytes) << call;
      EXPECT_EQ(put(store(), key, bytes), !seen.has_value()) << call;
      EXPECT_TRUE(get(store(), key) == bytes) << call;
      ASSERT_LT(call, 100u);
    }
  }
}

TEST_P(BlobStoreContract, AFaultWhileReadingIsNoShortRead) {
  const std::string bytes = patterned_bytes(600'000);
  ASSERT_TRUE(put(store(), "k", bytes));
  FaultyStore faulty(store());
  bool failed = true;
  for (uint64_t call = 1; failed; ++call) {
    faulty.fail_call(call, Fault::kFails);
    std::optional<std::string> seen;
    failed = !thrown([&] { seen = get(faulty, "k"); }).empty();
    EXPECT_TRUE(failed ? !seen.has_value() : seen == bytes);
    faulty.fail_call(0, Fault::kFails);
    EXPECT_TRUE(get(faulty, "k") == bytes);
    ASSERT_LT(call, 100u);
  }
}

}  // namespace tarn::testing
