#include "cli/exit_code.h"

#include <gtest/gtest.h>

namespace tarn::cli {
namespace {

struct ByCode {
  ErrorCode code;
  int expected;
};
constexpr ByCode kByCode[] = {
    {ErrorCode::kInvalidArgument, 1},    {ErrorCode::kUnauthenticated, 3},
    {ErrorCode::kPermissionDenied, 3},   {ErrorCode::kNotFound, 4},
    {ErrorCode::kAlreadyExists, 5},      {ErrorCode::kConflict, 6},
    {ErrorCode::kPreconditionFailed, 1}, {ErrorCode::kGone, 1},
    {ErrorCode::kResourceExhausted, 14}, {ErrorCode::kUnavailable, 9},
    {ErrorCode::kDataLoss, 1},           {ErrorCode::kUnimplemented, 1},
    {ErrorCode::kInternal, 1},
};

struct ByReason {
  std::string_view reason;
  int expected;
};
constexpr ByReason kByReason[] = {
    {"usage", 2},
    {"destination_moved", 7},
    {"timeout", 8},
    {"gate_failed", 10},
    {"metric_missing", 11},
    {"approval_required", 12},
    {"changes_requested", 12},
    {"hook_failed", 13},
    {"partial", 20},
    {"interrupted", 130},
    {"in_doubt", 1},
    {"too_many_failures", 3},
    {"too_many_comments", 14},
    {"too_many_credentials", 14},
    {"too_many_webhooks", 14},
};

TEST(ExitCode, FollowsTheCodeOfAnError) {
  for (const ByCode& row : kByCode) {
    EXPECT_EQ(static_cast<int>(exit_code_of(Error(row.code, "m"))), row.expected)
        << name_of(row.code);
  }
}

TEST(ExitCode, AKnownReasonWinsOverTheCode) {
  for (const ByReason& row : kByReason) {
    EXPECT_EQ(static_cast<int>(exit_code_of(Error(ErrorCode::kNotFound, row.reason, "m"))),
              row.expected)
        << row.reason;
  }
}

TEST(ExitCode, AnUnknownReasonChangesNothing) {
  EXPECT_EQ(exit_code_of(Error(ErrorCode::kConflict, "merge_conflict", "m")), ExitCode::kConflict);
}

TEST(ExitCode, UsageErrorsAreTwo) { EXPECT_EQ(exit_code_of(usage_error("m")), ExitCode::kUsage); }

}  // namespace
}  // namespace tarn::cli
