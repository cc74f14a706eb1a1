// A store whose n-th call fails, or succeeds and loses its response.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/error.h"
#include "core/blob/blob_store.h"

namespace tarn::testing {

enum class Fault {
  kFails,       ///< nothing is done, unavailable is thrown
  kLosesAnswer  ///< everything is done, unavailable is thrown
};

/// Forwards every call. Counts calls of the store, its writers and its readers together, from 1;
/// the call chosen by `fail_call` fails, once. Safe from any thread.
class FaultyStore final : public blob::BlobStore {
 public:
  explicit FaultyStore(blob::BlobStore& store) : store_(store) {}

  /// Resets the count.
  void fail_call(uint64_t number, Fault fault) {
    calls_ = 0;
    fault_ = fault;
    failing_ = number;
  }
  uint64_t calls() const { return calls_; }

  std::unique_ptr<blob::BlobWriter> create(std::string_view key,
                                           std::optional<uint64_t> size_hint) override {
    auto writer = pass([&] { return store_.create(key, size_hint); });
    return std::make_unique<Writer>(*this, std::move(writer));
  }
  std::optional<blob::BlobStat> stat(std::string_view key) override {
    return pass([&] { return store_.stat(key); });
  }
  std::unique_ptr<blob::BlobReader> open(std::string_view key, blob::ByteRange range,
                                         std::string_view if_etag) override {
    auto reader = pass([&] { return store_.open(key, range, if_etag); });
    if (!reader) return nullptr;
    return std::make_unique<Reader>(*this, std::move(reader));
  }
  blob::ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override {
    return pass([&] { return store_.list(prefix, after, limit); });
  }
  void remove(std::string_view key) override {
    pass([&] { return store_.remove(key), 0; });
  }
  std::vector<blob::RemovalFailure> remove_all(std::span<const std::string> keys) override {
    return pass([&] { return store_.remove_all(keys); });
  }
  uint64_t remove_unfinished(std::string_view prefix, Instant begun_before) override {
    return pass([&] { return store_.remove_unfinished(prefix, begun_before); });
  }

 private:
  template <typename Call>
  std::invoke_result_t<Call> pass(const Call& call) {
    const bool fails = ++calls_ == failing_;
    if (fails && fault_ == Fault::kFails) throw_fault();
    auto answer = call();
    if (fails) throw_fault();
    return answer;
  }
  [[noreturn]] static void throw_fault() {
    throw Error(ErrorCode::kUnavailable, "calling the store: a fault was injected");
  }

  class Writer final : public blob::BlobWriter {
   public:
    Writer(FaultyStore& faulty, std::unique_ptr<blob::BlobWriter> writer)
        : faulty_(faulty), writer_(std::move(writer)) {}
    void write(std::string_view bytes) override {
      faulty_.pass([&] { return writer_->write(bytes), 0; });
    }
    bool finish() override {
      return faulty_.pass([&] { return writer_->finish(); });
    }

   private:
    FaultyStore& faulty_;
    std::unique_ptr<blob::BlobWriter> writer_;
  };

  class Reader final : public blob::BlobReader {
   public:
    Reader(FaultyStore& faulty, std::unique_ptr<blob::BlobReader> reader)
        : faulty_(faulty), reader_(std::move(reader)) {}
    size_t read(std::span<char> out) override {
      return faulty_.pass([&] { return reader_->read(out); });
    }
    int duplicate_fd() const override { return reader_->duplicate_fd(); }
    uint64_t file_offset() const override { return reader_->file_offset(); }

   private:
    FaultyStore& faulty_;
    std::unique_ptr<blob::BlobReader> reader_;
  };

  blob::BlobStore& store_;
  std::atomic<uint64_t> calls_ = 0;
  std::atomic<uint64_t> failing_ = 0;
  std::atomic<Fault> fault_ = Fault::kFails;
};

}  // namespace tarn::testing
