#include "server/api/parameter.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/glob.h"
#include "core/base/str_cat.h"
#include "core/base/time.h"
#include "core/model/page.h"
#include "core/search/expression.h"
#include "core/search/instant.h"
#include "core/search/sort_order.h"

namespace tarn::api {
namespace {

/// Source: S3's limit of parts.
constexpr uint32_t kPartCountMax = 10'000;

[[noreturn]] void fail(std::string_view name, std::string_view place, std::string_view why) {
  throw_invalid(str_cat("parameter \"", name, "\" in ", place, " has an error: ", why));
}

/// Matches ^bytes=((\d*-\d*,? ?)+)$.
bool is_byte_ranges(std::string_view text) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text.starts_with(kUnit)) return false;
  text.remove_prefix(kUnit.size());
  if (text.empty()) return false;
  const auto digits = [&] {
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') text.remove_prefix(1);
  };
  while (!text.empty()) {
    digits();
    if (text.empty() || text[0] != '-') return false;
    text.remove_prefix(1);
    digits();
    if (!text.empty() && text[0] == ',') text.remove_prefix(1);
    if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  }
  return true;
}

/// A description of the error in `value`, or "".
std::string complaint(Parameter::Kind kind, std::string_view value) {
  using Kind = Parameter::Kind;
  switch (kind) {
    case Kind::kAmount:
      return parse_amount(value) ? "" : "must be an integer from -1 to 1000";
    case Kind::kBoolean:
      return parse_boolean(value) ? "" : "must be true or false";
    case Kind::kRequired:
      return "";
    case Kind::kMoment:
      return parse_rfc3339(value) ? "" : "must be a time as in RFC 3339";
    case Kind::kInstant:
      return search::parse_instant(value) ? ""
                                          : "must be seconds since 1970 or a time as in RFC 3339";
    case Kind::kSize:
      return parse_size(value) ? "" : "must be a number of bytes, 0 or more";
    case Kind::kGlob:
      return Glob::problem(value);
    case Kind::kExpression:
      return search::problem_of_expression(value);
    case Kind::kSort:
      return search::parse_sort_order(value)
                 ? ""
                 : "must be path, size, modified, meta.KEY or tag.KEY, then asc or desc";
    case Kind::kDiffType:
      return value == "two_dot" || value == "three_dot" ? "" : "must be two_dot or three_dot";
    case Kind::kState:
      return value == "open" || value == "closed" || value == "all" ? ""
                                                                    : "must be open, closed or all";
    case Kind::kPartCount:
      return parse_part_count(value) ? "" : "must be an integer from 0 to 10000";
    case Kind::kArchive:
      return value == "tar" || value == "zip" ? "" : "must be tar or zip";
    case Kind::kWait:
      return parse_wait(value) ? "" : "must be 0 to 60 seconds, for example 30s";
    case Kind::kRange:
      return is_byte_ranges(value) ? "" : "must be byte ranges";
  }
  check_failed("Parameter::Kind", __FILE__, __LINE__);
}

void check_text(std::string_view name, std::string_view value) {
  if (value.find('\0') != std::string_view::npos) fail(name, "query", "holds a NUL byte");
  if (!is_utf8(value)) fail(name, "query", "is not UTF-8");
}

void check_one(const Parameter& parameter, const std::string* value, std::string_view place) {
  if (value == nullptr || value->empty()) {
    if (parameter.kind != Parameter::Kind::kRequired) return;
    fail(parameter.name, place,
         value == nullptr ? "value is required but missing" : "empty value is not allowed");
  }
  const std::string why = complaint(parameter.kind, *value);
  if (!why.empty()) fail(parameter.name, place, why);
}

}  // namespace

std::optional<bool> parse_boolean(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"true", "True", "TRUE", "1", "t", "T"};
  constexpr std::array<std::string_view, 6> kFalse = {"false", "False", "FALSE", "0", "f", "F"};
  if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) return false;
  return std::nullopt;
}

std::optional<uint32_t> parse_amount(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < -1 || value > static_cast<int>(kPageItemsMax)) return std::nullopt;
  return value <= 0 ? kAmountDefault : static_cast<uint32_t>(value);
}

std::optional<uint32_t> parse_part_count(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > kPartCountMax) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::chrono::seconds> parse_wait(std::string_view text) {
  if (text.ends_with('s')) text.remove_suffix(1);
  const auto seconds = parse_size(text);
  if (!seconds || *seconds > static_cast<uint64_t>(kWaitMax.count())) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

std::optional<uint64_t> parse_size(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void check_parameters(const Parameters& parameters, const http::Request& request,
                      const http::Query& query) {
  for (const auto& [name, value] : query.all()) check_text(name, value);
  for (size_t i = 0; i < parameters.count; ++i) {
    const Parameter& parameter = parameters.list[i];
    if (parameter.kind == Parameter::Kind::kRange) {
      check_one(parameter, request.headers.find(parameter.name), "header");
    } else {
      check_one(parameter, query.find(parameter.name), "query");
    }
  }
}

}  // namespace tarn::api
