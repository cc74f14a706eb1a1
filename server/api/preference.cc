#include "server/api/preference.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/base/text.h"

namespace tarn::api {
namespace {

using std::chrono::seconds;

std::optional<seconds> wait_of(std::string_view preference) {
  constexpr std::string_view kWait = "wait=";
  if (preference == "respond-async") return seconds{0};
  if (!preference.starts_with(kWait)) return std::nullopt;
  preference.remove_prefix(kWait.size());
  uint32_t value = 0;
  const char* last = preference.data() + preference.size();
  const auto [end, error] = std::from_chars(preference.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return std::min(seconds{value}, kPreferredWaitMax);
}

}  // namespace

std::optional<seconds> preferred_wait(const http::Request& request) {
  std::optional<seconds> found;
  for (const auto& [name, value] : request.headers.all()) {
    if (!equal_ignoring_case(name, "Prefer")) continue;
    std::string_view left = value;
    for (;;) {
      const size_t comma = left.find(',');
      const std::optional<seconds> wait = wait_of(trimmed(left.substr(0, comma), " "));
      // "respond-async, wait=5" waits 5 seconds.
      if (wait && (!found || *wait > *found)) found = wait;
      if (comma == std::string_view::npos) break;
      left.remove_prefix(comma + 1);
    }
  }
  return found;
}

}  // namespace tarn::api
