#include "server/serve.h"

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "core/actions/lua/channel.h"
#include "core/actions/runner.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/http/request_id.h"
#include "core/http/server.h"
#include "core/jobs/operation_runner.h"
#include "core/meta/servers.h"
#include "core/meta/timeline.h"
#include "core/meta/writer.h"
#include "s3gateway/gateway.h"
#include "server/announcement.h"
#include "server/api/api.h"
#include "server/api/block_handler.h"
#include "server/backend.h"
#include "server/config.h"
#include "server/first_admin.h"
#include "server/front.h"
#include "server/generated_docs.h"
#include "server/jobs/background.h"
#include "server/listeners.h"
#include "server/program_version.h"
#include "server/quickstart.h"
#include "server/ready_file.h"
#include "server/reload.h"
#include "server/share.h"

namespace tarn::server {
namespace {

// Calls of hook scripts to the server's own API, on behalf of a user.

/// Connects scripts' calls to the API during its lifetime. Both arguments outlive it.
class HookCalls {
 public:
  HookCalls(Backend& backend, api::Api& rest);
  ~HookCalls();
  HookCalls(const HookCalls&) = delete;
  HookCalls& operator=(const HookCalls&) = delete;

 private:
  Backend& backend_;
};

std::string bytes_of(const http::FileSlice& file) {
  if (file.length > actions::kMessageBytesMax) {
    throw Error(ErrorCode::kResourceExhausted, reason::kObjectTooLarge,
                str_cat("the object is longer than ", actions::kMessageBytesMax, " bytes"));
  }
  std::string out(file.length, '\0');
  size_t at = 0;
  while (at < out.size()) {
    const ssize_t got =
        ::pread(file.fd, out.data() + at, out.size() - at, static_cast<off_t>(file.offset + at));
    if (got <= 0) throw Error(ErrorCode::kUnavailable, "reading an object: its bytes ended early");
    at += static_cast<size_t>(got);
  }
  return out;
}

/// Answers the call as one of the user, with the limits of the key with which the user asked, so
/// that their policies apply to it.
actions::ApiAnswer answer(Backend& backend, api::Api& rest, const actions::ApiCall& call) {
  http::Request request;
  request.method = call.method;
  request.target = call.target;
  request.id = http::next_request_id();
  request.content_length = call.body.size();
  request.body = http::string_body(call.body);
  if (!call.body.empty()) request.headers.add("Content-Type", "application/json");
  request.headers.add("User-Agent", "tarn-hook");
  std::optional<auth::Principal> caller = backend.authenticator().find_user(call.user);
  if (caller) caller = auth::limited(*std::move(caller), call.limits);
  http::Response response = rest.handle(request, caller ? &*caller : nullptr);
  actions::ApiAnswer out{.status = response.status,
                         .json = response.headers.get("Content-Type") == "application/json",
                         .body = std::move(response.body)};
  if (response.source) out.body = http::read_all(*response.source, actions::kMessageBytesMax);
  if (response.file) out.body = bytes_of(*response.file);
  return out;
}

HookCalls::HookCalls(Backend& backend, api::Api& rest) : backend_(backend) {
  backend.hooks().serve_calls(
      [&backend, &rest](const actions::ApiCall& call) { return answer(backend, rest, call); });
}

HookCalls::~HookCalls() { backend_.hooks().serve_calls({}); }

// The front ends of the server (REST, S3, presigned URLs, health and metrics), each on its ports.

/// Serves from construction on. `config` and `backend` outlive it. Safe from any thread.
class FrontEnds {
 public:
  /// `setup_token`: see api::Context. Throws unavailable if an address cannot be listened on.
  FrontEnds(const Config& config, Backend& backend, Listeners listeners, std::string setup_token);
  FrontEnds(const FrontEnds&) = delete;
  FrontEnds& operator=(const FrontEnds&) = delete;

  /// Replaces http.trusted_proxies; requests that have begun keep the old ones.
  void set_trusted_proxies(std::vector<std::string> blocks);
  /// The URL of the main port.
  std::string url() const;
  /// All of them, to be read by people: "127.0.0.1:8000, S3 on 127.0.0.1:8001".
  std::string addresses() const;
  /// Waits at most `drain` per port for running requests.
  void stop(std::chrono::milliseconds drain);

 private:
  http::Response handle(http::Request& request);
  http::Response handle_s3(http::Request& request);
  http::AdmissionPolicy admission() const;
  http::AdmissionPolicy s3_admission() const;
  std::string share(const http::Request& request) const;
  std::shared_ptr<const std::vector<std::string>> trusted_proxies() const;

