#include "core/blob/s3_bucket.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/time.h"
#include "core/blob/backoff.h"
#include "core/blob/checks.h"
#include "core/blob/s3_answers.h"
#include "core/blob/store_metrics.h"

namespace tarn::blob {
namespace {

// A page of 1,000 objects with keys of 1,024 bytes, each byte percent-encoded, plus the markup.
constexpr size_t kAnswerBytesMax = 8 * 1024 * 1024;
constexpr size_t kFailureBytesMax = 64 * 1024;
// Over plain HTTP, bodies up to this size are protected by a signed hash, which costs 0.5 ms per
// MiB.
constexpr size_t kHashedBodyBytesMax = 1024 * 1024;
// libcurl sends bodies up to this size together with the head.
constexpr size_t kOnePacketBytesMax = 64 * 1024;
constexpr std::string_view kSecureScheme = "https://";
constexpr std::string_view kPlainScheme = "http://";

metrics::Counter& retries_counter() {
  static metrics::Counter& counter = metrics::counter(
      "tarn_store_retries_total", "Requests to the object store that were sent again.");
  return counter;
}

std::string encoded_query(const S3Request& request) {
  std::string out;
  for (const auto& [name, value] : request.query) {
    out += str_cat(out.empty() ? "" : "&", percent_encode(name), "=", percent_encode(value));
  }
  return out;
}

size_t copy_body(const S3Request& request, uint64_t offset, std::span<char> out) {
  if (request.cancelled != nullptr && *request.cancelled) {
    throw Error(ErrorCode::kInternal, "uploading: the writer was abandoned");
  }
  return request.body.substr(offset).copy(out.data(), out.size());
}

constexpr std::string_view kBucketAdvice =
    "make the bucket again, or check its name and the configured endpoint";

/// Advice for the operator about common failures. A response to HEAD has no code.
std::string_view advice(int status, std::string_view code) {
  if (code.empty() && (status == 401 || status == 403)) {
    return "check the configured access key and secret, and the policy of the bucket";
  }
  struct Advice {
    std::string_view code;
    std::string_view text;
  };
  constexpr std::array<Advice, 8> kAdvice = {{
      {"AccessDenied", "check the policy of the access key and of the bucket"},
      {"InvalidAccessKeyId", "check the configured access key"},
      {"NoSuchBucket", kBucketAdvice},
      {"SignatureDoesNotMatch", "check the configured secret and region"},
      {"RequestTimeTooSkewed", "check the clock of this machine"},
      {"ExpiredToken", "renew the session token"},
      {"AuthorizationHeaderMalformed", "check the configured region"},
      {"PermanentRedirect", "check the configured region and endpoint"},
  }};
  for (const Advice& one : kAdvice) {
    if (one.code == code) return one.text;
  }
  return "";
}

/// S3 has no such error; compatible stores have their own.
bool is_full(int status, std::string_view s3_code) {
  return status == 507 || s3_code == "XMinioStorageFull" || s3_code == "QuotaExceeded";
}

ErrorCode code_of(int status, std::string_view s3_code) {
  if (status == 401 || status == 403 || s3_code == "ExpiredToken" ||
      s3_code == "AuthorizationHeaderMalformed") {
    return ErrorCode::kPermissionDenied;
  }
  // The body was damaged in transit: a retry may succeed.
  if (s3_code == "BadDigest" || s3_code == "XAmzContentSHA256Mismatch")
    return ErrorCode::kUnavailable;
  if (status == 400 || status == 411 || status == 414 || status == 416)
    return ErrorCode::kInvalidArgument;
  if (status == 501) return ErrorCode::kUnimplemented;
  return ErrorCode::kUnavailable;
}

}  // namespace

S3Bucket::S3Bucket(S3Options options, http::Client& client)
    : options_(std::move(options)), client_(client) {
  origin_ = origin_of(options_.endpoint);
  presign_origin_ =
      options_.presign_endpoint.empty() ? origin_ : origin_of(options_.presign_endpoint);
  if (options_.bucket.empty() || options_.bucket.find_first_of("/?#@: ") != std::string::npos) {
    throw_invalid(str_cat("S3 bucket \"", options_.bucket, "\": is no name of a bucket"));
  }
  if (options_.part_size_bytes < kS3PartBytesMin) {
    throw_invalid(
        str_cat("S3 part size ", options_.part_size_bytes, ": is below ", kS3PartBytesMin));
  }
}

S3Bucket::Origin S3Bucket::origin_of(std::string_view endpoint) const {
  const bool secure = endpoint.starts_with(kSecureScheme);
  const std::string_view scheme = secure ? kSecureScheme : kPlainScheme;
  std::string_view host = endpoint;
  if (!host.starts_with(scheme)) {
    throw_invalid(str_cat("S3 endpoint \"", endpoint, "\": must start with https:// or http://"));
  }
  host.remove_prefix(scheme.size());
  while (host.ends_with('/')) host.remove_suffix(1);
  if (host.empty() || host.find_first_of("/?#@ ") != std::string_view::npos) {
    throw_invalid(
        str_cat("S3 endpoint \"", endpoint, "\": must be a scheme, a host and maybe a port"));
  }
  // Without the scheme's default port, as libcurl and all servers have it.
  const std::string_view default_port = secure ? ":443" : ":80";
  if (host.ends_with(default_port)) host.remove_suffix(default_port.size());
  return {std::string(scheme),
          options_.path_style ? std::string(host) : str_cat(options_.bucket, '.', host)};
}

std::string S3Bucket::whole_key(std::string_view key) const {
  check_key(key);
  std::string whole = str_cat(options_.prefix, key);
  if (whole.size() > kS3KeyBytesMax) {
    throw_invalid(
        str_cat("object key ", shown(key), ": is longer than ", kS3KeyBytesMax, " bytes"));
  }
  return whole;
}

bool S3Bucket::same_server(const S3Bucket& other) const {
  return options_.endpoint == other.options_.endpoint && options_.region == other.options_.region &&
         options_.key.id == other.options_.key.id;
}

std::string S3Bucket::url_path(const S3Request& request) const {
  std::string path = "/";
  if (options_.path_style) {
    path += percent_encode(options_.bucket);
    if (request.key) path += '/';
  }
  if (request.key) path += percent_encode(*request.key, /*keep_slash=*/true);
  return path;
}

std::string S3Bucket::payload_hash(std::string_view body) const {
  if (body.empty()) return std::string(sigv4::kEmptySha256);
  if (origin_.scheme == kSecureScheme || body.size() > kHashedBodyBytesMax)
    return std::string(sigv4::kUnsignedPayload);
  return to_hex(sha256(body));
}

http::ClientRequest S3Bucket::signed_request(const S3Request& request) const {
  const std::string path = url_path(request);
  const std::string query = encoded_query(request);
  http::ClientRequest out;
  out.method = request.method;
  out.url = str_cat(origin_.scheme, origin_.host, path, query.empty() ? "" : "?", query);
  out.headers = request.headers;
  out.headers.set("Host", origin_.host);
  if (!options_.session_token.empty())
    out.headers.set("x-amz-security-token", options_.session_token);
  const sigv4::SigningTarget target{
      .method = request.method, .path = path, .query = query, .region = options_.region};
  sigv4::sign(out.headers, target, options_.key, payload_hash(request.body), SystemClock().now());
  // An answer to these has no body, or an error in some hundred bytes.
  const bool is_write = request.method != "GET" && request.method != "POST";
  out.expected_bytes = is_write ? 0 : request.expected_bytes;
  if (request.body.size() <= kOnePacketBytesMax) {
    out.body = request.body;
  } else {
    out.upload = [&request](uint64_t offset, std::span<char> space) {
      return copy_body(request, offset, space);
    };
    out.upload_bytes = request.body.size();
  }
  return out;
}

std::string S3Bucket::presigned_url(const S3Request& request, const UrlTerms& terms) const {
  const std::string path = url_path(request);
  std::string query = encoded_query(request);
  if (!options_.session_token.empty()) {
    query += str_cat(query.empty() ? "" : "&",
                     "X-Amz-Security-Token=", percent_encode(options_.session_token));
  }
  const sigv4::SigningTarget target{
      .method = request.method, .path = path, .query = query, .region = options_.region};
  return str_cat(
      presign_origin_.scheme, presign_origin_.host, path, "?",
      sigv4::presign_query(presign_origin_.host, target, options_.key, terms.lifetime, terms.now));
}

bool S3Bucket::is_transient(const S3Answer& answer) const {
  switch (answer.status) {
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    case 400: {
      const std::string code = parse_failure(answer.body).code;
      // The others: the body was damaged in transit, as AWS, MinIO and versitygw say it.
      return code == "RequestTimeout" || code == "BadDigest" ||
             code == "XAmzContentSHA256Mismatch" || code == "XAmzContentChecksumMismatch";
    }
    case 409: {
      const std::string code = parse_failure(answer.body).code;
      return code == "ConditionalRequestConflict" || code == "OperationAborted";
    }
    default:
      return false;
  }
}

/// `attempt(deadline)` returns a value that contains an S3Answer (found by answer_of).
template <typename Attempt>
auto S3Bucket::retried(const S3Request& request, const Attempt& attempt) {
  const StoreTimer timer(StoreTimer::histogram(str_cat("s3_", request.operation)));
  const auto give_up =
      SteadyClock::now() + request.total_deadline.value_or(options_.total_deadline);
  Backoff backoff(options_.backoff_first, options_.backoff_longest);
  for (uint32_t retries = 0;; ++retries) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - SteadyClock::now());
    std::string failure;
    try {
      auto result = attempt(std::min(left, options_.attempt_deadline));
      if (!is_transient(result.answer)) {
        if (result.answer.ok()) bucket_seen_ = SteadyClock::now().time_since_epoch().count();
        return result;
      }
      failure = str_cat("HTTP status ", result.answer.status, ' ',
                        parse_failure(result.answer.body).code);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;
      failure = error.message();
    }
    if (retries == options_.retries_max || !backoff.wait(give_up)) {
      throw Error(ErrorCode::kUnavailable,
                  str_cat(subject(request), ": ", failure, " (after ", retries + 1, " attempts)"));
    }
    retries_counter().add();
    log::debug("store_retry", {{"operation", request.operation}, {"error", failure}});
  }
}

