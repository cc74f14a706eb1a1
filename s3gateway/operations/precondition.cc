#include "s3gateway/operations/precondition.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/range.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kAny = "*";

/// Removes the next etag from the start of `list`, without quotes and W/; nullopt at the end.
/// `had_quotes` is set to whether it had quotes.
std::optional<std::string_view> next_etag(std::string_view& list, bool* had_quotes = nullptr) {
  while (!list.empty() && (list.front() == ' ' || list.front() == '\t' || list.front() == ',')) {
    list.remove_prefix(1);
  }
  if (list.empty()) return std::nullopt;
  if (list.starts_with("W/\"")) list.remove_prefix(2);
  const bool quoted = list.front() == '"';
  if (had_quotes) *had_quotes = quoted;
  if (quoted) list.remove_prefix(1);
  const size_t end = std::min(list.find(quoted ? '"' : ','), list.size());
  const std::string_view etag = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return quoted ? etag : trimmed(etag);
}

/// Whether the list has a word that cannot be an ETag: "*" among others, or text with blanks.
bool holds_other_text(std::string_view list) {
  bool quoted = false;
  while (const auto etag = next_etag(list, &quoted)) {
    const std::string_view rest = trimmed(list);
    if (quoted ? !rest.empty() && rest.front() != ','
               : *etag == kAny || etag->find_first_of(" \t") != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> etags_of(std::string_view list, std::string_view header) {
  std::vector<std::string> out;
  while (const auto etag = next_etag(list)) out.emplace_back(*etag);
  if (out.empty()) {
    throw Refusal(failure::kInvalidArgument,
                  str_cat("The header ", header, " must hold an ETag or \"*\"."));
  }
  return out;
}

[[noreturn]] void refuse_argument(std::string_view header, const std::string& value,
                                  std::string_view expected) {
  throw Refusal(failure::kInvalidArgument,
                str_cat("The condition ", header, " must hold ", expected, '.'),
                {{"ArgumentName", std::string(header)}, {"ArgumentValue", value}});
}

/// Whether `modified` is later than the date; nullopt when the date is absent or unreadable.
std::optional<bool> modified_since(std::string_view date, Instant modified) {
  if (date.empty()) return std::nullopt;
  const std::optional<Instant> since = parse_http_date(date);
  if (!since) return std::nullopt;
  return to_seconds(modified) > to_seconds(*since);
}

}  // namespace

ReadConditions read_conditions(const http::Headers& headers) {
  return {headers.get("if-match"), headers.get("if-none-match"), headers.get("if-modified-since"),
          headers.get("if-unmodified-since")};
}

ReadConditions copy_source_conditions(const http::Headers& headers) {
  return {headers.get("x-amz-copy-source-if-match"), headers.get("x-amz-copy-source-if-none-match"),
          headers.get("x-amz-copy-source-if-modified-since"),
          headers.get("x-amz-copy-source-if-unmodified-since")};
}

void refuse_condition() {
  throw Refusal(failure::kPreconditionFailed,
                "At least one of the pre-conditions you specified did not hold");
}

bool etag_listed(std::string_view list, std::string_view etag) {
  if (trimmed(list) == kAny) return true;
  while (const auto listed = next_etag(list)) {
    if (*listed == etag) return true;
  }
  return false;
}

ReadVerdict evaluate(const ReadConditions& conditions, std::string_view etag, Instant modified) {
  if (!conditions.if_match.empty()) {
    if (!etag_listed(conditions.if_match, etag)) return ReadVerdict::kFailed;
  } else if (modified_since(conditions.if_unmodified_since, modified).value_or(false)) {
    return ReadVerdict::kFailed;
  }
  if (!conditions.if_none_match.empty()) {
    if (etag_listed(conditions.if_none_match, etag)) return ReadVerdict::kNotModified;
  } else if (!modified_since(conditions.if_modified_since, modified).value_or(true)) {
    return ReadVerdict::kNotModified;
  }
  return ReadVerdict::kProceed;
}

branch::Condition write_condition(const http::Headers& headers) {
  branch::Condition out;
  const auto given = [&headers](std::string_view name) {
    const std::string* list = headers.find(name);
    return list && !trimmed(*list).empty() ? list : nullptr;
  };
  if (const std::string* list = given("if-match")) {
    out.if_present = trimmed(*list) == kAny;
    if (!out.if_present) out.if_match = etags_of(*list, "If-Match");
  }
  if (const std::string* list = given("if-none-match")) {
    out.if_absent = trimmed(*list) == kAny;
    // Every object differs from a value that is not an ETag, so the write would be unconditional.
    if (!out.if_absent && holds_other_text(*list)) {
      throw Refusal(
          failure::kNotImplemented,
          "A header you provided implies functionality that is not implemented: "
          "If-None-Match with text that is neither \"*\" nor an ETag. Send the ETag in quotes.",
          {{"Header", "If-None-Match"}});
    }
    if (!out.if_absent) out.if_none_match = etags_of(*list, "If-None-Match");
  }
  return out;
}

branch::Condition deletion_condition(const http::Headers& headers) {
  branch::Condition out = write_condition(headers);
  if (const std::string* size = headers.find(kIfMatchSize)) {
    out.if_size_bytes = parse_decimal(trimmed(*size));
    if (!out.if_size_bytes) refuse_argument(kIfMatchSize, *size, "a number of bytes");
  }
  out.if_modified = time_condition(headers, kIfMatchTime);
  return out;
}

std::optional<Instant> time_condition(const http::Headers& headers, std::string_view name) {
  const std::string* value = headers.find(name);
  if (!value) return std::nullopt;
  const std::string_view text = trimmed(*value);
  std::optional<Instant> time = parse_http_date(text);
  if (!time) time = parse_rfc3339(text);
  if (!time) refuse_argument(name, *value, "a date");
  return time;
}

}  // namespace tarn::s3