  const Config& config_;
  mutable Mutex proxies_mutex_;
  std::shared_ptr<const std::vector<std::string>> proxies_ TARN_GUARDED_BY(proxies_mutex_);
  jobs::OperationRunner operations_;
  const api::Context context_;
  api::Api rest_;
  const HookCalls calls_;
  api::BlockHandler blocks_;
  const s3::S3Context s3_;
  const KnownCallers known_;
  const ServicePages pages_;
  const ServicePages metrics_;
  const std::shared_ptr<metrics::GaugeToken> build_info_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Server> s3_server_;       ///< nullptr = S3 has no separate port
  std::unique_ptr<http::Server> metrics_server_;  ///< nullptr = metrics have no separate port
};

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

s3::CorsRules cors_rules_of(const Config& config) {
  if (config.s3_cors_allowed_origins.empty()) return {};
  return {{.allowed_origins = config.s3_cors_allowed_origins,
           .allowed_methods = config.s3_cors_allowed_methods,
           .allowed_headers = config.s3_cors_allowed_headers,
           .exposed_headers = config.s3_cors_exposed_headers,
           .max_age = config.s3_cors_max_age}};
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
          .cors = cors_rules_of(config)};
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

/// Maximum time for running requests when the server stops.
constexpr std::chrono::milliseconds kDrain{30'000};

/// Applies what can be changed while the server runs. Errors leave everything as it is.
void reload(Config& running, const CommandLine& command, FrontEnds& front_ends) {
  Config read;
  try {
    read = read_config(command, environment);
  } catch (const Error& error) {
    log::error("configuration_not_reloaded", {{"message", error.message()}});
    return;
  }
  const ChangedKeys changed = changed_keys(running, read);
  running.log_level = read.log_level;
  running.log_format = read.log_format;
  running.log_requests = read.log_requests;
  running.log_slow_request = read.log_slow_request;
  running.trusted_proxies = read.trusted_proxies;
  configure_log(running);
  front_ends.set_trusted_proxies(running.trusted_proxies);
  log::info("configuration_reloaded", {{"changed", joined(changed.applied, ",")}});
  for (const std::string& key : changed.needs_restart) {
    log::warn("restart_needed", {{"key", key}});
  }
}

/// Runs until a signal ends the server. Without a terminal SIGHUP reloads the configuration; with
/// one it says that the terminal is gone.
int wait_for_end(const sigset_t& signals, const std::function<void()>& on_hangup) {
  for (;;) {
    int number = 0;
    sigwait(&signals, &number);
    if (number != SIGHUP || ::isatty(STDIN_FILENO) != 0) return number;
    on_hangup();
  }
}

/// The URL for clients on this machine.
std::string local_url(const std::string& url) {
  constexpr std::string_view kEverywhere = "://0.0.0.0:";
  const size_t at = url.find(kEverywhere);
  if (at == std::string::npos) return url;
  return url.substr(0, at) + "://127.0.0.1:" + url.substr(at + kEverywhere.size());
}

/// Prints lines to paste into a shell, for a first look at the server.
void print_first_steps(const std::string& url, const auth::NewKey& key) {
  std::cout << "\nPaste this into another terminal:\n"
            << "  export TARN_ENDPOINT=" << url << " TARN_ACCESS_KEY=" << key.id
            << " TARN_SECRET_KEY=" << key.secret << "\n"
            << "  tarn repo create tarn://first local://first\n"
            << "  tarn doctor" << std::endl;
}

/// Makes the sample repository and prints lines to paste into a shell.
void start_quickly(const Config& config, const std::string& url,
                   const std::optional<GeneratedKey>& made) {
  const std::optional<auth::NewKey> key = made ? made->key : kept_admin_key(config.data);
  if (!key) {
    throw Error(ErrorCode::kPreconditionFailed,
                "quickstart: the administrator's keys of this data directory are not known: name "
                "a new directory with --data");
  }
  make_sample(url, *key);
  std::cout << "\nThe repository \"" << kSampleRepository
            << "\" has three experiments. Paste this into another terminal:\n"
            << sample_steps(url, *key) << std::flush;
}

}  // namespace

void serve(Config config, const CommandLine& command, const ServiceManager& manager,
           const sigset_t& signals) {
  // Before the database: a port in use must not leave a half-made installation behind.
  Listeners listeners = open_listeners(config);
  Backend backend(config);
  std::optional<GeneratedKey> made;
  if (config.auth_setup == "start") {
    made = make_admin(backend.directory(), backend.engine().clock.now(), config.data);
  }
  const std::string setup_token =
      config.auth_setup == "http" ? make_setup_token(backend.directory(), config.data) : "";
  backend.measure_shared_figures();  // the first scrape has them
  const auto workers =
      jobs::start_background(backend.assembly(), backend.outbound(),
                             {.import_workers = config.job_workers,
                              .heartbeat_interval = meta::kWriterTtl / 3,
                              .verify = {.bytes_per_second = config.verify_bytes_per_second},
                              .deliveries = {.workers = config.webhooks_workers,
                                             .timeout = config.webhooks_timeout,
                                             .retry_first = config.webhooks_retry_first,
                                             .attempts_max = config.webhooks_attempts_max,
                                             .seal_key = backend.webhook_key()},
                              .collection = collection_options(config),
                              .copies = backend.copies(),
                              .measure_clock =
                                  [&backend] {
                                    backend.measure_clock();
                                    backend.measure_shared_figures();
                                  },
                              .mark_database = backend.database_mark(),
                              .mark_interval = meta::kMarkInterval});

  FrontEnds front_ends(config, backend, std::move(listeners), setup_token);
  log::info("serving", {{"url", front_ends.url()}, {"version", program_version()}});
  const Announcement announcement(backend.servers(), {.id = backend.server_id(),
                                                      .version = std::string(program_version()),
                                                      .host = host_name(),
                                                      .listen = front_ends.addresses(),
                                                      .started = backend.engine().clock.now()});
  // Show the keys before the server reports that it is ready, and last: newcomers must find them.
  if (made) show_admin_key(*made);
  if (command.mode == CommandLine::Mode::kQuickstart) {
    start_quickly(config, local_url(front_ends.url()), made);
  } else if (made && !output_is_journal()) {
    print_first_steps(local_url(front_ends.url()), made->key);
  }
  if (!command.ready_file.empty()) write_ready_file(command.ready_file, front_ends.url());
  manager.tell("READY=1\nSTATUS=serving " + front_ends.url());

  const int signal_number = wait_for_end(signals, [&] { reload(config, command, front_ends); });
  log::info("stopping", {{"signal", signal_number}});
  manager.tell("STOPPING=1");
  if (!command.ready_file.empty()) remove_ready_file(command.ready_file);
  front_ends.stop(kDrain);
}

}  // namespace tarn::server
