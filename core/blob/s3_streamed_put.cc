#include "core/blob/s3_streamed_put.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace tarn::blob {
namespace {

// Of all bodies in memory: four of the largest.
constexpr uint64_t kMemoryBytesMax = 256 * 1024 * 1024;
std::atomic<uint64_t> memory_bytes = 0;

bool reserve(uint64_t bytes) {
  if (memory_bytes.fetch_add(bytes) + bytes <= kMemoryBytesMax) return true;
  memory_bytes -= bytes;
  return false;
}

}  // namespace

std::unique_ptr<S3StreamedPut> S3StreamedPut::begin(S3Bucket& bucket, S3Request request,
                                                    uint64_t body_bytes) {
  if (!reserve(body_bytes)) return nullptr;
  return std::unique_ptr<S3StreamedPut>(new S3StreamedPut(bucket, std::move(request), body_bytes));
}

S3StreamedPut::S3StreamedPut(S3Bucket& bucket, S3Request request, uint64_t body_bytes)
    : bucket_(bucket),
      body_bytes_(body_bytes),
      memory_(std::make_unique_for_overwrite<char[]>(body_bytes)),
      request_(std::move(request)) {
  request_.retries_max = 0;
  request_.upload = [this](uint64_t offset, std::span<char> out) { return copy(offset, out); };
  request_.upload_bytes = body_bytes_;
  sending_ = std::jthread([this] { send(); });
}

S3StreamedPut::~S3StreamedPut() {
  cancel();
  if (sending_.joinable()) sending_.join();
  memory_bytes -= body_bytes_;
}

void S3StreamedPut::send() {
  try {
    answer_ = bucket_.send(request_);
  } catch (...) {
    error_ = std::current_exception();
  }
}

void S3StreamedPut::cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

bool S3StreamedPut::append(std::string_view bytes) {
  if (bytes.size() > body_bytes_ - written_bytes_) return false;
  std::memcpy(memory_.get() + written_bytes_, bytes.data(), bytes.size());
  written_bytes_ += bytes.size();
  MutexLock lock(mutex_);
  // The last byte would make the object: it waits for finish().
  readable_bytes_ = std::min(written_bytes_, body_bytes_ - 1);
  changed_.notify_all();
  return true;
}

/// On the sending thread: as much as there is, waiting for the first byte.
size_t S3StreamedPut::copy(uint64_t offset, std::span<char> out) {
  if (offset >= body_bytes_) return 0;
  MutexLock lock(mutex_);
  // No deadline of its own: the writer's end, whatever it is, ends the wait.
  while (!cancelled_ && readable_bytes_ <= offset) changed_.wait(lock);
  if (cancelled_) throw Error(ErrorCode::kUnavailable, "uploading: the writer stopped");
  const size_t count =
      static_cast<size_t>(std::min<uint64_t>(out.size(), readable_bytes_ - offset));
  lock.unlock();
  std::memcpy(out.data(), memory_.get() + offset, count);
  lock.lock();
  return count;
}

std::optional<S3Answer> S3StreamedPut::finish() {
  if (written_bytes_ < body_bytes_) {
    cancel();
  } else {
    MutexLock lock(mutex_);
    readable_bytes_ = body_bytes_;
    changed_.notify_all();
  }
  sending_.join();
  if (!error_) return std::move(answer_);
  try {
    std::rethrow_exception(error_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
  }
  return std::nullopt;
}

}  // namespace tarn::blob
