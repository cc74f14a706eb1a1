#include "cli/exit_code.h"

#include <array>
#include <utility>

#include "core/base/reasons.h"

namespace tarn::cli {
namespace {

constexpr std::array<std::pair<std::string_view, ExitCode>, 16> kByReason{{
    {kReasonUsage, ExitCode::kUsage},
    {kReasonTimeout, ExitCode::kTimeout},
    {kReasonInterrupted, ExitCode::kInterrupted},
    {kReasonHookFailed, ExitCode::kHookFailed},
    {kReasonDestinationMoved, ExitCode::kDestinationMoved},
    {reason::kBranchMoved, ExitCode::kDestinationMoved},
    {kReasonGateFailed, ExitCode::kGateFailed},
    {kReasonMetricMissing, ExitCode::kMetricMissing},
    {kReasonApprovalNeeded, ExitCode::kApprovalNeeded},
    {reason::kChangesRequested, ExitCode::kApprovalNeeded},
    {kReasonPartial, ExitCode::kPartial},
    // A script that repeats what it gets kUnavailable for might do it twice.
    {reason::kInDoubt, ExitCode::kFailure},
    {reason::kTooManyComments, ExitCode::kLimitReached},
    {reason::kTooManyCredentials, ExitCode::kLimitReached},
    {reason::kTooManyFailures, ExitCode::kAuth},
    {reason::kTooManyWebhooks, ExitCode::kLimitReached},
}};

ExitCode by_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kPermissionDenied:
      return ExitCode::kAuth;
    case ErrorCode::kNotFound:
      return ExitCode::kNotFound;
    case ErrorCode::kAlreadyExists:
      return ExitCode::kExists;
    case ErrorCode::kConflict:
      return ExitCode::kConflict;
    case ErrorCode::kUnavailable:
      return ExitCode::kUnavailable;
    case ErrorCode::kResourceExhausted:
      return ExitCode::kLimitReached;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kPreconditionFailed:
    case ErrorCode::kGone:
    case ErrorCode::kDataLoss:
    case ErrorCode::kUnimplemented:
    case ErrorCode::kInternal:
      return ExitCode::kFailure;
  }
  return ExitCode::kFailure;
}

}  // namespace

ExitCode exit_code_of(const Error& error) {
  for (const auto& [reason, code] : kByReason) {
    if (error.reason() == reason) return code;
  }
  return by_code(error.code());
}

Error usage_error(std::string message) {
  return Error(ErrorCode::kInvalidArgument, kReasonUsage, std::move(message));
}

}  // namespace tarn::cli
