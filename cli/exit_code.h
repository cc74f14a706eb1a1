// Exit statuses of the command. Scripts and CI jobs depend on these numbers: they never
// change meaning.
#pragma once

#include "core/base/error.h"

namespace tarn::cli {

enum class ExitCode {
  kOk = 0,  ///< also when there was nothing to do
  kFailure = 1,
  kUsage = 2,
  kAuth = 3,
  kNotFound = 4,
  kExists = 5,
  kConflict = 6,
  kDestinationMoved = 7,
  kTimeout = 8,  ///< stopped waiting; the work continues at the server
  kUnavailable = 9,
  kGateFailed = 10,
  kMetricMissing = 11,
  kApprovalNeeded = 12,
  kHookFailed = 13,
  kLimitReached = 14,  ///< a quota, a disk or a limit; repeating the request does not help
  kPartial = 20,       ///< some of many items failed
  kWarnings = 21,      ///< of verify: warnings and no error
  kDamaged = 22,       ///< of verify: an object or a part of the history is lost or different
  kDiffTrouble = 128,  ///< kFailure of commands where 1 means "there are differences"
  kInterrupted = 130,
};

/// Reasons of this program's own errors; those of the server are in its answers.
constexpr std::string_view kReasonUsage = "usage";
constexpr std::string_view kReasonTimeout = "timeout";
constexpr std::string_view kReasonInterrupted = "interrupted";
constexpr std::string_view kReasonHookFailed = "hook_failed";
constexpr std::string_view kReasonDestinationMoved = "destination_moved";
constexpr std::string_view kReasonGateFailed = "gate_failed";
constexpr std::string_view kReasonMetricMissing = "metric_missing";
constexpr std::string_view kReasonApprovalNeeded = "approval_required";
constexpr std::string_view kReasonPartial = "partial";

/// Decided by a known reason, otherwise by the code.
ExitCode exit_code_of(const Error& error);

/// An error in the usage of the command; `message` says what to change.
Error usage_error(std::string message);

}  // namespace tarn::cli
