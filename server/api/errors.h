// Errors as REST answers.
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

/// By code, unless the reason has a status of its own.
FailureStatus status_of(const Error& error);

/// The whole answer; `request_id` goes into the body. Messages of internal and of plain
/// unavailable errors stay in the log.
http::Response failure_response(const Error& error, std::string_view request_id);

}  // namespace tarn::api
