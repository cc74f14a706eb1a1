#include "s3gateway/wire/cors.h"

#include <algorithm>
#include <array>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

constexpr std::array<std::string_view, 5> kMethods = {"GET", "HEAD", "PUT", "POST", "DELETE"};
/// Maximum number of names in Access-Control-Request-Headers; browsers send a dozen at most.
constexpr size_t kRequestedHeadersMax = 100;

/// Ignores case; `pattern` may contain one "*".
bool matches(std::string_view pattern, std::string_view text) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return equal_ignoring_case(pattern, text);
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = pattern.substr(star + 1);
  return text.size() >= before.size() + after.size() && starts_with_ignoring_case(text, before) &&
         equal_ignoring_case(after, text.substr(text.size() - after.size()));
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, text); });
}

bool takes_every_origin(const CorsOptions& options) {
  const auto& origins = options.allowed_origins;
  return std::find(origins.begin(), origins.end(), "*") != origins.end();
}

[[noreturn]] void forbid(std::string_view why) {
  throw Refusal(failure::kAccessForbidden, str_cat("CORSResponse: ", why));
}

/// The requested header names, all of which must be allowed. They are echoed, so they must be
/// tokens.
std::string allowed_request_headers(const CorsOptions& options, std::string_view requested) {
  std::vector<std::string> names;
  while (!requested.empty()) {
    const size_t comma = std::min(requested.find(','), requested.size());
    const std::string_view name = trimmed(requested.substr(0, comma));
    requested.remove_prefix(std::min(comma + 1, requested.size()));
    if (name.empty()) continue;
    if (names.size() == kRequestedHeadersMax || !is_token(name) ||
        !matches_any(options.allowed_headers, name)) {
      forbid("A header in Access-Control-Request-Headers is not allowed.");
    }
    names.emplace_back(name);
  }
  return joined(names, ", ");
}

/// Adds the response headers that let the origin read the response.
void add_origin(const CorsOptions& options, std::string_view origin, http::Headers& out) {
  out.add("Access-Control-Allow-Origin", takes_every_origin(options) ? "*" : std::string(origin));
  if (!options.exposed_headers.empty()) {
    out.add("Access-Control-Expose-Headers", joined(options.exposed_headers, ", "));
  }
}

bool is_allowed(const CorsOptions& options, std::string_view origin, std::string_view method) {
  return matches_any(options.allowed_origins, origin) &&
         std::find(options.allowed_methods.begin(), options.allowed_methods.end(), method) !=
             options.allowed_methods.end();
}

}  // namespace

std::optional<std::string> check_cors_origin(std::string_view origin) {
  if (origin == "*") return std::nullopt;
  const size_t scheme = origin.find("://");
  const std::string_view host = scheme == std::string_view::npos ? "" : origin.substr(scheme + 3);
  const bool visible = std::all_of(origin.begin(), origin.end(),
                                   [](char c) { return c > ' ' && c < 0x7f && c != ','; });
  const bool one_star = std::count(origin.begin(), origin.end(), '*') <= 1;
  if (scheme == 0 || host.empty() || !visible || !one_star ||
      host.find_first_of("/?#@") != std::string_view::npos) {
    return "must be * or a scheme, :// and a host, maybe with a port, with one * at most";
  }
  return std::nullopt;
}

std::optional<std::string> check_cors_method(std::string_view method) {
  if (std::find(kMethods.begin(), kMethods.end(), method) != kMethods.end()) return std::nullopt;
  return "must be GET, HEAD, PUT, POST or DELETE";
}

std::optional<std::string> check_cors_header(std::string_view header, bool wildcard) {
  const auto stars = std::count(header.begin(), header.end(), '*');
  if (is_token(header) && stars <= (wildcard ? 1 : 0)) return std::nullopt;
  return wildcard ? "must be the name of a header, with one * at most"
                  : "must be the name of a header";
}

http::Response answer_preflight(const CorsOptions& options, const http::Headers& request) {
  const std::string* origin = request.find("origin");
  const std::string* method = request.find("access-control-request-method");
  if (!origin || !method) {
    throw Refusal(failure::kBadRequest,
                  "Insufficient information. Origin and Access-Control-Request-Method request "
                  "headers needed.");
  }
  if (options.allowed_origins.empty()) {
    forbid("CORS is not enabled on this server. Its s3.cors.allowed_origins names no origin.");
  }
  if (!is_allowed(options, *origin, *method)) {
    forbid("This CORS request is not allowed: the origin or the method is not.");
  }
  http::Response response;
  const std::string headers =
      allowed_request_headers(options, request.get("access-control-request-headers"));
  add_origin(options, *origin, response.headers);
  response.headers.add("Access-Control-Allow-Methods", joined(options.allowed_methods, ", "));
  if (!headers.empty()) response.headers.add("Access-Control-Allow-Headers", headers);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.max_age).count();
  response.headers.add("Access-Control-Max-Age", std::to_string(seconds));
  response.headers.add("Vary",
                       "Origin, Access-Control-Request-Headers, Access-Control-Request-Method");
  return response;
}

void add_cors_headers(const CorsOptions& options, const http::Request& request,
                      http::Headers& response) {
  if (options.allowed_origins.empty() || request.method == "OPTIONS") return;
  // Caches must not serve one origin the response for another.
  if (!takes_every_origin(options)) response.add("Vary", "Origin");
  const std::string* origin = request.headers.find("origin");
  if (origin && is_allowed(options, *origin, request.method)) {
    add_origin(options, *origin, response);
  }
}

}  // namespace tarn::s3
