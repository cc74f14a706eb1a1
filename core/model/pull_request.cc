#include "core/model/pull_request.h"

#include <array>
#include <charconv>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/model/descending_id.h"

namespace tarn {
namespace {

constexpr std::array<std::string_view, 3> kStatuses = {"open", "closed", "merged"};
constexpr std::array<std::string_view, 2> kVerdicts = {"approved", "changes_requested"};

}  // namespace

std::string_view name_of(PullRequestStatus status) {
  return kStatuses[static_cast<size_t>(status)];
}

std::optional<PullRequestStatus> parse_pull_request_status(std::string_view name) {
  return find_name<PullRequestStatus>(kStatuses, name);
}

std::string_view name_of(ReviewVerdict verdict) { return kVerdicts[static_cast<size_t>(verdict)]; }

std::optional<ReviewVerdict> parse_review_verdict(std::string_view name) {
  return find_name<ReviewVerdict>(kVerdicts, name);
}

std::string make_pull_request_id(Instant now) { return make_descending_id(now); }

std::string parse_pull_request_id(std::string_view text) {
  if (!is_descending_id(text)) {
    throw_invalid(
        "argument pullRequestID: must be a number such as 12, or 20 characters of 0-9 and a-v");
  }
  return std::string(text);
}

std::optional<int32_t> parse_pull_request_number(std::string_view text) {
  if (is_descending_id(text)) return std::nullopt;
  if (text.starts_with('#')) text.remove_prefix(1);
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

}  // namespace tarn
