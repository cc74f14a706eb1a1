#include "server/web_page.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "server/program_version.h"

namespace tarn::server {
namespace {

/// First segments of the addresses that the page handles itself (web/src/app/router.tsx). None of
/// REST, S3 with its signatures, presigned URLs or health is below them.
constexpr std::array<std::string_view, 9> kRoutes = {
    "r", "repositories", "search", "admin", "login", "setup", "connect", "auth", "invitation"};

/// Scripts and styles come from the bundle alone, and requests go to this server alone. Frames show
/// objects from memory: without scripts, and without an origin.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "media-src 'self' blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; "
    "frame-src 'self' blob:; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "object-src 'none'; frame-ancestors 'none'";

/// Worker of SQL, which compiles WebAssembly; the page may not.
constexpr std::string_view kSqlWorker = "/assets/sql_worker-";
constexpr std::string_view kSqlWorkerPolicy =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; "
    "base-uri 'none'; object-src 'none'; frame-ancestors 'none'";

bool is_route(std::string_view path) {
  if (path == "/" || path == "/index.html") return true;
  path.remove_prefix(std::min<size_t>(path.size(), 1));
  return std::find(kRoutes.begin(), kRoutes.end(), path.substr(0, path.find('/'))) != kRoutes.end();
}

/// Whether the client takes the encoding: it is listed, and not with q=0.
bool accepts(std::string_view header, std::string_view encoding) {
  while (!header.empty()) {
    const size_t comma = header.find(',');
    const std::string_view item = header.substr(0, comma);
    const size_t semicolon = item.find(';');
    if (equal_ignoring_case(trimmed(item.substr(0, semicolon), " \t"), encoding)) {
      if (semicolon == std::string_view::npos) return true;
      const std::string_view quality = trimmed(item.substr(semicolon + 1), " \t");
      return quality.find_first_of("123456789") != std::string_view::npos;
    }
    header = comma == std::string_view::npos ? std::string_view() : header.substr(comma + 1);
  }
  return false;
}

http::Response file_response(const WebBundle::File& file, const http::Request& request) {
  http::Response response;
  response.headers.add("Content-Type", std::string(file.content_type));
  response.headers.add("Vary", "Accept-Encoding");
  const std::string_view accepted = request.headers.get("Accept-Encoding");
  std::string_view body = file.identity;
  if (!file.brotli.empty() && accepts(accepted, "br")) {
    body = file.brotli;
    response.headers.add("Content-Encoding", "br");
  } else if (!file.gzip.empty() && (file.identity.empty() || accepts(accepted, "gzip"))) {
    body = file.gzip;
    response.headers.add("Content-Encoding", "gzip");
  }
  response.body = body;
  return response;
}

/// The page of a server that was built without the web interface.
http::Response plain_page() {
  http::Response response;
  response.headers.add("Content-Type", "text/html; charset=utf-8");
  response.body = str_cat(
      "<!DOCTYPE html>\n<html lang=\"en\"><title>Tarn ", program_version(),
      "</title>\n<p>This tarnd was built without the web interface; ./dev build includes it. REST "
      "is below /api/v1, S3 at this address; /_health and /_ready say how the server is.</p>\n");
  return response;
}

http::Response index_page(const WebBundle& bundle, const http::Request& request) {
  const WebBundle::File* index = bundle.find("index.html");
  http::Response response = index == nullptr ? plain_page() : file_response(*index, request);
  // It names the assets of this version.
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("Content-Security-Policy", std::string(kContentSecurityPolicy));
  response.headers.add("X-Frame-Options", "DENY");
  response.headers.add("Referrer-Policy", "same-origin");
  response.headers.add("Cross-Origin-Opener-Policy", "same-origin");
  return response;
}

}  // namespace

std::optional<http::Response> web_page(const WebBundle& bundle, const http::Request& request) {
  const std::string_view path = request.raw_path();
  if (is_route(path)) return index_page(bundle, request);
  const WebBundle::File* file = bundle.find(path.substr(std::min<size_t>(path.size(), 1)));
  if (file == nullptr) return std::nullopt;
  http::Response response = file_response(*file, request);
  // Their names contain a hash of their content.
  response.headers.add("Cache-Control", path.starts_with("/assets/")
                                            ? "public, max-age=31536000, immutable"
                                            : "no-cache");
  // A worker has the policy of its own answer.
  response.headers.add(
      "Content-Security-Policy",
      std::string(path.starts_with(kSqlWorker) ? kSqlWorkerPolicy : kContentSecurityPolicy));
  return response;
}

}  // namespace tarn::server
