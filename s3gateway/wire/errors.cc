#include "s3gateway/wire/errors.h"

#include <algorithm>
#include <array>

#include "core/base/fault.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/sigv4/rejection.h"

namespace tarn::s3 {
namespace {

using namespace failure;

/// Errors that core/sigv4 throws with the S3 code as reason.
constexpr std::array kSignatureFailures{
    kAccessDenied,
    kAuthorizationHeaderMalformed,
    kAuthorizationQueryParametersError,
    kBadDigest,
    kIncompleteBody,
    kInvalidArgument,
    kInvalidChunkSizeError,
    kInvalidDigest,
    kInvalidRequest,
    kInvalidToken,
    kMalformedTrailer,
    kMissingContentLength,
    kNotImplemented,
    kRequestTimeTooSkewed,
    kSignatureDoesNotMatch,
    kSha256Mismatch,
};

/// Reasons of our errors with an S3 code.
struct ReasonRow {
  std::string_view reason;
  Failure failure;
};
constexpr std::array kReasons{
    ReasonRow{reason::kBadDigest, kBadDigest},
    ReasonRow{reason::kBodyIncomplete, kIncompleteBody},
    ReasonRow{reason::kBodyTooLarge, kEntityTooLarge},
    ReasonRow{reason::kBodyTooSlow, kRequestTimeout},
    ReasonRow{reason::kBranchNotFound, kNoSuchBucket},
    ReasonRow{reason::kEntityTooSmall, kEntityTooSmall},
    ReasonRow{reason::kExpired, kCommitExpired},
    ReasonRow{reason::kInvalidKey, kInvalidUri},
    ReasonRow{reason::kInvalidPart, kInvalidPart},
    ReasonRow{reason::kInvalidPartOrder, kInvalidPartOrder},
    ReasonRow{reason::kKeyTooLong, kKeyTooLong},
    ReasonRow{reason::kMalformedForm, kMalformedPostRequest},
    ReasonRow{reason::kMalformedParts, kMalformedXml},
    ReasonRow{reason::kNoObjectToMatch, kNoSuchKey},
    ReasonRow{reason::kNoSuchUpload, kNoSuchUpload},
    ReasonRow{reason::kObjectNotFound, kNoSuchKey},
    ReasonRow{reason::kObjectTooLarge, kEntityTooLarge},
    ReasonRow{reason::kQuotaExceeded, kQuotaExceeded},
    ReasonRow{reason::kReadOnlyRepository, kAccessDenied},
    ReasonRow{reason::kRepositoryNotEmpty, kBucketNotEmpty},
    ReasonRow{reason::kSizeMismatch, kInvalidRequest},
    ReasonRow{reason::kSourceChanged, kSourceChanged},
    // Retrying does not help, so this is not SlowDown.
    ReasonRow{reason::kTooManyUploads, kInvalidRequest},
};

/// S3's own sentence for a failure. Clients show it, and test suites compare it.
struct StandardText {
  Failure failure;
  std::string_view text;
  bool alone = false;  ///< our message would only repeat it
};
constexpr std::array kStandardTexts{
    StandardText{kAccessDenied, "Access Denied"},
    StandardText{kInternalError, "We encountered an internal error. Please try again."},
    StandardText{kInvalidDigest, "The Content-MD5 you specified is not valid.", true},
    StandardText{kKeyTooLong, "Your key is too long"},
    StandardText{kMethodNotAllowed, "The specified method is not allowed against this resource."},
    StandardText{kNoSuchBucket, "The specified bucket does not exist"},
    StandardText{kNoSuchKey, "The specified key does not exist."},
    StandardText{kNoSuchUpload,
                 "The specified multipart upload does not exist. The upload ID may be invalid, or "
                 "the upload may have been aborted or completed.",
                 true},
    StandardText{kPreconditionFailed,
                 "At least one of the pre-conditions you specified did not hold", true},
    StandardText{kRequestTimeTooSkewed,
                 "The difference between the request time and the current time is too large."},
    StandardText{kServiceUnavailable, "Service is unable to handle request."},
    StandardText{kSha256Mismatch,
                 "The provided 'x-amz-content-sha256' header does not match what was computed.",
                 true},
    StandardText{kSignatureDoesNotMatch,
                 "The request signature we calculated does not match the signature you provided. "
                 "Check your key and signing method.",
                 true},
};

/// The standard sentence, followed by `message`.
std::string with_standard_text(const Failure& failure, std::string message) {
  const auto row =
      std::find_if(kStandardTexts.begin(), kStandardTexts.end(),
                   [&](const StandardText& r) { return r.failure.code == failure.code; });
  if (row == kStandardTexts.end() || message.starts_with(row->text)) return message;
  if (row->alone || message.empty()) return std::string(row->text);
  return str_cat(row->text, row->text.ends_with('.') ? " " : ": ", message);
}

/// Removes the prefix that names the failed action from messages of core/sigv4 about a body.
std::string without_lead(std::string message) {
  constexpr std::string_view kLead = "checking the payload: ";
  if (!message.starts_with(kLead)) return message;
  message.erase(0, kLead.size());
  if (!message.empty() && message[0] >= 'a' && message[0] <= 'z') {
    message[0] = static_cast<char>(message[0] - 'a' + 'A');
  }
  return message;
}

ErrorCode error_code_of(int status) {
  switch (status) {
    case 403:
      return ErrorCode::kPermissionDenied;
    case 404:
      return ErrorCode::kNotFound;
    case 409:
      return ErrorCode::kConflict;
    case 410:
      return ErrorCode::kGone;
    case 412:
      return ErrorCode::kPreconditionFailed;
    case 500:
      return ErrorCode::kInternal;
    case 501:
      return ErrorCode::kUnimplemented;
    case 503:
    case 507:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInvalidArgument;
  }
}

Failure failure_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return kInvalidArgument;
    case ErrorCode::kUnauthenticated:
      return kAccessDenied;
    case ErrorCode::kPermissionDenied:
      return kAccessDenied;
    // Lookups of keys and refs return values, so a not-found error is about a repository or a
    // branch.
    case ErrorCode::kNotFound:
      return kNoSuchBucket;
    case ErrorCode::kAlreadyExists:
      return kOperationAborted;
    case ErrorCode::kPreconditionFailed:
      return kPreconditionFailed;
    case ErrorCode::kConflict:
      return kConditionalRequestConflict;
    case ErrorCode::kGone:
      return kObjectBytesMissing;
    case ErrorCode::kResourceExhausted:
      return kSlowDown;
    case ErrorCode::kUnavailable:
      return kServiceUnavailable;
    case ErrorCode::kDataLoss:
      return kInternalError;
    case ErrorCode::kUnimplemented:
      return kNotImplemented;
    case ErrorCode::kInternal:
      return kInternalError;
  }
  return kInternalError;
}

