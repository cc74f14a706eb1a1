#include "core/blob/s3_writer.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include <sys/mman.h>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/checks.h"
#include "core/blob/s3_answers.h"

namespace tarn::blob {
namespace {

constexpr const char* kMarkHeader = "x-amz-meta-tarn-writer";
constexpr size_t kMarkBytes = 16;
constexpr const char* kChecksumHeader = "x-amz-checksum-crc32c";
constexpr const char* kAlgorithmHeader = "x-amz-checksum-algorithm";
// If the size is unknown, parts grow by their initial size after every so many parts, which allows
// objects 55 times as large.
constexpr uint32_t kPartsOfOneSize = 1000;
// Memory for all bodies larger than a part: four of the largest.
constexpr uint64_t kLargeBodyBytesMax = 256 * 1024 * 1024;
std::atomic<uint64_t> large_body_bytes = 0;
// Truncated objects of our own, which a broken connection leaves on some servers.
constexpr int kBrokenFoundMax = 3;
// Limits the cleanup after a failure, while the caller waits for the error.
constexpr std::chrono::seconds kAbortDeadline{5};

/// Uses huge pages where available: filling 64 MiB for the first time takes 8 ms with them and 40
/// ms without.
void reserve(std::string& buffer, size_t bytes) {
  constexpr size_t kWorthwhileBytes = 4 * 1024 * 1024;
  constexpr uintptr_t kPageBytes = 4096;
  buffer.reserve(bytes);
  if (bytes < kWorthwhileBytes) return;
  const uintptr_t begin =
      (reinterpret_cast<uintptr_t>(buffer.data()) + kPageBytes - 1) & ~(kPageBytes - 1);
  ::madvise(reinterpret_cast<void*>(begin), bytes - kPageBytes, MADV_HUGEPAGE);  // only a hint
}

/// Servers that support it reject a body that was damaged or truncated in transit. At 10 GB/s it
/// costs nothing.
std::string crc32c_of(std::string_view body) {
  return to_base64(crc_digest(CrcKind::kCrc32c, crc_of(CrcKind::kCrc32c, body)));
}

}  // namespace

std::optional<LargeBodyLease> LargeBodyLease::take(uint64_t bytes) {
  if (large_body_bytes.fetch_add(bytes) + bytes <= kLargeBodyBytesMax) return LargeBodyLease(bytes);
  large_body_bytes -= bytes;
  return std::nullopt;
}

LargeBodyLease::~LargeBodyLease() { large_body_bytes -= bytes_; }

S3Writer::S3Writer(S3Bucket& bucket, std::string key, std::optional<uint64_t> size_hint)
    : bucket_(bucket),
      key_(std::move(key)),
      mark_(to_base32hex(random_bytes(kMarkBytes))),
      size_hint_(size_hint) {
  if (!size_hint_) return;
  const S3Options& options = bucket_.options();
  if (*size_hint_ > options.part_size_bytes && *size_hint_ <= options.single_put_bytes_max) {
    large_body_ = LargeBodyLease::take(*size_hint_);
  }
  reserve(buffer_, static_cast<size_t>(std::min(*size_hint_, part_bytes())));
}

S3Writer::~S3Writer() {
  if (done_) return;
  cancelled_ = true;
  parts_.clear();  // waits for them
  if (!upload_id_.empty()) abort_upload();
}

uint64_t S3Writer::part_bytes() const {
  if (large_body_ && parts_begun_ == 0) return *size_hint_;
  const uint64_t configured = bucket_.options().part_size_bytes;
  const uint64_t hinted = size_hint_ ? *size_hint_ / (kS3PartsMax - 1) + 1 : 0;
  return std::max(configured, hinted) * (1 + parts_begun_ / kPartsOfOneSize);
}

void S3Writer::write(std::string_view bytes) {
  written_bytes_ += bytes.size();
  while (!bytes.empty() && !exists_) {
    const uint64_t limit = part_bytes();
    if (buffer_.size() == limit) {  // and more bytes follow: the last part is never empty
      start_part();
      continue;
    }
    const size_t taken =
        static_cast<size_t>(std::min<uint64_t>(bytes.size(), limit - buffer_.size()));
    buffer_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
  }
}

bool S3Writer::finish() {
  bool created = false;
  if (!exists_ && upload_id_.empty()) {
    created = put_whole();
  } else if (!exists_) {
    start_part();
    while (!parts_.empty()) collect_oldest_part();
    created = complete_upload();
    if (!created) abort_upload();
  }
  done_ = true;
  return created;
}

void S3Writer::add_condition(S3Request& request) const {
  if (bucket_.conditional_writes()) request.headers.add("If-None-Match", "*");
}

bool S3Writer::put_whole() {
  S3Request request{.operation = "put", .method = "PUT", .key = key_, .body = buffer_};
  request.headers.add(kMarkHeader, mark_);
  request.headers.add(kChecksumHeader, crc32c_of(buffer_));
  while (true) {
    request.headers.remove("If-None-Match");
    add_condition(request);
    const bool looks_first = !bucket_.conditional_writes();
    const auto created =
        looks_first && look().ok() ? is_ours() : outcome(request, bucket_.send(request));
    if (created) return *created;
  }
}

/// nullopt: retry, because the server rejects conditions, or because a truncated object of ours was
/// in the way.
std::optional<bool> S3Writer::outcome(const S3Request& request, const S3Answer& answer) {
  if (answer.status == 412) return is_ours();
  const bool conditional = request.headers.find("If-None-Match") != nullptr;
  if (conditional &&
      (answer.status == 501 || parse_failure(answer.body).code == "NotImplemented")) {
    bucket_.forget_conditional_writes();
    return std::nullopt;
  }
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  return true;
}

S3Answer S3Writer::look() const {
  const S3Request request{.operation = "head", .method = "HEAD", .key = key_};
  S3Answer answer = bucket_.send(request);
  if (!answer.ok() && answer.status != 404) bucket_.throw_answer(request, answer);
  return answer;
}

/// Whether the existing object comes from an earlier attempt of this writer. nullopt: it did, but
/// was truncated and has been removed.
std::optional<bool> S3Writer::is_ours() {
  const S3Answer answer = look();
  if (!answer.ok() || answer.headers.get(kMarkHeader) != mark_) return false;
  if (answer.headers.get("Content-Length") == std::to_string(written_bytes_)) return true;
  if (++broken_found_ > kBrokenFoundMax) {
    throw Error(ErrorCode::kUnavailable,
                str_cat("writing object ", shown(key_), ": the store keeps cutting it short"));
  }
  bucket_.send({.operation = "delete", .method = "DELETE", .key = key_});
  return std::nullopt;
}

void S3Writer::begin_upload() {
  exists_ = look().ok();  // one small request before many large ones
  if (exists_) return buffer_.clear();
  S3Request request{
      .operation = "create_upload", .method = "POST", .key = key_, .query = {{"uploads", ""}}};
  request.headers.add(kMarkHeader, mark_);
  checks_parts_ = bucket_.part_checksums();
  if (checks_parts_) request.headers.add(kAlgorithmHeader, "CRC32C");
  S3Answer answer = bucket_.send(request);
  if (checks_parts_ && (answer.status == 400 || answer.status == 501)) {
    checks_parts_ = false;
    request.headers.remove(kAlgorithmHeader);
    answer = bucket_.send(request);
    // Otherwise the refusal was about something else, such as an expired token.
    if (answer.ok()) bucket_.forget_part_checksums();
  }
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  upload_id_ = parse_upload_id(answer.body);
}

void S3Writer::start_part() {
  if (upload_id_.empty()) begin_upload();
  if (exists_) return;
  if (parts_begun_ == kS3PartsMax) {
    throw Error(
        ErrorCode::kResourceExhausted, reason::kObjectTooLarge,
        str_cat("writing object ", shown(key_), ": it has more than ", kS3PartsMax, " parts"));
  }
  while (parts_.size() >= bucket_.options().parts_in_flight) collect_oldest_part();
  auto part = std::make_unique<Part>();
  part->number = ++parts_begun_;
  part->bytes = std::exchange(buffer_, std::exchange(spare_, {}));
  part->upload = std::jthread([this, raw = part.get()] {
    try {
      upload_part(*raw);
    } catch (...) {
      raw->error = std::current_exception();
    }
  });
  parts_.push_back(std::move(part));
}

void S3Writer::upload_part(Part& part) const {
  S3Request request{
      .operation = "upload_part",
      .method = "PUT",
      .key = key_,
      .query = {{"partNumber", std::to_string(part.number)}, {"uploadId", upload_id_}},
      .body = part.bytes,
      .cancelled = &cancelled_};
  if (checks_parts_) request.headers.add(kChecksumHeader, crc32c_of(part.bytes));
  const S3Answer answer = bucket_.send(request);
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  part.etag = answer.headers.get("ETag");
  if (checks_parts_) part.crc32c = answer.headers.get(kChecksumHeader);
}

void S3Writer::collect_oldest_part() {
  const std::unique_ptr<Part> part = std::move(parts_.front());
  parts_.pop_front();
  part->upload.join();
  if (part->error) std::rethrow_exception(part->error);
  // ETags of servers need only quotes escaped, but they come from outside, so reject the rest.
  if (str_cat(part->etag, part->crc32c).find_first_of("<>&") != std::string::npos) {
    throw Error(ErrorCode::kUnavailable,
                str_cat("writing object ", shown(key_), ": the store sent a broken ETag"));
  }
  parts_list_ +=
      str_cat("<Part><PartNumber>", part->number, "</PartNumber><ETag>", part->etag, "</ETag>");
  // A server that compares checksums of parts wants them again. Source: AWS S3
  // CompleteMultipartUpload.
  if (!part->crc32c.empty())
    parts_list_ += str_cat("<ChecksumCRC32C>", part->crc32c, "</ChecksumCRC32C>");
  parts_list_ += "</Part>";
  spare_ = std::move(part->bytes);
  spare_.clear();
}

bool S3Writer::complete_upload() {
  const std::string body =
      str_cat("<CompleteMultipartUpload>", parts_list_, "</CompleteMultipartUpload>");
  while (true) {
    const S3Request request = complete_request(body);
    S3Answer answer = bucket_.send(request);
    const S3Failure failure = parse_failure(answer.body);
    // Check whether an earlier attempt, whose response was lost, has completed the upload.
    if (failure.code == "NoSuchUpload" && is_ours().value_or(false)) return true;
    // The server sends the status before the completion; errors are in the body. Source: AWS S3
    // CompleteMultipartUpload.
    if (answer.ok() && !failure.code.empty()) answer.status = 500;
    if (const auto created = outcome(request, answer)) return *created;
  }
}

S3Request S3Writer::complete_request(std::string_view body) const {
  S3Request request{.operation = "complete_upload",
                    .method = "POST",
                    .key = key_,
                    .query = {{"uploadId", upload_id_}},
                    .body = body};
  request.headers.add("Content-Type", "application/xml");
  add_condition(request);
  return request;
}

void S3Writer::abort_upload() noexcept {
  try {
    bucket_.send({.operation = "abort_upload",
                  .method = "DELETE",
                  .key = key_,
                  .query = {{"uploadId", upload_id_}},
                  .total_deadline = kAbortDeadline});
  } catch (const std::exception& error) {  // remove_unfinished finds it later
    log::warn("store_upload_left_behind", {{"key", key_}, {"error", error.what()}});
  }
}

}  // namespace tarn::blob
