#include "core/base/fault.h"

#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
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

// The options of the compiler take it away, in groups of sources too.
TEST(Fault, AFailedCheckDoesNotNameTheFolderOfTheCheckout) {
  std::string message;
  try {
    TARN_CHECK(false);
  } catch (const Error& error) {
    message = error.message();
  }
  EXPECT_THAT(message, ::testing::HasSubstr(" core/base/fault_test.cc:"));
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