Failure failure_of(const Error& error) {
  if (is_disk_full(error.reason())) return kInsufficientStorage;
  if (is_store_fault(error.reason())) return kServiceUnavailable;
  const auto row = std::find_if(kReasons.begin(), kReasons.end(),
                                [&](const ReasonRow& r) { return r.reason == error.reason(); });
  return row == kReasons.end() ? failure_of(error.code()) : row->failure;
}

Failure failure_of(const sigv4::Rejection& rejection) {
  for (const Failure& known : kSignatureFailures) {
    if (known.code != rejection.reason()) continue;
    // X-Amz-Expires out of range has a code with status 400, but public S3 suites expect 403.
    const bool forbidden = rejection.code() == ErrorCode::kPermissionDenied;
    return {known.code, forbidden ? 403 : known.status};
  }
  return failure_of(rejection.code());
}

ErrorAnswer answer_for_error(const Error& error) {
  ErrorAnswer answer{failure_of(error), error.message(), {}, {}};
  if (answer.failure.status == kInternalError.status) {
    answer.message = "The server's log has the cause under this request id.";
  }
  // S3's sentence suffices.
  for (const std::string_view reason :
       {reason::kRepositoryNotFound, reason::kObjectNotFound, reason::kNoObjectToMatch}) {
    if (error.reason() == reason) answer.message.clear();
  }
  if (error.reason() == reason::kInDoubt) {
    answer.message = "The change may or may not have been made. Look before you repeat it.";
  }
  if (error.reason() == reason::kDatabaseFull) {
    answer.message = kDatabaseFullText;
  }
  if (answer.failure.status == kServiceUnavailable.status) answer.headers.add("Retry-After", "1");
  // S3's codes do not distinguish the causes, and answers to HEAD have no document.
  answer.headers.add(std::string(kReasonHeader), std::string(error.reason()));
  return answer;
}

ErrorAnswer answer_with_own_text(const std::exception& error) {
  if (const auto* refusal = dynamic_cast<const Refusal*>(&error)) {
    return {refusal->failure(), refusal->message(), refusal->elements(), refusal->headers()};
  }
  if (const auto* rejection = dynamic_cast<const sigv4::Rejection*>(&error)) {
    return {failure_of(*rejection), without_lead(rejection->message()), rejection->elements(), {}};
  }
  if (const auto* own = dynamic_cast<const Error*>(&error)) return answer_for_error(*own);
  return answer_for_error(Error(ErrorCode::kInternal, error.what()));
}

}  // namespace

Refusal::Refusal(const Failure& failure, std::string message, ErrorElements elements,
                 http::Headers headers)
    : Error(error_code_of(failure.status), failure.code, std::move(message)),
      failure_(failure),
      elements_(std::move(elements)),
      headers_(std::move(headers)) {}

ErrorAnswer answer_for(const std::exception& error) {
  ErrorAnswer answer = answer_with_own_text(error);
  answer.message = with_standard_text(answer.failure, std::move(answer.message));
  return answer;
}

void refuse_unsupported(std::string_view what) {
  throw Refusal(kNotImplemented, str_cat("This server does not implement ", what, "."));
}

}  // namespace tarn::s3
