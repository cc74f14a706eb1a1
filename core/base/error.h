// The one exception of the program, for failures that end the request. Expected outcomes (absent,
// conflict, lost race) are return values.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace tarn {

/// Kinds of errors, by what the caller can do. Choosing between neighbours: precondition_failed =
/// do not retry until the state changes; conflict = retry the whole operation on the new state;
/// unavailable = retry the same call.
enum class ErrorCode {
  kInvalidArgument,   ///< The request is wrong in any state.
  kUnauthenticated,   ///< The caller is unknown or not verified.
  kPermissionDenied,  ///< Who asks is known and may not.
  kNotFound,
  kAlreadyExists,
  kPreconditionFailed,
  kConflict,
  kGone,               ///< It was here; its bytes are lost or have changed at the source.
  kResourceExhausted,  ///< A named limit was reached.
  kUnavailable,
  kDataLoss,  ///< Stored bytes do not decode or do not match their digest.
  kUnimplemented,
  kInternal,
};

/// snake_case name of a code, for example "not_found".
std::string_view name_of(ErrorCode code);

/// Immutable. `reason()` is a stable snake_case word that programs may match on ("dirty_branch");
/// it defaults to the code's name. `what()` has the form "<action and object>: <problem>", lower
/// case, without full stop.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);
  /// `reason` must point at storage that lives for ever (a literal).
  Error(ErrorCode code, std::string_view reason, std::string message);

  ErrorCode code() const { return code_; }
  std::string_view reason() const { return reason_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorCode code_;
  std::string_view reason_;
  std::string message_;
};

/// Throws invalid_argument; the short form parsers use.
[[noreturn]] void throw_invalid(std::string message);

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace tarn

/// A programmer's error: throws internal, in every build, so only the request ends.
#define TARN_CHECK(condition)                                               \
  do {                                                                      \
    if (!(condition)) ::tarn::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
