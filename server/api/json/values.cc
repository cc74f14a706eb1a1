#include "server/api/json/values.h"

#include <charconv>
#include <string>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/model/names.h"

namespace tarn::api::json {
namespace {

constexpr int64_t kSecondsMin = -62'135'596'800;  // 0001-01-01
constexpr int64_t kSecondsMax = 253'402'300'799;  // 9999-12-31

/// About 3000 years; a larger delay would overflow when added to a time.
constexpr int64_t kDelaySecondsMax = 100'000'000'000;

/// 0 for an unknown unit.
int64_t seconds_of_unit(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86'400;
    default:
      return 0;
  }
}

std::optional<std::chrono::seconds> delay_of(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const int64_t unit = seconds_of_unit(text.back());
  text.remove_suffix(1);
  int64_t count = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = failure == std::errc() && end == text.data() + text.size();
  if (unit == 0 || !whole || count < 0 || count > kDelaySecondsMax / unit) return std::nullopt;
  return std::chrono::seconds(count * unit);
}

}  // namespace

Instant instant_of(const Value& seconds) {
  return from_millis(seconds.integer(kSecondsMin, kSecondsMax) * 1000);
}

std::chrono::seconds parse_delay(std::string_view text, std::string_view name) {
  if (const auto delay = delay_of(text)) return *delay;
  throw_invalid(str_cat(name, ": must be a time like 72h (s, m, h or d)"));
}

Deadline parse_deadline(const Value& text) {
  const std::string given = text.text();
  if (const auto delay = delay_of(given)) return {.at = std::nullopt, .after = *delay};
  if (const auto moment = parse_rfc3339(given)) return {.at = *moment};
  text.fail("must be a time as in RFC 3339, or a time from now like 72h (s, m, h or d)");
}

Glob parse_glob(const Value& value) {
  const std::string text = value.text();
  const std::string problem = Glob::problem(text);
  if (!problem.empty()) value.fail(problem);
  return Glob(text);
}

PathScope parse_path_scope(const Value& value) {
  const std::vector<Value> items = value.items();
  if (items.empty() || items.size() > kPathPatternsMax) {
    value.fail(str_cat("must have 1 to ", kPathPatternsMax, " items"));
  }
  std::vector<std::string> patterns;
  for (const Value& item : items) patterns.push_back(parse_glob(item).pattern());
  return PathScope(patterns);
}

branch::ExpectedObjects parse_expected_objects(const Value& list, size_t count_max) {
  constexpr size_t kSha256Bytes = 32;
  const std::vector<Value> items = list.items();
  if (items.size() > count_max) list.fail(str_cat("must have at most ", count_max, " items"));
  branch::ExpectedObjects out;
  for (const Value& item : items) {
    const Value sha256 = item.at("sha256");
    std::optional<std::string> digest = from_hex(sha256.text());
    if (!digest || digest->size() != kSha256Bytes) sha256.fail("must be 64 hex digits");
    const Value path = item.at("path");
    if (!out.emplace(parse_key(path.text()).str(), *std::move(digest)).second) {
      path.fail("is given twice");
    }
  }
  return out;
}

void refuse_unknown(const Value& body, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : body.members()) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      value.fail("is no member of this request");
  }
}

}  // namespace tarn::api::json
