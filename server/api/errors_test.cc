#include "server/api/errors.h"

#include <gtest/gtest.h>

namespace tarn::api {
namespace {

TEST(StatusOf, EveryCodeHasItsStatus) {
  const std::pair<ErrorCode, int> cases[] = {
      {ErrorCode::kInvalidArgument, 400},   {ErrorCode::kUnauthenticated, 401},
      {ErrorCode::kPermissionDenied, 403},  {ErrorCode::kNotFound, 404},
      {ErrorCode::kAlreadyExists, 409},     {ErrorCode::kPreconditionFailed, 412},
      {ErrorCode::kConflict, 409},          {ErrorCode::kGone, 410},
      {ErrorCode::kResourceExhausted, 429}, {ErrorCode::kUnavailable, 503},
      {ErrorCode::kDataLoss, 500},          {ErrorCode::kUnimplemented, 501},
      {ErrorCode::kInternal, 500}};
  for (const auto& [code, status] : cases) {
    const FailureStatus found = status_of(Error(code, "x"));
    EXPECT_EQ(found.status, status) << name_of(code);
    EXPECT_EQ(found.retry_after_seconds.has_value(), status == 503) << name_of(code);
  }
}

TEST(StatusOf, SomeReasonsHaveAStatusOfTheirOwn) {
  EXPECT_EQ(status_of(Error(ErrorCode::kConflict, "branch_locked", "x")).status, 423);
  EXPECT_EQ(status_of(Error(ErrorCode::kConflict, "branch_locked", "x")).retry_after_seconds, 1);
  EXPECT_EQ(status_of(Error(ErrorCode::kResourceExhausted, "body_too_large", "x")).status, 413);
  EXPECT_EQ(
      status_of(Error(ErrorCode::kResourceExhausted, "body_too_large", "x")).retry_after_seconds,
      std::nullopt);
  EXPECT_EQ(status_of(Error(ErrorCode::kInvalidArgument, "dirty_branch", "x")).status, 400);
  EXPECT_EQ(status_of(Error(ErrorCode::kPermissionDenied, "insufficient_permissions", "x")).status,
            401);
}

TEST(StatusOf, ALimitIsRepeatedByNobody) {
  for (const char* reason :
       {"directory_too_deep", "directory_too_large", "object_too_large", "script_requests",
        "script_timeout", "too_many_branches", "too_many_checks", "too_many_uploads"}) {
    const FailureStatus found = status_of(Error(ErrorCode::kResourceExhausted, reason, "x"));
    EXPECT_EQ(found.status, 429) << reason;
    EXPECT_EQ(found.retry_after_seconds, std::nullopt) << reason;
  }
  EXPECT_EQ(
      status_of(Error(ErrorCode::kResourceExhausted, "too_many_failures", "x")).retry_after_seconds,
      60);
}

TEST(StatusOf, StoreFaultsAre503) {
  for (const auto& [code, reason] : {std::pair(ErrorCode::kNotFound, "bucket_not_found"),
                                     std::pair(ErrorCode::kInvalidArgument, "store_damaged"),
                                     std::pair(ErrorCode::kPermissionDenied, "store_denied"),
                                     std::pair(ErrorCode::kPermissionDenied, "store_not_readable"),
                                     std::pair(ErrorCode::kUnavailable, "store_failed")}) {
    EXPECT_EQ(status_of(Error(code, reason, "x")).status, 503) << reason;
    EXPECT_EQ(status_of(Error(code, reason, "x")).retry_after_seconds, 1) << reason;
  }
}

TEST(StatusOf, AFullDiskIs507WhichClientsDoNotRepeat) {
  for (const char* reason : {"store_full", "database_full"}) {
    const FailureStatus status = status_of(Error(ErrorCode::kUnavailable, reason, "x"));
    EXPECT_EQ(status.status, 507) << reason;
    EXPECT_EQ(status.retry_after_seconds, std::nullopt) << reason;
  }
  EXPECT_NE(failure_response(Error(ErrorCode::kUnavailable, "store_full", "writing: full"), "r")
                .body.find("writing: full"),
            std::string::npos);
}

TEST(FailureResponse, SaysThatTheDatabaseIsFullAndNotItsFiles) {
  const http::Response response = failure_response(
      Error(ErrorCode::kUnavailable, "database_full", "could not extend file \"base/5/1\""), "r");
  EXPECT_EQ(response.status, 507);
  EXPECT_EQ(response.body.find("base/5"), std::string::npos);
  EXPECT_NE(response.body.find("the disk of the database is full"), std::string::npos);
}

TEST(FailureResponse, TellsInADetailWhyATokenIsRefused) {
  const http::Response response = failure_response(
      Error(ErrorCode::kUnauthenticated, "expired_token", "the token expired yesterday"), "r1");
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.body, R"({"message":"error authenticating request",)"
                           R"("detail":"the token expired yesterday",)"
                           R"("code":"expired_token","request_id":"r1"})"
                           "\n");
}

TEST(FailureResponse, CarriesMessageCodeAndRequestId) {
  const http::Response response =
      failure_response(Error(ErrorCode::kNotFound, "branch_not_found", "branch not found"), "r1");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body,
            R"({"message":"branch not found","code":"branch_not_found","request_id":"r1"})"
            "\n");
  EXPECT_EQ(response.headers.get("X-Tarn-Error"), "branch_not_found");
  EXPECT_EQ(response.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(response.headers.find("Retry-After"), nullptr);
}

TEST(FailureResponse, KeepsInternalTextInside) {
  const http::Response response =
      failure_response(Error(ErrorCode::kInternal, "password is hunter2"), "r1");
  EXPECT_EQ(response.body, R"({"message":"internal error","code":"internal","request_id":"r1"})"
                           "\n");
}

TEST(FailureResponse, CutsALongMessage) {
  const http::Response response = failure_response(
      Error(ErrorCode::kNotFound, "ref_not_found", std::string(1'000'000, 'x')), "r1");
  EXPECT_LT(response.body.size(), 10'000u);
  EXPECT_TRUE(response.body.starts_with("{\"message\":\"xxxx"));
  EXPECT_NE(response.body.find("xxxx ...\",\"code\":\"ref_not_found\""), std::string::npos);
}

TEST(FailureResponse, HasRetryAfterAndHidesTheDatabaseAddress) {
  const http::Response response =
      failure_response(Error(ErrorCode::kUnavailable, "connecting to db.internal"), "r");
  EXPECT_EQ(response.headers.get("Retry-After"), "1");
  EXPECT_EQ(
      response.body,
      R"({"message":"service unavailable, try again later","code":"unavailable","request_id":"r"})"
      "\n");
}

}  // namespace
}  // namespace tarn::api
