// CORS: access to the gateway from web pages of other origins.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/http/message.h"

namespace tarn::s3 {

/// Origins and headers may contain one "*" for any text. Cookies are never allowed: requests are
/// authenticated by signatures.
struct CorsRule {
  std::vector<std::string> allowed_origins{};  ///< "https://*.example.com"
  std::vector<std::string> allowed_methods{};
  std::vector<std::string> allowed_headers{};
  std::vector<std::string> exposed_headers{};
  /// How long browsers cache the response to a preflight; absent: the browser decides.
  std::optional<std::chrono::milliseconds> max_age{};
  std::string id{};  ///< shown with the rule

  bool operator==(const CorsRule&) const = default;
};
/// The first that fits a request decides.
using CorsRules = std::vector<CorsRule>;

/// The error in an entry of each list; nullopt for a valid one. Valid entries are safe in response
/// headers.
std::optional<std::string> check_cors_origin(std::string_view origin);
std::optional<std::string> check_cors_method(std::string_view method);
std::optional<std::string> check_cors_header(std::string_view header, bool wildcard);

/// The response to a preflight, which is unsigned and reveals only these rules. Throws BadRequest
/// (no preflight), AccessForbidden.
http::Response answer_preflight(const CorsRules& rules, const http::Headers& request);

/// Adds the CORS headers to the response of any other request, failures included.
void add_cors_headers(const CorsRules& rules, const http::Request& request,
                      http::Headers& response);

}  // namespace tarn::s3
