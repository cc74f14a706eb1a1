// A cache of a store that counts what is asked of it and may answer wrongly, for tests.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/blob/cached_store.h"
#include "tests/support/blob_objects.h"
#include "tests/support/forwarding_store.h"
#include "tests/support/memory_store_fixture.h"
#include "tests/support/temporary_directory.h"

namespace tarn::testing {

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
  /// Reads an object that others may replace.
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

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> out;
    for (const auto& at : std::filesystem::recursive_directory_iterator(place_)) {
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

}  // namespace tarn::testing
