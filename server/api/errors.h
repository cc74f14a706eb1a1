// REST responses for errors.
#pragma once

#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/http/message.h"

namespace tarn::api {

struct FailureStatus {
  int status = 500;
  std::optional<int> retry_after_seconds;
};

/// The status of the error's reason if it has its own, else of its code.
FailureStatus status_of(const Error& error);

/// The message of every sign-in that failed.
constexpr std::string_view kUnauthenticatedText = "error authenticating request";

/// The complete response; `request_id` goes into the body. The message of an expired token is its
/// "detail". Messages of internal and of unavailable
/// errors without a reason stay in the log.
http::Response failure_response(const Error& error, std::string_view request_id);

}  // namespace tarn::api
