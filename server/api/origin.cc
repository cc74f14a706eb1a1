#include "server/api/origin.h"

#include <string_view>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/text.h"

namespace tarn::api {
namespace {

/// Host and port of "https://host:port"; "" for an origin without a host ("null").
std::string_view host_of(std::string_view origin) {
  constexpr std::string_view kMark = "://";
  const size_t at = origin.find(kMark);
  return at == std::string_view::npos ? std::string_view() : origin.substr(at + kMark.size());
}

bool is_from_here(const http::Request& request) {
  bool says_site = false;
  for (const auto& [name, value] : request.headers.all()) {
    if (!equal_ignoring_case(name, "Sec-Fetch-Site")) continue;
    if (value != "same-origin" && value != "none") return false;
    says_site = true;
  }
  const std::string* origin = request.headers.find("Origin");
  if (says_site || origin == nullptr) return true;
  const std::string_view host = host_of(*origin);
  return !host.empty() && equal_ignoring_case(host, request.headers.get("Host"));
}

}  // namespace

void check_origin(const http::Request& request) {
  if (is_from_here(request)) return;
  throw Error(ErrorCode::kPermissionDenied, reason::kCrossOrigin,
              "a page of another origin may not change anything: sign in on this server's own "
              "page, or send the key in the header Authorization; a proxy must pass Host on");
}

}  // namespace tarn::api
