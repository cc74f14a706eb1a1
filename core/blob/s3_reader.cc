#include "core/blob/s3_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/blob/backoff.h"
#include "core/blob/checks.h"
#include "core/blob/s3_answers.h"

namespace tarn::blob {
namespace {

constexpr int kRangeBehindEnd = 416;

/// Whether a Content-Range such as "bytes 0-9/100" is the wanted range.
bool is_range(std::string_view content_range, ByteRange wanted) {
  return content_range.starts_with(
      str_cat("bytes ", wanted.offset, '-', wanted.offset + wanted.length - 1, '/'));
}

/// The size after the slash of a Content-Range; nullopt for "*".
std::optional<uint64_t> whole_size(std::string_view content_range) {
  const std::string_view digits = content_range.substr(content_range.rfind('/') + 1);
  uint64_t size = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (digits.empty() || parsed.ec != std::errc()) return std::nullopt;
  return size;
}

}  // namespace

std::unique_ptr<S3Reader> S3Reader::open(S3Bucket& bucket, std::string key, ByteRange range,
                                         std::string_view if_etag) {
  std::unique_ptr<S3Reader> reader(new S3Reader(bucket, std::move(key), range, /*whole=*/false));
  if (!reader->request(if_etag)) return nullptr;
  return reader;
}

std::unique_ptr<S3Reader> S3Reader::open_whole(S3Bucket& bucket, std::string key,
                                               uint64_t size_bytes, std::string_view if_etag) {
  std::unique_ptr<S3Reader> reader(
      new S3Reader(bucket, std::move(key), {0, size_bytes}, /*whole=*/true));
  if (!reader->request(if_etag)) return nullptr;
  return reader;
}

bool S3Reader::request(std::string_view if_etag) {
  S3Request request{.operation = "get", .key = key_, .expected_bytes = left_.length};
  const bool from_the_start = whole_ && left_.offset == 0;
  if (from_the_start) {
    request.headers.add("x-amz-checksum-mode", "ENABLED");
  } else {
    request.headers.add("Range",
                        str_cat("bytes=", left_.offset, '-', left_.offset + left_.length - 1));
  }
  if (!if_etag.empty()) request.headers.add("If-Match", quoted_etag(if_etag));
  S3Bucket::Opened opened = bucket_.open(request);
  const S3Answer& answer = opened.answer;
  if (answer.status == 404 && parse_failure(answer.body).code != "NoSuchBucket") return false;
  if (answer.status == 412) throw_source_changed(key_, "its etag differs");
  if (answer.status == kRangeBehindEnd) throw_corrupt(key_, "it is shorter than was recorded");
  if (!answer.ok()) bucket_.throw_answer(request, answer);
  std::string etag = unquoted_etag(answer.headers.get("ETag"));
  // Some servers ignore If-Match.
  if (!if_etag.empty() && etag != if_etag) throw_source_changed(key_, "its etag differs");
  check_range_served(request, answer);
  object_bytes_ = answer.status == 206 ? whole_size(answer.headers.get("Content-Range"))
                                       : std::optional(left_.length);
  if (from_the_start) digests_ = stored_digests(answer.headers);
  etag_ = std::move(etag);
  body_ = std::move(opened.body);
  return true;
}

void S3Reader::check_range_served(const S3Request& request, const S3Answer& answer) const {
  const std::string_view content_range = answer.headers.get("Content-Range");
  if (answer.status == 206 && is_range(content_range, left_)) return;
  const std::string length = std::to_string(left_.length);
  if (answer.status == 200 && left_.offset == 0 && answer.headers.get("Content-Length") == length)
    return;
  if (answer.status == 206) {  // shorter than requested
    throw_corrupt(key_, str_cat("bytes ", left_.offset, " to ", left_.offset + left_.length,
                                " are not all there: ", content_range));
  }
  bucket_.throw_answer(request, answer);
}

size_t S3Reader::read(std::span<char> out) {
  out = out.first(static_cast<size_t>(std::min<uint64_t>(out.size(), left_.length)));
  if (out.empty()) return 0;
  const auto give_up = std::chrono::steady_clock::now() + bucket_.options().total_deadline;
  Backoff backoff(bucket_.options().backoff_first, bucket_.options().backoff_longest);
  while (true) {
    try {
      if (!body_ && !request(etag_)) throw_source_changed(key_, "it was removed while it was read");
      const size_t count = body_->read(out);
      if (count == 0) throw_cut_short();
      left_.offset += count;
      left_.length -= count;
      return count;
    } catch (const Error& error) {
      const bool passes = error.code() == ErrorCode::kUnavailable && body_ != nullptr;
      body_.reset();
      if (!passes || ++resumptions_ > bucket_.options().retries_max || !backoff.wait(give_up))
        throw;
    }
  }
}

std::optional<size_t> S3Reader::splice(int pipe, size_t limit) {
  if (!body_ || left_.length == 0) return std::nullopt;
  try {
    const auto count =
        body_->splice(pipe, static_cast<size_t>(std::min<uint64_t>(limit, left_.length)));
    if (!count) return std::nullopt;
    if (*count == 0) throw_cut_short();
    left_.offset += *count;
    left_.length -= *count;
    return count;
  } catch (const Error& error) {
    body_.reset();
    if (error.code() != ErrorCode::kUnavailable || ++resumptions_ > bucket_.options().retries_max)
      throw;
    return std::nullopt;  // read() resumes
  }
}

void S3Reader::throw_cut_short() const {
  throw Error(ErrorCode::kUnavailable, str_cat("reading object ", shown(key_), ": cut short"));
}

}  // namespace tarn::blob
