#include "core/base/fault.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

TEST(Fault, ServerFailuresAreTheServers) {
  EXPECT_TRUE(is_server_fault(std::runtime_error("x")));
  EXPECT_TRUE(is_server_fault(Error(ErrorCode::kInternal, "x")));
  EXPECT_TRUE(is_server_fault(Error(ErrorCode::kDataLoss, "x")));
  EXPECT_TRUE(is_server_fault(Error(ErrorCode::kUnavailable, "connecting: refused")));
  EXPECT_TRUE(is_server_fault(Error(ErrorCode::kUnavailable, "in_doubt", "x")));
}

TEST(Fault, StoreFailuresAreTheServers) {
  EXPECT_TRUE(is_server_fault(Error(ErrorCode::kNotFound, "bucket_not_found", "x")));
  EXPECT_TRUE(is_server_fault(Error(ErrorCode::kInvalidArgument, "store_damaged", "x")));
  EXPECT_TRUE(is_server_fault(Error(ErrorCode::kPermissionDenied, "store_denied", "x")));
  EXPECT_FALSE(is_store_fault("unavailable"));
  EXPECT_FALSE(is_store_fault("branch_not_found"));
}

TEST(Fault, OtherErrorsAreTheCallers) {
  for (const ErrorCode code :
       {ErrorCode::kInvalidArgument, ErrorCode::kUnauthenticated, ErrorCode::kPermissionDenied,
        ErrorCode::kNotFound, ErrorCode::kAlreadyExists, ErrorCode::kPreconditionFailed,
        ErrorCode::kConflict, ErrorCode::kGone, ErrorCode::kResourceExhausted,
        ErrorCode::kUnimplemented}) {
    EXPECT_FALSE(is_server_fault(Error(code, "x"))) << name_of(code);
  }
  EXPECT_FALSE(is_server_fault(Error(ErrorCode::kUnavailable, "overloaded", "x")));
  EXPECT_FALSE(is_server_fault(Error(ErrorCode::kUnavailable, "body_too_slow", "x")));
}

}  // namespace
}  // namespace tarn
