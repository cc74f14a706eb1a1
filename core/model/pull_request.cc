#include "core/model/pull_request.h"

#include <array>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/model/descending_id.h"

namespace tarn {
namespace {

constexpr std::array<std::string_view, 3> kStatuses = {"open", "closed", "merged"};

}  // namespace

std::string_view name_of(PullRequestStatus status) {
  return kStatuses[static_cast<size_t>(status)];
}

std::optional<PullRequestStatus> parse_pull_request_status(std::string_view name) {
  return find_name<PullRequestStatus>(kStatuses, name);
}

std::string make_pull_request_id(Instant now) { return make_descending_id(now); }

std::string parse_pull_request_id(std::string_view text) {
  if (!is_descending_id(text)) {
    throw_invalid("argument pullRequestID: must be 20 characters of 0-9 and a-v");
  }
  return std::string(text);
}

}  // namespace tarn
