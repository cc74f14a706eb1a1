#include "server/front_ends.h"

#include <optional>
#include <string_view>
#include <utility>

#include "core/base/str_cat.h"
#include "core/meta/servers.h"
#include "server/generated_docs.h"
#include "server/program_version.h"

namespace tarn::server {
namespace {

constexpr uint32_t kMetricsWorkers = 2;

BucketKind created_bucket_of(const Config& config) {
  if (config.s3_create_bucket == "off") return BucketKind::kNone;
  return config.s3_create_bucket == "rooted" ? BucketKind::kRooted : BucketKind::kRepository;
}

objects::ReadCheck read_check_of(const Config& config) {
  if (config.store_verify_reads == "off") return objects::ReadCheck::kOff;
  return config.store_verify_reads == "local" ? objects::ReadCheck::kLocal
                                              : objects::ReadCheck::kAll;
}

s3::S3Options s3_options(const Config& config) {
  return {.region = config.s3_region,
          .hosts = config.s3_hosts,
          .allow_v2 = config.s3_signature_v2,
          .read_check = read_check_of(config),
          .redirect = config.auth_presign == "on",
          .create_bucket = created_bucket_of(config),
          .bucket_namespace = config.s3_bucket_namespace,
          .anonymous_user = config.s3_anonymous,
          .public_buckets = config.s3_public_buckets,
          .cors = {.allowed_origins = config.s3_cors_allowed_origins,
                   .allowed_methods = config.s3_cors_allowed_methods,
                   .allowed_headers = config.s3_cors_allowed_headers,
                   .exposed_headers = config.s3_cors_exposed_headers,
                   .max_age = config.s3_cors_max_age}};
}

/// The configured host and the port that it became. A socket of the service manager may have no
/// configured host: ":8001".
std::string address(std::string_view listen, const http::Server& server) {
  return str_cat(listen.substr(0, listen.rfind(':')), ":", server.port());
}

KnownCallers remembered_by(auth::Authenticator& authenticator) {
  return {.owner_of_signing_key =
              [&](std::string_view id, std::string_view address) {
                return authenticator.remembered_signer(id, address);
              },
          .owner_of_pair =
              [&](std::string_view id, std::string_view secret) {
                return authenticator.remembered_owner(id, secret);
              },
          .user_in_token = [&](std::string_view token) { return authenticator.user_in(token); }};
}

ServicePages service_pages(Backend& backend, ServicePages::Serves serves) {
  return ServicePages(
      [&backend] { return backend.readiness(); },
      [&backend](const std::string& token) { backend.authenticator().end_sessions(token); },
      serves);
}

}  // namespace

FrontEnds::FrontEnds(const Config& config, Backend& backend, Listeners listeners,
                     std::string setup_token)
    : config_(config),
      proxies_(std::make_shared<const std::vector<std::string>>(config.trusted_proxies)),
      operations_(backend.engine().pool, backend.engine().clock),
      context_{.engine = backend.engine(),
               .authenticator = backend.authenticator(),
               .directory = backend.directory(),
               .clock = backend.clock(),
               .operations = operations_,
               .outbound = backend.outbound(),
               .installation = installation_of(config, backend.installation_id()),
               .upload_bytes_max = config.upload_bytes_max,
               .read_check = read_check_of(config),
               .setup_token = std::move(setup_token),
               .webhook_key = backend.webhook_key(),
               .block_key = backend.block_key(),
               .collection = collection_options(config),
               .external_url = config.external_url,
               .settings = effective_settings(config),
               .list_servers = [&backend] { return backend.servers().list(); },
               .server_id = backend.server_id()},
      rest_(context_),
      calls_(backend, rest_),
      blocks_(context_),
      s3_{.engine = backend.engine(),
          .authenticator = backend.authenticator(),
          .clock = backend.clock(),
          .options = s3_options(config)},
      known_(remembered_by(backend.authenticator())),
      pages_(service_pages(backend, !listeners.metrics ? ServicePages::Serves::kEverything
                                                       : ServicePages::Serves::kNoMetrics)),
      metrics_(service_pages(backend, ServicePages::Serves::kMetricsAlone)),
      build_info_(metrics::gauge("tarn_build_info", "Always 1; the version is a label",
                                 [] { return 1.0; }, {"version", program_version()})) {
  const http::ServerLimits limits =
      with_contended_workers(config.http, !config.s3_stores().empty());
  server_ = http::Server::start(
      std::move(listeners.main), limits, [this](http::Request& request) { return handle(request); },
      admission());
  if (listeners.s3) {
    s3_server_ = http::Server::start(
        *std::move(listeners.s3), limits,
        [this](http::Request& request) { return handle_s3(request); }, s3_admission());
  }
  if (listeners.metrics) {
    metrics_server_ = http::Server::start(
        *std::move(listeners.metrics), {.workers = kMetricsWorkers},
        [this](http::Request& request) { return metrics_.handle(request); }, {});
  }
}

std::string FrontEnds::url() const {
  return str_cat("http://", parse_listen(config_.listen).host, ":", server_->port());
}

std::string FrontEnds::addresses() const {
  std::string out = address(config_.listen, *server_);
  if (s3_server_) out += str_cat(", S3 on ", address(config_.s3_listen, *s3_server_));
  if (metrics_server_) {
    out += str_cat(", metrics on ", address(config_.metrics_listen, *metrics_server_));
  }
  return out;
}

void FrontEnds::stop(std::chrono::milliseconds drain) {
  if (metrics_server_) metrics_server_->stop(drain);
  if (s3_server_) s3_server_->stop(drain);
  server_->stop(drain);
}

void FrontEnds::set_trusted_proxies(std::vector<std::string> blocks) {
  auto proxies = std::make_shared<const std::vector<std::string>>(std::move(blocks));
  MutexLock lock(proxies_mutex_);
  proxies_.swap(proxies);
}

std::shared_ptr<const std::vector<std::string>> FrontEnds::trusted_proxies() const {
  MutexLock lock(proxies_mutex_);
  return proxies_;
}

http::Response FrontEnds::handle(http::Request& request) {
  take_client_address(request, *trusted_proxies());
  if (is_block(request, config_.s3_hosts)) return blocks_.handle(request);
  // S3 comes first: a signature makes a request S3 whatever its path.
  if (s3::is_s3_request(request, s3_.options)) return s3::handle(s3_, request);
  return is_rest(request) ? rest_.handle(request) : pages_.handle(request);
}

http::Response FrontEnds::handle_s3(http::Request& request) {
  take_client_address(request, *trusted_proxies());
  return s3::handle(s3_, request);
}

http::AdmissionPolicy FrontEnds::admission() const {
  return {
      .share_of = [this](const http::Request& request) { return share(request); },
      .refuse =
          [this](const http::Request& request, http::Overload why) {
            return s3::is_s3_request(request, s3_.options) ? s3::refuse(s3_, request, text_of(why))
                                                           : rest_refusal(request, why);
          },
      // Without the whole head only REST requests are certain: the signature may be in the unread
      // part.
      .refuse_head = [this](const http::Request& request, int) -> std::optional<http::Response> {
        if (is_rest(request) && !s3::is_s3_request(request, s3_.options)) return std::nullopt;
        return s3::refuse_large_head(s3_, request);
      }};
}

http::AdmissionPolicy FrontEnds::s3_admission() const {
  return {
      .share_of = [this](const http::Request& request) { return share(request); },
      .refuse = [this](const http::Request& request,
                       http::Overload why) { return s3::refuse(s3_, request, text_of(why)); },
      .refuse_head = [this](const http::Request& request, int) -> std::optional<http::Response> {
        return s3::refuse_large_head(s3_, request);
      }};
}

std::string FrontEnds::share(const http::Request& request) const {
  return share_of(request, known_, *trusted_proxies());
}

}  // namespace tarn::server