S3Answer S3Bucket::send(const S3Request& request) {
  struct Result {
    S3Answer answer;
  };
  return retried(request,
                 [&](std::chrono::milliseconds deadline) {
                   http::ClientRequest signed_one = signed_request(request);
                   signed_one.deadline = deadline;
                   http::ClientResponse response = client_.send(signed_one, kAnswerBytesMax);
                   return Result{
                       {response.status, std::move(response.headers), std::move(response.body)}};
                 })
      .answer;
}

S3Bucket::Opened S3Bucket::open(const S3Request& request) {
  return retried(request, [&](std::chrono::milliseconds) {
    // No deadline: a slow reader may take its time; the client ends a response that stalls.
    http::Client::Stream stream = client_.open(signed_request(request));
    Opened opened{{stream.status, std::move(stream.headers), ""}, nullptr};
    if (opened.answer.ok()) {
      opened.body = std::move(stream.body);
    } else {
      opened.answer.body = http::read_all(*stream.body, kFailureBytesMax);
    }
    return opened;
  });
}

std::string S3Bucket::subject(const S3Request& request) const {
  const std::string bucket = str_cat("bucket \"", options_.bucket, "\" at ", options_.endpoint);
  if (!request.key) return str_cat(request.operation, " of ", bucket);
  return str_cat(request.operation, " of object ", shown(*request.key), " in ", bucket);
}

