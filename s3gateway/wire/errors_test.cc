#include "s3gateway/wire/errors.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "core/sigv4/rejection.h"

namespace tarn::s3 {
namespace {

struct CodeAndStatus {
  std::string code;
  int status;
  bool operator==(const CodeAndStatus&) const = default;
};
std::ostream& operator<<(std::ostream& out, const CodeAndStatus& told) {
  return out << told.code << ' ' << told.status;
}

CodeAndStatus told(const std::exception& error) {
  const ErrorAnswer answer = answer_for(error);
  return {std::string(answer.failure.code), answer.failure.status};
}

TEST(Errors, HasAnAnswerForEveryCode) {
  const struct {
    ErrorCode code;
    CodeAndStatus expected;
  } cases[] = {
      {ErrorCode::kInvalidArgument, {"InvalidArgument", 400}},
      {ErrorCode::kUnauthenticated, {"AccessDenied", 403}},
      {ErrorCode::kPermissionDenied, {"AccessDenied", 403}},
      {ErrorCode::kNotFound, {"NoSuchBucket", 404}},
      {ErrorCode::kAlreadyExists, {"OperationAborted", 409}},
      {ErrorCode::kPreconditionFailed, {"PreconditionFailed", 412}},
      {ErrorCode::kConflict, {"ConditionalRequestConflict", 409}},
      {ErrorCode::kGone, {"ObjectBytesMissing", 410}},
      {ErrorCode::kResourceExhausted, {"SlowDown", 503}},
      {ErrorCode::kUnavailable, {"ServiceUnavailable", 503}},
      {ErrorCode::kDataLoss, {"InternalError", 500}},
      {ErrorCode::kUnimplemented, {"NotImplemented", 501}},
      {ErrorCode::kInternal, {"InternalError", 500}},
  };
  for (const auto& c : cases) EXPECT_EQ(told(Error(c.code, "x")), c.expected) << name_of(c.code);
}

TEST(Errors, MapsReasonsToS3Codes) {
  const struct {
    ErrorCode code;
    std::string_view reason;
    CodeAndStatus expected;
  } cases[] = {
      {ErrorCode::kNotFound, "branch_not_found", {"NoSuchBucket", 404}},
      {ErrorCode::kNotFound, "no_object_to_match", {"NoSuchKey", 404}},
      {ErrorCode::kNotFound, "no_such_upload", {"NoSuchUpload", 404}},
      {ErrorCode::kPermissionDenied, "read_only_repository", {"AccessDenied", 403}},
      {ErrorCode::kGone, "source_changed", {"SourceChanged", 410}},
      {ErrorCode::kGone, "expired", {"CommitExpired", 410}},
      {ErrorCode::kInvalidArgument, "invalid_part", {"InvalidPart", 400}},
      {ErrorCode::kInvalidArgument, "invalid_part_order", {"InvalidPartOrder", 400}},
      {ErrorCode::kInvalidArgument, "entity_too_small", {"EntityTooSmall", 400}},
      {ErrorCode::kInvalidArgument, "size_mismatch", {"InvalidRequest", 400}},
      {ErrorCode::kInvalidArgument, "malformed_parts", {"MalformedXML", 400}},
      {ErrorCode::kInvalidArgument, "bad_digest", {"BadDigest", 400}},
      {ErrorCode::kInvalidArgument, "key_too_long", {"KeyTooLongError", 400}},
      {ErrorCode::kResourceExhausted, "body_too_large", {"EntityTooLarge", 400}},
      // Never SlowDown: SDKs would send the body again.
      {ErrorCode::kResourceExhausted, "object_too_large", {"EntityTooLarge", 400}},
      {ErrorCode::kResourceExhausted, "quota_exceeded", {"QuotaExceeded", 403}},
      {ErrorCode::kResourceExhausted, "too_many_uploads", {"InvalidRequest", 400}},
      {ErrorCode::kInvalidArgument, "body_incomplete", {"IncompleteBody", 400}},
      {ErrorCode::kUnavailable, "body_too_slow", {"RequestTimeout", 400}},
      {ErrorCode::kNotFound, "bucket_not_found", {"ServiceUnavailable", 503}},
      {ErrorCode::kInvalidArgument, "store_damaged", {"ServiceUnavailable", 503}},
      {ErrorCode::kPermissionDenied, "store_denied", {"ServiceUnavailable", 503}},
      {ErrorCode::kPermissionDenied, "store_not_readable", {"ServiceUnavailable", 503}},
      {ErrorCode::kUnavailable, "database_full", {"InsufficientStorage", 507}},
      {ErrorCode::kUnavailable, "store_full", {"InsufficientStorage", 507}},
      {ErrorCode::kInvalidArgument, "malformed_form", {"MalformedPOSTRequest", 400}},
  };
  for (const auto& c : cases) EXPECT_EQ(told(Error(c.code, c.reason, "x")), c.expected) << c.reason;
}

TEST(Errors, SignatureErrorsKeepTheirReason) {
  using sigv4::Rejection;
  EXPECT_EQ(told(Rejection(ErrorCode::kPermissionDenied, "SignatureDoesNotMatch", "x")),
            (CodeAndStatus{"SignatureDoesNotMatch", 403}));
  EXPECT_EQ(told(Rejection(ErrorCode::kInvalidArgument, "BadDigest", "x")),
            (CodeAndStatus{"BadDigest", 400}));
  EXPECT_EQ(told(Rejection(ErrorCode::kInvalidArgument, "MissingContentLength", "x")),
            (CodeAndStatus{"MissingContentLength", 411}));
  EXPECT_EQ(told(Rejection(ErrorCode::kInvalidArgument, "AuthorizationQueryParametersError", "x")),
            (CodeAndStatus{"AuthorizationQueryParametersError", 400}));
  EXPECT_EQ(told(Rejection(ErrorCode::kPermissionDenied, "AuthorizationQueryParametersError", "x")),
            (CodeAndStatus{"AuthorizationQueryParametersError", 403}));
  EXPECT_EQ(told(Rejection(ErrorCode::kUnimplemented, "NotImplemented", "x")),
            (CodeAndStatus{"NotImplemented", 501}));
  const ErrorAnswer answer = answer_for(Rejection(
      ErrorCode::kPermissionDenied, "SignatureDoesNotMatch", "x", {{"StringToSign", "s"}}));
  EXPECT_EQ(answer.elements, (ErrorElements{{"StringToSign", "s"}}));
}

TEST(Errors, HidesOnlyMessagesOfInternalErrors) {
  EXPECT_EQ(answer_for(Error(ErrorCode::kInternal, "password is hunter2")).message.find("hunter2"),
            std::string::npos);
  EXPECT_EQ(answer_for(std::runtime_error("hunter2")).message.find("hunter2"), std::string::npos);
  EXPECT_EQ(answer_for(Error(ErrorCode::kPermissionDenied, "read-only repository")).message,
            "Access Denied: read-only repository");
}

TEST(Errors, BeginsWithTheSentenceOfS3) {
  const auto message = [](const std::exception& error) { return answer_for(error).message; };
  EXPECT_EQ(message(Error(ErrorCode::kNotFound, "repository_not_found", "repository not found")),
            "The specified bucket does not exist");
  EXPECT_EQ(message(Refusal(failure::kNoSuchBucket, "Branch \"x\" does not exist.")),
            "The specified bucket does not exist: Branch \"x\" does not exist.");
  EXPECT_EQ(message(Refusal(failure::kNoSuchBucket, "The specified bucket does not exist: why.")),
            "The specified bucket does not exist: why.");
  EXPECT_EQ(message(Error(ErrorCode::kPreconditionFailed, "path already exists")),
            "At least one of the pre-conditions you specified did not hold");
  EXPECT_EQ(message(Error(ErrorCode::kNotFound, "object_not_found", "not found")),
            "The specified key does not exist.");
  EXPECT_EQ(message(Refusal(failure::kMethodNotAllowed, "A tag is read-only.")),
            "The specified method is not allowed against this resource. A tag is read-only.");
  EXPECT_EQ(message(sigv4::Rejection(ErrorCode::kInvalidArgument, "BadDigest",
                                     "checking the payload: the digest differs.")),
            "The digest differs.");
  EXPECT_EQ(message(sigv4::Rejection(ErrorCode::kPermissionDenied, "SignatureDoesNotMatch",
                                     "checking the signature: it is wrong")),
            "The request signature we calculated does not match the signature you provided. Check "
            "your key and signing method.");
  EXPECT_EQ(message(Error(ErrorCode::kUnavailable, "in_doubt", "x")),
            "Service is unable to handle request. The change may or may not have been made. Look "
            "before you repeat it.");
}

TEST(Errors, SaysThatTheDatabaseIsFullAndNotItsFiles) {
  const std::string message =
      answer_for(Error(ErrorCode::kUnavailable, "database_full", "extending base/5/1")).message;
  EXPECT_EQ(message.find("base/5"), std::string::npos) << message;
  EXPECT_NE(message.find("the disk of the database is full"), std::string::npos) << message;
}

TEST(Errors, EveryReasonHasAHeader) {
  const auto header = [](const std::exception& error) {
    return answer_for(error).headers.get("x-tarn-error");
  };
  EXPECT_EQ(header(Error(ErrorCode::kUnavailable, "in_doubt", "x")), "in_doubt");
  EXPECT_EQ(header(Error(ErrorCode::kDataLoss, "object_corrupt", "x")), "object_corrupt");
  EXPECT_EQ(header(Error(ErrorCode::kGone, "x")), "gone");
  EXPECT_EQ(header(std::runtime_error("x")), "internal");
  EXPECT_EQ(header(Refusal(failure::kNoSuchKey, "x")), "") << "the code of S3 is the reason";
}

TEST(Errors, SendsRetryAfter) {
  EXPECT_EQ(answer_for(Error(ErrorCode::kUnavailable, "x")).headers.get("retry-after"), "1");
  EXPECT_EQ(answer_for(Error(ErrorCode::kInvalidArgument, "x")).headers.find("retry-after"),
            nullptr);
}

TEST(Errors, KeepsTheMessageOfARefusal) {
  http::Headers headers;
  headers.add("Content-Range", "bytes */0");
  const ErrorAnswer answer = answer_for(
      Refusal(failure::kInvalidRange, "no such bytes", {{"ActualObjectSize", "0"}}, headers));
  EXPECT_EQ(answer.failure.code, "InvalidRange");
  EXPECT_EQ(answer.failure.status, 416);
  EXPECT_EQ(answer.message, "no such bytes");
  EXPECT_EQ(answer.elements, (ErrorElements{{"ActualObjectSize", "0"}}));
  EXPECT_EQ(answer.headers.get("content-range"), "bytes */0");
}

}  // namespace
}  // namespace tarn::s3
