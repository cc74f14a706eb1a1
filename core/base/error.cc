#include "core/base/error.h"

#include <string>
#include <utility>

namespace tarn {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kUnauthenticated:
      return "unauthenticated";
    case ErrorCode::kPermissionDenied:
      return "permission_denied";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kAlreadyExists:
      return "already_exists";
    case ErrorCode::kPreconditionFailed:
      return "precondition_failed";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kGone:
      return "gone";
    case ErrorCode::kResourceExhausted:
      return "resource_exhausted";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kDataLoss:
      return "data_loss";
    case ErrorCode::kUnimplemented:
      return "unimplemented";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error::Error(ErrorCode code, std::string message)
    : Error(code, name_of(code), std::move(message)) {}

Error::Error(ErrorCode code, std::string_view reason, std::string message)
    : code_(code), reason_(reason), message_(std::move(message)) {}

void throw_invalid(std::string message) {
  throw Error(ErrorCode::kInvalidArgument, std::move(message));
}

void check_failed(const char* expression, const char* file, int line) {
  throw Error(ErrorCode::kInternal, std::string("check failed: ") + expression + " at " + file +
                                        ":" + std::to_string(line));
}

}  // namespace tarn
