#include "server/api/errors.h"

#include <array>
#include <string>

#include "core/base/fault.h"
#include "core/base/reasons.h"
#include "core/base/sign_in_reasons.h"
#include "core/base/str_cat.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

/// Delays the retry: clients that retry at once would add to an overload.
constexpr int kRetryAfterSeconds = 1;
/// Sign-ins with wrong secrets are forgotten after about as long.
constexpr int kRetryAfterFailuresSeconds = 60;

int status_of_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kUnauthenticated:
      return 401;
    case ErrorCode::kPermissionDenied:
      return 403;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kAlreadyExists:
      return 409;
    case ErrorCode::kPreconditionFailed:
      return 412;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kGone:
      return 410;
    case ErrorCode::kResourceExhausted:
      return 429;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kDataLoss:
      return 500;
    case ErrorCode::kUnimplemented:
      return 501;
    case ErrorCode::kInternal:
      return 500;
  }
  check_failed("ErrorCode", __FILE__, __LINE__);
}

/// The message for a client. Server internals (SQL, database addresses) stay in the log.
std::string_view message_of(const Error& error) {
  // Clients of this format compare the text of a sign-in that failed.
  if (error.reason() == reason::kExpiredToken) return kUnauthenticatedText;
  if (error.code() == ErrorCode::kInternal) return "internal error";
  if (error.reason() == reason::kInDoubt) {
    return "the database did not answer: the change may or may not have been made, look before "
           "repeating it";
  }
  if (error.reason() == reason::kDatabaseFull) {
    return kDatabaseFullText;
  }
  if (error.reason() == name_of(ErrorCode::kUnavailable))
    return "service unavailable, try again later";
  return error.message();
}

/// Messages may quote long input. Whole reports of hooks fit.
constexpr size_t kMessageBytesMax = 8 * 1024;

std::string shortened(std::string_view message) {
  if (message.size() <= kMessageBytesMax) return std::string(message);
  return str_cat(message.substr(0, kMessageBytesMax), " ...");
}

struct ReasonStatus {
  std::string_view reason;
  int status;
  std::optional<int> retry_after_seconds{};
};
/// Reasons whose status differs from that of their code.
constexpr std::array kReasons = {
    ReasonStatus{reason::kBranchLocked, 423, kRetryAfterSeconds},
    ReasonStatus{reason::kBodyTooLarge, 413},
    ReasonStatus{reason::kRangeNotSatisfiable, 416},
    // Clients expect 403 for a protected or read-only resource, never for a missing permission.
    ReasonStatus{reason::kInsufficientPermissions, 401},
    ReasonStatus{reason::kNoMergeBase, 400},
    ReasonStatus{reason::kQuotaExceeded, 507},
    ReasonStatus{reason::kTooManyFailures, 429, kRetryAfterFailuresSeconds},
};

}  // namespace

FailureStatus status_of(const Error& error) {
  // A retry fills no room: clients repeat 503, and send the whole body each time.
  if (is_disk_full(error.reason())) return {507, std::nullopt};
  if (is_store_fault(error.reason())) return {503, kRetryAfterSeconds};
  for (const ReasonStatus& row : kReasons) {
    if (row.reason == error.reason()) return {row.status, row.retry_after_seconds};
  }
  const int status = status_of_code(error.code());
  // 429 is a named limit: waiting alone changes nothing.
  return {status, status == 503 ? std::optional(kRetryAfterSeconds) : std::nullopt};
}

http::Response failure_response(const Error& error, std::string_view request_id) {
  const FailureStatus found = status_of(error);
  json::Writer body;
  body.begin_object();
  body.text("message", shortened(message_of(error)));
  if (error.reason() == reason::kExpiredToken) body.text("detail", error.message());
  body.text("code", error.reason());
  body.text("request_id", request_id);
  body.end_object();
  http::Response response = json_response(found.status, std::move(body).take());
  response.headers.add("X-Tarn-Error", std::string(error.reason()));
  if (found.retry_after_seconds) {
    response.headers.add("Retry-After", std::to_string(*found.retry_after_seconds));
  }
  return response;
}

}  // namespace tarn::api
