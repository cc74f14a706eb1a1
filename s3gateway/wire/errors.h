// S3 error codes and statuses, and the mapping of our errors to them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/http/message.h"

namespace tarn::s3 {

/// An S3 error code and its HTTP status.
struct Failure {
  std::string_view code;
  int status;
};

namespace failure {
inline constexpr Failure kAccessControlListNotSupported{"AccessControlListNotSupported", 400};
inline constexpr Failure kAccessDenied{"AccessDenied", 403};
inline constexpr Failure kAccessForbidden{"AccessForbidden", 403};
inline constexpr Failure kAuthorizationHeaderMalformed{"AuthorizationHeaderMalformed", 400};
inline constexpr Failure kAuthorizationQueryParametersError{"AuthorizationQueryParametersError",
                                                            400};
inline constexpr Failure kBadDigest{"BadDigest", 400};
inline constexpr Failure kBadRequest{"BadRequest", 400};
inline constexpr Failure kBucketAlreadyExists{"BucketAlreadyExists", 409};
inline constexpr Failure kBucketAlreadyOwnedByYou{"BucketAlreadyOwnedByYou", 409};
inline constexpr Failure kBucketNotEmpty{"BucketNotEmpty", 409};
inline constexpr Failure kConditionalRequestConflict{"ConditionalRequestConflict", 409};
inline constexpr Failure kEntityTooLarge{"EntityTooLarge", 400};
inline constexpr Failure kEntityTooSmall{"EntityTooSmall", 400};
inline constexpr Failure kIncompleteBody{"IncompleteBody", 400};
/// Not one of S3's. SDKs retry 500 and 503, never 507.
inline constexpr Failure kInsufficientStorage{"InsufficientStorage", 507};
inline constexpr Failure kInternalError{"InternalError", 500};
inline constexpr Failure kInvalidAccessKeyId{"InvalidAccessKeyId", 403};
inline constexpr Failure kInvalidArgument{"InvalidArgument", 400};
inline constexpr Failure kInvalidBucketAclWithObjectOwnership{"InvalidBucketAclWithObjectOwnership",
                                                              400};
inline constexpr Failure kInvalidBucketName{"InvalidBucketName", 400};
inline constexpr Failure kInvalidChunkSizeError{"InvalidChunkSizeError", 400};
inline constexpr Failure kInvalidDigest{"InvalidDigest", 400};
inline constexpr Failure kInvalidPart{"InvalidPart", 400};
inline constexpr Failure kInvalidPartOrder{"InvalidPartOrder", 400};
inline constexpr Failure kInvalidPolicyDocument{"InvalidPolicyDocument", 400};
inline constexpr Failure kInvalidRange{"InvalidRange", 416};
inline constexpr Failure kInvalidRequest{"InvalidRequest", 400};
inline constexpr Failure kInvalidStorageClass{"InvalidStorageClass", 400};
inline constexpr Failure kInvalidTag{"InvalidTag", 400};
inline constexpr Failure kInvalidToken{"InvalidToken", 400};
inline constexpr Failure kInvalidUri{"InvalidURI", 400};
inline constexpr Failure kKeyTooLong{"KeyTooLongError", 400};
inline constexpr Failure kMalformedPostRequest{"MalformedPOSTRequest", 400};
inline constexpr Failure kMalformedTrailer{"MalformedTrailerError", 400};
inline constexpr Failure kMalformedXml{"MalformedXML", 400};
inline constexpr Failure kMaxPostPreDataLengthExceeded{"MaxPostPreDataLengthExceeded", 400};
inline constexpr Failure kMetadataTooLarge{"MetadataTooLarge", 400};
inline constexpr Failure kMethodNotAllowed{"MethodNotAllowed", 405};
inline constexpr Failure kMissingContentLength{"MissingContentLength", 411};
inline constexpr Failure kMissingSecurityHeader{"MissingSecurityHeader", 400};
inline constexpr Failure kNoSuchBucket{"NoSuchBucket", 404};
inline constexpr Failure kNoSuchKey{"NoSuchKey", 404};
inline constexpr Failure kNoSuchUpload{"NoSuchUpload", 404};
inline constexpr Failure kNoSuchVersion{"NoSuchVersion", 404};
inline constexpr Failure kNotImplemented{"NotImplemented", 501};
inline constexpr Failure kObjectBytesMissing{"ObjectBytesMissing", 410};
inline constexpr Failure kOperationAborted{"OperationAborted", 409};
inline constexpr Failure kPreconditionFailed{"PreconditionFailed", 412};
inline constexpr Failure kQuotaExceeded{"QuotaExceeded", 403};
inline constexpr Failure kRequestHeaderSectionTooLarge{"RequestHeaderSectionTooLarge", 400};
inline constexpr Failure kRequestTimeTooSkewed{"RequestTimeTooSkewed", 403};
inline constexpr Failure kRequestTimeout{"RequestTimeout", 400};
inline constexpr Failure kServiceUnavailable{"ServiceUnavailable", 503};
inline constexpr Failure kSignatureDoesNotMatch{"SignatureDoesNotMatch", 403};
inline constexpr Failure kSlowDown{"SlowDown", 503};
inline constexpr Failure kSourceChanged{"SourceChanged", 410};
inline constexpr Failure kCommitExpired{"CommitExpired", 410};
inline constexpr Failure kSha256Mismatch{"XAmzContentSHA256Mismatch", 400};
/// lakeFS's code for an endpoint URL that ends in its REST base path; its tests expect it.
inline constexpr Failure kPossibleApiEndpoint{"ErrNoSuchBucketPossibleAPIEndpoint", 404};
}  // namespace failure

/// Additional elements of the error document, in order.
using ErrorElements = std::vector<std::pair<std::string_view, std::string>>;

/// An error with its own S3 code. The message is a sentence for the client: the problem and the
/// remedy.
class Refusal final : public Error {
 public:
  Refusal(const Failure& failure, std::string message, ErrorElements elements = {},
          http::Headers headers = {});

  const Failure& failure() const { return failure_; }
  const ErrorElements& elements() const { return elements_; }
  const http::Headers& headers() const { return headers_; }

 private:
  Failure failure_;
  ErrorElements elements_;
  http::Headers headers_;
};

/// Header with the reason of an Error that has no code of S3's own, as over REST.
inline constexpr std::string_view kReasonHeader = "X-Tarn-Error";

/// The response for an error.
struct ErrorAnswer {
  Failure failure = failure::kInternalError;
  std::string message;
  ErrorElements elements;
  http::Headers headers;
};

/// The response for an exception of an operation. Messages of internal errors (500) are hidden.
ErrorAnswer answer_for(const std::exception& error);

/// Throws 501 for an operation of S3 that is not supported.
[[noreturn]] void refuse_unsupported(std::string_view what);

}  // namespace tarn::s3
