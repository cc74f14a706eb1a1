// The pages and checks of one port besides S3 and REST: health, metrics, OpenAPI description, web
// page.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/http/message.h"

namespace tarn::server {

/// Whether the path belongs to the REST API: /api/v1 and below.
bool is_rest(const http::Request& request);

/// Whether the request is for a presigned URL of ours. No repository can have its first path
/// segment as a name; behind a bucket in the host name, the path is a key.
bool is_block(const http::Request& request, std::span<const std::string> s3_hosts);

struct Client {
  std::string address;
  bool tls = false;
};
/// The client's address. If a trusted proxy (address or CIDR block) forwarded the request: the last
/// address of X-Forwarded-For that is not such a proxy, else X-Real-IP. X-Forwarded-Proto says
/// whether the client used TLS. These headers are ignored from all other peers.
Client client_of(const http::Request& request, std::span<const std::string> trusted_proxies);
/// Replaces `request.peer` and `request.tls` by the client's.
void take_client_address(http::Request& request, std::span<const std::string> trusted_proxies);

/// Whether the server can handle requests, and notes for the operator.
struct Readiness {
  bool ready = false;
  std::string notes{};  ///< lines
};

/// Pages outside both APIs: health, metrics, the web page, logout.
class ServicePages {
 public:
  /// All of them include health.
  enum class Serves {
    kEverything,
    kNoMetrics,     ///< without the OpenAPI description, which another address has
    kMetricsAlone,  ///< with the OpenAPI description
  };

  /// Both functions are safe from any thread. `end_session` receives the token of the browser's
  /// session.
  ServicePages(std::function<Readiness()> readiness,
               std::function<void(const std::string& token)> end_session,
               Serves serves = Serves::kEverything)
      : readiness_(std::move(readiness)), end_session_(std::move(end_session)), serves_(serves) {}
  http::Response handle(const http::Request& request) const;

 private:
  http::Response answer(const http::Request& request) const;
  http::Response health(std::string_view path) const;
  http::Response log_out(const http::Request& request) const;

  std::function<Readiness()> readiness_;
  std::function<void(const std::string& token)> end_session_;
  Serves serves_;
};

}  // namespace tarn::server
