// If-Match and related conditions of reads, copies and writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/branch/condition.h"
#include "core/http/message.h"

namespace tarn::s3 {

/// The conditions of a read as received; "" = absent.
struct ReadConditions {
  std::string_view if_match = {};
  std::string_view if_none_match = {};
  std::string_view if_modified_since = {};
  std::string_view if_unmodified_since = {};

  bool none() const {
    return if_match.empty() && if_none_match.empty() && if_modified_since.empty() &&
           if_unmodified_since.empty();
  }
};
/// Views into the request's headers.
ReadConditions read_conditions(const http::Headers& headers);
/// The x-amz-copy-source-if-* headers.
ReadConditions copy_source_conditions(const http::Headers& headers);

/// Throws PreconditionFailed.
[[noreturn]] void refuse_condition();

enum class ReadVerdict { kProceed, kNotModified, kFailed };

/// Evaluates If-Match, or without it If-Unmodified-Since, then If-None-Match, or without it
/// If-Modified-Since. Dates compare in whole seconds; unreadable ones are ignored. Source: RFC 9110
/// section 13.2.2.
ReadVerdict evaluate(const ReadConditions& conditions, std::string_view etag, Instant modified);

/// Whether a list such as `"a", W/"b", c` or `*` contains the unquoted `etag`.
bool etag_listed(std::string_view list, std::string_view etag);

/// If-Match and If-None-Match of a write; empty values are ignored. Throws InvalidArgument for a
/// list without ETags, NotImplemented for an If-None-Match with anything but ETags.
branch::Condition write_condition(const http::Headers& headers);
/// The conditions of a deletion, which also include the object's size and time: x-amz-if-match-size
/// and x-amz-if-match-last-modified-time. Throws InvalidArgument for an invalid number or time.
branch::Condition deletion_condition(const http::Headers& headers);
/// The time in a condition, an HTTP date or ISO 8601; nullopt if absent. Throws InvalidArgument for
/// other text.
std::optional<Instant> time_condition(const http::Headers& headers, std::string_view name);

constexpr std::string_view kIfMatchSize = "x-amz-if-match-size";
constexpr std::string_view kIfMatchTime = "x-amz-if-match-last-modified-time";

}  // namespace tarn::s3
