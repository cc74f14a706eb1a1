// One PUT that is under way while its body is still being written.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include "core/base/mutex.h"
#include "core/blob/s3_bucket.h"

namespace tarn::blob {

/// Many servers put the parts of an upload together by copying them, so an object of moderate size
/// is better sent whole; and sending it while it arrives costs no more time than receiving it. The
/// body stays in memory until the end: what fails on the way is sent again from there. One thread
/// at a time.
class S3StreamedPut {
 public:
  /// `request` has no body; it is sent once. `body_bytes` is not 0. nullptr = all such PUTs of the
  /// process hold too much memory already.
  static std::unique_ptr<S3StreamedPut> begin(S3Bucket& bucket, S3Request request,
                                              uint64_t body_bytes);
  /// Cuts the request when its answer was not waited for: the server then creates nothing.
  ~S3StreamedPut();

  /// false = this is more than was announced, nothing was taken.
  [[nodiscard]] bool append(std::string_view bytes);
  /// What was appended so far.
  std::string_view body() const { return {memory_.get(), written_bytes_}; }
  /// Nothing: the body is shorter than announced, or it did not arrive. Throws what sending again
  /// would not cure.
  std::optional<S3Answer> finish();
  const S3Request& request() const { return request_; }

 private:
  S3StreamedPut(S3Bucket& bucket, S3Request request, uint64_t body_bytes);

  void send();
  void cancel();
  size_t copy(uint64_t offset, std::span<char> out);

  // Constant after construction.
  S3Bucket& bucket_;
  const uint64_t body_bytes_;
  const std::unique_ptr<char[]> memory_;
  S3Request request_;

  uint64_t written_bytes_ = 0;      // of the writing thread
  std::optional<S3Answer> answer_;  // of the sending thread until it is joined
  std::exception_ptr error_;

  Mutex mutex_;
  CondVar changed_;
  uint64_t readable_bytes_ TARN_GUARDED_BY(mutex_) = 0;
  bool cancelled_ TARN_GUARDED_BY(mutex_) = false;
  std::jthread sending_;
};

}  // namespace tarn::blob
