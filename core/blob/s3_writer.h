// A writer of one object of an S3-compatible store.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/blob/blob_store.h"
#include "core/blob/s3_bucket.h"

namespace tarn::blob {

/// Memory of bodies larger than a part, counted over all writers of the process.
class LargeBodyLease {
 public:
  /// Nothing: too much is in use.
  static std::optional<LargeBodyLease> take(uint64_t bytes);
  ~LargeBodyLease();
  LargeBodyLease(LargeBodyLease&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  LargeBodyLease& operator=(LargeBodyLease&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }

 private:
  explicit LargeBodyLease(uint64_t bytes) : bytes_(bytes) {}
  uint64_t bytes_;
};

/// An object of moderate known size is one PUT when it is finished: many servers put the parts of
/// an upload together by copying them. Others go in parts while they arrive, a few at a time.
///
/// Creation is exclusive by If-None-Match where the server can; elsewhere the writer looks first,
/// which is enough because keys are never used twice on purpose. Every object carries its writer's
/// random mark, so that an answer "exists already" to a repeated request can be recognised as our
/// own success.
class S3Writer final : public BlobWriter {
 public:
  /// `key` is whole. `bucket` outlives the writer.
  S3Writer(S3Bucket& bucket, std::string key, std::optional<uint64_t> size_hint);
  ~S3Writer() override;

  void write(std::string_view bytes) override;
  bool finish() override;

 private:
  struct Part {
    uint32_t number = 0;
    std::string bytes;
    std::string etag;
    std::string crc32c;  ///< base64, "" unless the server has compared it
    std::exception_ptr error;
    std::jthread upload;
  };

  uint64_t part_bytes() const;
  void begin_upload();
  void start_part();
  void upload_part(Part& part) const;
  void collect_oldest_part();
  bool put_whole();
  bool complete_upload();
  S3Request complete_request(std::string_view body) const;
  std::optional<bool> outcome(const S3Request& request, const S3Answer& answer);
  std::optional<bool> is_ours();
  S3Answer look() const;
  void add_condition(S3Request& request) const;
  void abort_upload() noexcept;

  S3Bucket& bucket_;
  const std::string key_;
  const std::string mark_;
  const std::optional<uint64_t> size_hint_;

  std::optional<LargeBodyLease> large_body_;  // the first part may be as large as the hint
  uint64_t written_bytes_ = 0;
  int broken_found_ = 0;
  std::string buffer_;
  std::string spare_;      // of a part that is done: its memory is used again
  std::string upload_id_;  // "" until the first part
  bool checks_parts_ = false;
  std::string parts_list_;  // XML of those that are done
  uint32_t parts_begun_ = 0;
  bool exists_ = false;  // written bytes are discarded
  bool done_ = false;
  std::atomic<bool> cancelled_ = false;
  std::deque<std::unique_ptr<Part>> parts_;  // in flight, the oldest first
};

}  // namespace tarn::blob
