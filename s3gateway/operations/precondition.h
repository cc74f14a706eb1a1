// If-Match and its relatives, on reads, copies and writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/branch/condition.h"
#include "core/http/message.h"

namespace tarn::s3 {

/// The conditions of a read as sent; "" = absent.
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

enum class ReadVerdict { kProceed, kNotModified, kFailed };

/// If-Match, or without it If-Unmodified-Since, then If-None-Match, or without it
/// If-Modified-Since. Dates compare in whole seconds; unreadable ones do not count. Source: RFC
/// 9110 section 13.2.2.
ReadVerdict evaluate(const ReadConditions& conditions, std::string_view etag, Instant modified);

/// Whether a list such as `"a", W/"b", c` or `*` names the unquoted `etag`.
bool etag_listed(std::string_view list, std::string_view etag);

/// If-Match and If-None-Match of a write; without a value they are no condition. Throws
/// InvalidArgument for a list without an etag in it, NotImplemented for an If-None-Match that holds
/// anything else.
versioning::Condition write_condition(const http::Headers& headers);
/// Those of a deletion, which may also name the size and the time of what is to go:
/// x-amz-if-match-size and x-amz-if-match-last-modified-time. Throws InvalidArgument for texts that
/// are no number and no time.
versioning::Condition deletion_condition(const http::Headers& headers);
/// A condition that holds a time, an HTTP date or ISO 8601; nullopt when it is absent. Throws
/// InvalidArgument for other texts.
std::optional<Instant> time_condition(const http::Headers& headers, std::string_view name);

constexpr std::string_view kIfMatchSize = "x-amz-if-match-size";
constexpr std::string_view kIfMatchTime = "x-amz-if-match-last-modified-time";

}  // namespace tarn::s3
