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

bool takes_every_origin(const CorsRule& rule) {
  const auto& origins = rule.allowed_origins;
  return std::find(origins.begin(), origins.end(), "*") != origins.end();
}

[[noreturn]] void forbid(std::string_view why) {
  throw Refusal(failure::kAccessForbidden, str_cat("CORSResponse: ", why));
}

/// The requested header names. They are echoed, so they must be tokens.
std::vector<std::string> requested_headers(std::string_view requested) {
  std::vector<std::string> names;
  while (!requested.empty()) {
    const size_t comma = std::min(requested.find(','), requested.size());
    const std::string_view name = trimmed(requested.substr(0, comma));
    requested.remove_prefix(std::min(comma + 1, requested.size()));
    if (name.empty()) continue;
    if (names.size() == kRequestedHeadersMax || !is_token(name)) {
      forbid("Access-Control-Request-Headers has too many names, or one that is none.");
    }
    names.emplace_back(name);
  }
  return names;
}

/// Adds the response headers that let the origin read the response.
void add_origin(const CorsRule& rule, std::string_view origin, http::Headers& out) {
  out.add("Access-Control-Allow-Origin", takes_every_origin(rule) ? "*" : std::string(origin));
  if (!rule.exposed_headers.empty()) {
    out.add("Access-Control-Expose-Headers", joined(rule.exposed_headers, ", "));
  }
}

/// The rule that decides; nullptr: none fits.
const CorsRule* find_rule(const CorsRules& rules, std::string_view origin, std::string_view method,
                          const std::vector<std::string>& headers) {
  const auto at = std::find_if(rules.begin(), rules.end(), [&](const CorsRule& rule) {
    return matches_any(rule.allowed_origins, origin) &&
           std::find(rule.allowed_methods.begin(), rule.allowed_methods.end(), method) !=
               rule.allowed_methods.end() &&
           std::all_of(headers.begin(), headers.end(), [&](const std::string& name) {
             return matches_any(rule.allowed_headers, name);
           });
  });
  return at == rules.end() ? nullptr : &*at;
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

http::Response answer_preflight(const CorsRules& rules, const http::Headers& request) {
  const std::string* origin = request.find("origin");
  const std::string* method = request.find("access-control-request-method");
  if (!origin || !method) {
    throw Refusal(failure::kBadRequest,
                  "Insufficient information. Origin and Access-Control-Request-Method request "
                  "headers needed.");
  }
  if (rules.empty()) {
    forbid(
        "CORS is not enabled for this bucket. Put rules with PutBucketCors, or let the operator "
        "set s3.cors.allowed_origins.");
  }
  const std::vector<std::string> headers =
      requested_headers(request.get("access-control-request-headers"));
  const CorsRule* rule = find_rule(rules, *origin, *method, headers);
  if (!rule) {
    forbid("This CORS request is not allowed: no rule has the origin, the method and the headers.");
  }
  http::Response response;
  add_origin(*rule, *origin, response.headers);
  response.headers.add("Access-Control-Allow-Methods", joined(rule->allowed_methods, ", "));
  if (!headers.empty()) {
    response.headers.add("Access-Control-Allow-Headers", joined(headers, ", "));
  }
  if (rule->max_age) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*rule->max_age).count();
    response.headers.add("Access-Control-Max-Age", std::to_string(seconds));
  }
  response.headers.add("Vary",
                       "Origin, Access-Control-Request-Headers, Access-Control-Request-Method");
  return response;
}

void add_cors_headers(const CorsRules& rules, const http::Request& request,
                      http::Headers& response) {
  if (rules.empty() || request.method == "OPTIONS") return;
  // Caches must not serve one origin the response for another.
  if (!std::all_of(rules.begin(), rules.end(), takes_every_origin)) response.add("Vary", "Origin");
  const std::string* origin = request.headers.find("origin");
  const CorsRule* rule = origin ? find_rule(rules, *origin, request.method, {}) : nullptr;
  if (rule) add_origin(*rule, *origin, response);
}

}  // namespace tarn::s3
