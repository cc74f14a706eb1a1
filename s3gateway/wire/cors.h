// Which pages of other origins may use the gateway from a browser.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/http/message.h"

namespace tarn::s3 {

/// One rule for all buckets. Origins and headers may hold one "*" for any text. Cookies are never
/// allowed: signatures say who asks.
struct CorsOptions {
  std::vector<std::string> allowed_origins{};  ///< "https://*.example.com"; empty = CORS is off
  std::vector<std::string> allowed_methods{};
  std::vector<std::string> allowed_headers{};
  std::vector<std::string> exposed_headers{};
  std::chrono::milliseconds max_age{0};  ///< how long browsers keep the answer to a preflight
};

/// The error in an entry of each list; nullopt for a good one. Whatever passes can stand in a
/// header of an answer.
std::optional<std::string> check_cors_origin(std::string_view origin);
std::optional<std::string> check_cors_method(std::string_view method);
std::optional<std::string> check_cors_header(std::string_view header, bool wildcard);

/// The answer to a preflight, which nobody signs and which tells nothing but these options. Throws
/// BadRequest (no preflight), AccessForbidden.
http::Response answer_preflight(const CorsOptions& options, const http::Headers& request);

/// Adds to the answer of any other request, failures included, what lets its page read it.
void add_cors_headers(const CorsOptions& options, const http::Request& request,
                      http::Headers& response);

}  // namespace tarn::s3