void S3Bucket::throw_answer(const S3Request& request, const S3Answer& answer) const {
  const S3Failure failure = parse_failure(answer.body);
  std::string message = str_cat(subject(request), ": HTTP status ", answer.status);
  if (!failure.code.empty()) message += str_cat(' ', failure.code, ": ", failure.message);
  if (const auto hint = advice(answer.status, failure.code); !hint.empty())
    message += str_cat(" (", hint, ")");
  if (const auto region = answer.headers.get("x-amz-bucket-region");
      !region.empty() && region != options_.region) {
    message +=
        str_cat(" (the bucket is in region ", region, ", configured is ", options_.region, ")");
  }
  if (failure.code == "NoSuchBucket")
    throw Error(ErrorCode::kNotFound, reason::kBucketNotFound, message);
  if (is_full(answer.status, failure.code)) {
    throw Error(ErrorCode::kUnavailable, reason::kStoreFull,
                str_cat("the object store is full: ", message));
  }
  const ErrorCode code = code_of(answer.status, failure.code);
  if (code == ErrorCode::kPermissionDenied) throw Error(code, "store_denied", message);
  throw Error(code, message);
}

bool S3Bucket::bucket_is_known() const {
  const SteadyClock::rep seen = bucket_seen_;
  if (seen == kNever) return false;
  const SteadyClock::time_point then{SteadyClock::duration(seen)};
  return SteadyClock::now() - then < options_.bucket_known_for;
}

void S3Bucket::check_bucket_exists() {
  if (bucket_is_known()) return;
  const S3Request request{.operation = "head_bucket", .method = "HEAD"};
  const S3Answer answer = send(request);
  if (answer.ok()) return;
  if (answer.status != 404) throw_answer(request, answer);
  throw Error(ErrorCode::kNotFound, reason::kBucketNotFound,
              str_cat(subject(request), ": there is no such bucket (", kBucketAdvice, ")"));
}

void S3Bucket::forget_conditional_writes() {
  if (!conditional_writes_.exchange(false)) return;
  log::warn("store_without_conditional_writes",
            {{"bucket", options_.bucket},
             {"error", "objects are created after a look instead of exclusively"}});
}

void S3Bucket::forget_part_checksums() {
  if (!part_checksums_.exchange(false)) return;
  log::warn("store_without_part_checksums",
            {{"bucket", options_.bucket},
             {"error", "parts of large objects that are damaged in transit are stored"}});
}

}  // namespace tarn::blob
