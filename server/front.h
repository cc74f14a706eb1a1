// The front of one port: besides S3 and REST, health, metrics, the description of the API, the web
// page.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/http/message.h"

namespace tarn::server {

/// Whether the path is the REST API's: /api/v1 and what is below it.
bool is_rest(const http::Request& request);

/// Whether the request is for a URL of our own that carries a permission. No repository can have
/// the name of its path; behind a bucket that the host names, the path is a key.
bool is_block(const http::Request& request, std::span<const std::string> s3_hosts);

struct Client {
  std::string address;
  bool tls = false;
};
/// The address that a request came from. Where a proxy that is trusted (addresses or CIDR blocks)
/// passed it on: the last address of X-Forwarded-For that is no such proxy, else X-Real-IP.
/// X-Forwarded-Proto says whether the client came by TLS. Headers of anybody else are ignored.
Client client_of(const http::Request& request, std::span<const std::string> trusted_proxies);
/// Makes `request.peer` and `request.tls` the client's.
void take_client_address(http::Request& request, std::span<const std::string> trusted_proxies);

/// Whether requests could be served now, and what an operator should know.
struct Readiness {
  bool ready = false;
  std::string notes{};  ///< lines
};

/// The pages that belong to neither API: health, metrics, the web page, logout.
class ServicePages {
 public:
  /// Health is served in each case.
  enum class Serves {
    kEverything,
    kNoMetrics,     ///< nor the description of the API: another address has both
    kMetricsAlone,  ///< with that description
  };

  /// Both functions are safe from any thread. `end_session` is given the token of the browser's
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
