#include "core/blob/s3_writer.h"

#include <algorithm>
#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/blob/checks.h"
#include "core/blob/s3_answers.h"

namespace tarn::blob {
namespace {

constexpr const char* kMarkHeader = "x-amz-meta-tarn-writer";
constexpr size_t kMarkBytes = 16;
// Without a known size parts grow by their first size every so many, which makes room for 55 times
// more.
constexpr uint32_t kPartsOfOneSize = 1000;
// Smaller ones are there at once, and over plain HTTP their hash is signed.
constexpr uint64_t kStreamedBytesMin = 1024 * 1024 + 1;
// Of tidying up after a failure, which somebody waits to hear of.
constexpr std::chrono::seconds kAbortDeadline{5};

}  // namespace

S3Writer::S3Writer(S3Bucket& bucket, std::string key, std::optional<uint64_t> size_hint)
    : bucket_(bucket),
      key_(std::move(key)),
      mark_(to_base32hex(random_bytes(kMarkBytes))),
      size_hint_(size_hint) {
  if (size_hint_ && !is_streamable()) {
    buffer_.reserve(static_cast<size_t>(std::min(*size_hint_, part_bytes())));
  }
}

S3Writer::~S3Writer() {
  if (done_) return;
  cancelled_ = true;
  parts_.clear();  // waits for them
  if (!upload_id_.empty()) abort_upload();
}

uint64_t S3Writer::part_bytes() const {
  const uint64_t configured = bucket_.options().part_size_bytes;
  if (size_hint_) return std::max(configured, *size_hint_ / (kS3PartsMax - 1) + 1);
  return configured * (1 + parts_begun_ / kPartsOfOneSize);
}

void S3Writer::write(std::string_view bytes) {
  if (!streamed_ && is_streamable()) begin_streamed_put();
  if (streamed_) {
    if (streamed_->append(bytes)) return;
    // More than was announced: go on as with an object of unknown size.
    const std::string begun(streamed_->body());
    streamed_.reset();
    size_hint_.reset();
    write(begun);
  }
  while (!bytes.empty() && !exists_) {
    const uint64_t limit = part_bytes();
    if (buffer_.size() == limit) {  // and there is more: the last part is never empty
      start_part();
      continue;
    }
    const size_t taken =
        static_cast<size_t>(std::min<uint64_t>(bytes.size(), limit - buffer_.size()));
    buffer_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
  }
}

bool S3Writer::is_streamable() const {
  const bool is_first_write = buffer_.empty() && upload_id_.empty() && !exists_;
  return is_first_write && size_hint_ && *size_hint_ >= kStreamedBytesMin &&
         *size_hint_ <= bucket_.options().single_put_bytes_max && bucket_.conditional_writes();
}

void S3Writer::begin_streamed_put() {
  S3Request request{.operation = "put", .method = "PUT", .key = key_};
  request.headers.add(kMarkHeader, mark_);
  add_condition(request);
  streamed_ = S3StreamedPut::begin(bucket_, std::move(request), *size_hint_);
  if (!streamed_) buffer_.reserve(static_cast<size_t>(std::min(*size_hint_, part_bytes())));
}

bool S3Writer::finish_streamed_put() {
  if (const auto answer = streamed_->finish()) {
    if (const auto created = outcome(streamed_->request(), *answer)) return *created;
  }
  return put_whole(streamed_->body());
}

bool S3Writer::finish() {
  bool created = false;
  if (streamed_) {
    created = finish_streamed_put();
  } else if (!exists_ && upload_id_.empty()) {
    created = put_whole(buffer_);
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

bool S3Writer::put_whole(std::string_view body) {
  while (true) {
    if (!bucket_.conditional_writes() && exists()) return is_ours();
    S3Request request{.operation = "put", .method = "PUT", .key = key_, .body = body};
    request.headers.add(kMarkHeader, mark_);
    add_condition(request);
    if (const auto created = outcome(request, bucket_.send(request))) return *created;
  }
}

/// Nothing: try again, without the condition.
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

bool S3Writer::is_ours() {
  const S3Request request{.operation = "head", .method = "HEAD", .key = key_};
  const S3Answer answer = bucket_.send(request);
  if (!answer.ok() && answer.status != 404) bucket_.throw_answer(request, answer);
  return answer.ok() && answer.headers.get(kMarkHeader) == mark_;
}

bool S3Writer::exists() {
  const S3Request request{.operation = "head", .method = "HEAD", .key = key_};
  const S3Answer answer = bucket_.send(request);
  if (!answer.ok() && answer.status != 404) bucket_.throw_answer(request, answer);
  return answer.ok();
}

void S3Writer::begin_upload() {
  exists_ = exists();  // one small request before many large ones
  if (exists_) return buffer_.clear();
  S3Request request{
      .operation = "create_upload", .method = "POST", .key = key_, .query = {{"uploads", ""}}};
  request.headers.add(kMarkHeader, mark_);
  const S3Answer answer = bucket_.send(request);
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  upload_id_ = parse_upload_id(answer.body);
}

void S3Writer::start_part() {
  if (upload_id_.empty()) begin_upload();
  if (exists_) return;
  if (parts_begun_ == kS3PartsMax) {
    throw Error(
        ErrorCode::kResourceExhausted, "object_too_large",
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
  const S3Request request{
      .operation = "upload_part",
      .method = "PUT",
      .key = key_,
      .query = {{"partNumber", std::to_string(part.number)}, {"uploadId", upload_id_}},
      .body = part.bytes,
      .cancelled = &cancelled_};
  const S3Answer answer = bucket_.send(request);
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  part.etag = answer.headers.get("ETag");
}

void S3Writer::collect_oldest_part() {
  const std::unique_ptr<Part> part = std::move(parts_.front());
  parts_.pop_front();
  part->upload.join();
  if (part->error) std::rethrow_exception(part->error);
  etags_.push_back(part->etag);
  spare_ = std::move(part->bytes);
  spare_.clear();
}

bool S3Writer::complete_upload() {
  std::string body = "<CompleteMultipartUpload>";
  for (size_t i = 0; i < etags_.size(); ++i) {
    // Only a quote needs escaping in what servers send as an ETag; the header is theirs, so be
    // strict.
    if (etags_[i].find_first_of("<>&") != std::string::npos) {
      throw Error(ErrorCode::kUnavailable,
                  str_cat("writing object ", shown(key_), ": the store sent a broken ETag"));
    }
    body +=
        str_cat("<Part><PartNumber>", i + 1, "</PartNumber><ETag>", etags_[i], "</ETag></Part>");
  }
  body += "</CompleteMultipartUpload>";
  while (true) {
    S3Request request{.operation = "complete_upload",
                      .method = "POST",
                      .key = key_,
                      .query = {{"uploadId", upload_id_}},
                      .body = body};
    request.headers.add("Content-Type", "application/xml");
    add_condition(request);
    S3Answer answer = bucket_.send(request);
    const S3Failure failure = parse_failure(answer.body);
    // Gone because an earlier attempt, whose answer was lost, completed it?
    if (failure.code == "NoSuchUpload" && is_ours()) return true;
    // The status was sent before the work was done. Source: AWS S3 CompleteMultipartUpload.
    if (answer.ok() && !failure.code.empty()) answer.status = 500;
    if (const auto created = outcome(request, answer)) return *created;
  }
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
