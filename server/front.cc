#include "server/front.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/auth/permissions.h"
#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/base/reasons.h"
#include "s3gateway/wire/address.h"
#include "server/api/block_url.h"
#include "server/api/credentials.h"
#include "server/api/errors.h"
#include "server/api/origin.h"
#include "server/api/response.h"
#include "server/downloads.h"
#include "server/openapi.h"
#include "server/web_page.h"

namespace tarn::server {
namespace {

/// A hint for users of clients that are configured with a wrong URL.
std::string_view hint_for(std::string_view path) {
  if (path.starts_with("/minio/")) {
    return "This server is Tarn, not MinIO: it has nothing below /minio. /_health and /_ready say "
           "how it is, and the API is below /api/v1.\n";
  }
  if (path == "/api" || path.starts_with("/api/")) {
    return "There is nothing at this address: the API is below /api/v1.\n";
  }
  return "There is nothing at this address.\n";
}

}  // namespace

bool is_rest(const http::Request& request) {
  const std::string_view path = request.raw_path();
  return path == "/api/v1" || path.starts_with("/api/v1/");
}

bool is_block(const http::Request& request, std::span<const std::string> s3_hosts) {
  return api::is_block_request(request) &&
         s3::subdomain_of(request.headers.get("Host"), s3_hosts).value_or("").empty();
}

Client client_of(const http::Request& request, std::span<const std::string> trusted_proxies) {
  Client client{request.peer, request.tls};
  const auto trusted = [&](std::string_view address) {
    return std::any_of(
        trusted_proxies.begin(), trusted_proxies.end(),
        [&](const std::string& block) { return auth::in_address_block(address, block); });
  };
  if (!trusted(request.peer)) return client;
  if (const std::string* scheme = request.headers.find("X-Forwarded-Proto")) {
    client.tls = *scheme == "https";
  }
  // Every proxy appends the address of its client; only entries that trusted proxies appended are
  // reliable.
  std::string_view chain = request.headers.get("X-Forwarded-For");
  while (!chain.empty()) {
    const size_t comma = chain.rfind(',');
    std::string_view address = comma == std::string_view::npos ? chain : chain.substr(comma + 1);
    while (address.starts_with(' ')) address.remove_prefix(1);
    while (address.ends_with(' ')) address.remove_suffix(1);
    if (!auth::in_address_block(address, address)) return client;
    client.address = address;
    if (!trusted(address) || comma == std::string_view::npos) return client;
    chain = chain.substr(0, comma);
  }
  const std::string_view real = request.headers.get("X-Real-IP");
  if (auth::in_address_block(real, real)) client.address = real;
  return client;
}

void take_client_address(http::Request& request, std::span<const std::string> trusted_proxies) {
  Client client = client_of(request, trusted_proxies);
  request.peer = std::move(client.address);
  request.tls = client.tls;
}

http::Response ServicePages::handle(const http::Request& request) const {
  http::Response response;
  try {
    response = answer(request);
  } catch (const Error& error) {
    response = api::failure_response(error, request.id);
  }
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.headers.add("X-Request-Id", request.id);
  if (request.method == "HEAD") {
    response.content_length = response.body.size();
    response.body.clear();
  }
  return response;
}

http::Response ServicePages::answer(const http::Request& request) const {
  const std::string_view path = request.raw_path();
  const bool has_page = serves_ != Serves::kMetricsAlone;
  const bool has_metrics = serves_ != Serves::kNoMetrics;
  if (has_page && path == "/logout") return log_out(request);
  if (request.method == "GET" || request.method == "HEAD") {
    if (path == "/_health" || path == "/_ready") return health(path);
    if (has_metrics && path == "/openapi.json") {
      http::Response response = api::json_response(200, openapi_json());
      response.headers.add("Access-Control-Allow-Origin", "*");  // for viewers of OpenAPI files
      return response;
    }
    if (has_metrics && path == "/metrics") {
      http::Response response = api::text_response(200, metrics::text());
      response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
      return response;
    }
    if (has_page) {
      if (auto file = Downloads::installed().answer(request)) return *std::move(file);
      if (auto page = web_page(embedded_web_bundle(), request)) return *std::move(page);
    }
  }
  if (is_rest(request)) {  // on an address that serves only metrics
    return api::failure_response(
        Error(ErrorCode::kNotFound, reason::kUnknownEndpoint, "there is nothing at this address"),
        request.id);
  }
  return api::text_response(404, std::string(hint_for(path)));
}

// GET would let pages of other origins end the session, but lakeFS's web page uses it.
http::Response ServicePages::log_out(const http::Request& request) const {
  api::check_origin(request);
  if (const auto session = api::cookie(request.headers, api::kSessionCookie)) {
    end_session_(*session);
  }
  http::Response response = api::empty_response(303);
  response.headers.add("Location", "/");
  response.headers.add("Set-Cookie", std::string(api::kSessionCookie) +
                                         "=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
  return response;
}

http::Response ServicePages::health(std::string_view path) const {
  if (path == "/_health") return api::text_response(200, "alive\n");
  const Readiness now = readiness_();
  return now.ready ? api::text_response(200, "ready\n" + now.notes)
                   : api::text_response(503, "not ready\n" + now.notes);
}

}  // namespace tarn::server
