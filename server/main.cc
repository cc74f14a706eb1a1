// tarnd: reads the configuration, puts the parts together, serves until it is told to stop.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/http/server.h"
#include "core/jobs/operation_runner.h"
#include "core/meta/writer.h"
#include "s3gateway/gateway.h"
#include "server/api/api.h"
#include "server/api/block_handler.h"
#include "server/backend.h"
#include "server/command_line.h"
#include "server/config_docs.h"
#include "server/first_admin.h"
#include "server/front.h"
#include "server/hook_calls.h"
#include "server/jobs/background.h"
#include "server/privileges.h"
#include "server/ready_file.h"
#include "server/rest_table.h"
#include "server/share.h"
#include "server/web_page.h"

namespace tarn::server {
namespace {

constexpr uint32_t kMetricsWorkers = 2;
/// Running requests get this long to finish when the server stops.
constexpr std::chrono::milliseconds kDrain{30'000};

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Unknown variables are a warning, not an error: orchestrators add variables too.
void warn_of_misspelt_variables() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view pair = *variable;
    names.emplace_back(pair.substr(0, pair.find('=')));
  }
  for (const std::string& name : misspelt_variables(names)) {
    log::warn("unknown_variable", {{"name", name}, {"see", "tarnd --print-config-docs"}});
  }
}

/// Before any thread starts: all inherit the mask, and only wait_for_signal() takes these.
sigset_t block_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return ends;
}

void configure_log(const Config& config) {
  const log::Level level = config.log_level == "debug"   ? log::Level::kDebug
                           : config.log_level == "warn"  ? log::Level::kWarn
                           : config.log_level == "error" ? log::Level::kError
                                                         : log::Level::kInfo;
  log::configure(level, config.log_format == "json" ? log::Format::kJson : log::Format::kText);
}

BucketKind created_bucket_of(const Config& config) {
  if (config.s3_create_bucket == "off") return BucketKind::kNone;
  return config.s3_create_bucket == "rooted" ? BucketKind::kRooted : BucketKind::kRepository;
}

s3::S3Options s3_options(const Config& config) {
  return {.region = config.s3_region,
          .hosts = config.s3_hosts,
          .allow_v2 = config.s3_signature_v2,
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

/// Serves until a signal comes.
void serve(const Config& config, const CommandLine& command, const sigset_t& ends) {
  Backend backend(config);
  if (config.auth_setup == "start") {
    make_admin(backend.directory(), backend.clock().now(), config.data);
  }
  const std::string setup_token =
      config.auth_setup == "http" ? make_setup_token(backend.directory(), config.data) : "";
  const auto workers =
      jobs::start_background(backend.assembly(), backend.outbound(),
                             {.import_workers = config.job_workers,
                              .heartbeat_interval = meta::kWriterTtl / 3,
                              .deliveries = {.workers = config.webhooks_workers,
                                             .timeout = config.webhooks_timeout,
                                             .retry_first = config.webhooks_retry_first,
                                             .attempts_max = config.webhooks_attempts_max,
                                             .seal_key = backend.webhook_key()},
                              .measure_clock = [&backend] { backend.measure_clock(); }});

  versioning::OperationRunner operations(backend.engine().pool, backend.clock());
  const api::Context context{.engine = backend.engine(),
                             .authenticator = backend.authenticator(),
                             .directory = backend.directory(),
                             .clock = backend.clock(),
                             .operations = operations,
                             .outbound = backend.outbound(),
                             .installation = installation_of(config, backend.installation_id()),
                             .upload_bytes_max = config.upload_bytes_max,
                             .setup_token = setup_token,
                             .webhook_key = backend.webhook_key(),
                             .block_key = backend.block_key(),
                             .external_url = config.external_url};
  api::Api rest(context);
  const HookCalls calls(backend, rest);
  api::BlockHandler blocks(context);
  const s3::S3Context s3{.engine = backend.engine(),
                         .authenticator = backend.authenticator(),
                         .clock = backend.clock(),
                         .options = s3_options(config)};
  const auto readiness = [&backend] { return backend.readiness(); };
  const auto end_session = [&backend](const std::string& token) {
    backend.authenticator().end_sessions(token);
  };
  const ServicePages pages(readiness, end_session,
                           config.metrics_listen.empty() ? ServicePages::Serves::kEverything
                                                         : ServicePages::Serves::kNoMetrics);
  const http::Handler front = [&](http::Request& request) {
    take_client_address(request, config.trusted_proxies);
    if (is_block(request, config.s3_hosts)) return blocks.handle(request);
    // A signature makes a request S3 whatever its path, so S3 is asked first.
    if (s3::is_s3_request(request, s3.options)) return s3::handle(s3, request);
    return is_rest(request) ? rest.handle(request) : pages.handle(request);
  };

  const KnownCallers known{
      .owner_of_signing_key =
          [&](std::string_view id, std::string_view address) {
            return backend.authenticator().remembered_signer(id, address);
          },
      .owner_of_pair =
          [&](std::string_view id, std::string_view secret) {
            return backend.authenticator().remembered_owner(id, secret);
          },
      .user_in_token =
          [&](std::string_view token) { return backend.authenticator().user_in(token); }};
  const auto share = [&](const http::Request& request) {
    return share_of(request, known, config.trusted_proxies);
  };
  const http::AdmissionPolicy admission{
      .share_of = share,
      .refuse =
          [&](const http::Request& request, http::Overload why) {
            return s3::is_s3_request(request, s3.options) ? s3::refuse(s3, request, text_of(why))
                                                          : rest_refusal(request, why);
          },
      // The sign of an S3 request may be in the part that was not read: only REST is certain.
      .refuse_head = [&](const http::Request& request, int) -> std::optional<http::Response> {
        if (is_rest(request) && !s3::is_s3_request(request, s3.options)) return std::nullopt;
        return s3::refuse_large_head(s3, request);
      }};

  const http::ServerLimits limits =
      with_contended_workers(config.http, !config.s3_stores().empty());
  const ListenAddress address = parse_listen(config.listen);
  const auto server = http::Server::start(address.host, address.port, limits, front, admission);
  std::unique_ptr<http::Server> s3_server;
  if (!config.s3_listen.empty()) {
    const ListenAddress second = parse_listen(config.s3_listen);
    const http::Handler s3_front = [&](http::Request& request) {
      take_client_address(request, config.trusted_proxies);
      return s3::handle(s3, request);
    };
    const http::AdmissionPolicy s3_admission{
        .share_of = share,
        .refuse = [&](const http::Request& request,
                      http::Overload why) { return s3::refuse(s3, request, text_of(why)); },
        .refuse_head = [&](const http::Request& request, int) -> std::optional<http::Response> {
          return s3::refuse_large_head(s3, request);
        }};
    s3_server = http::Server::start(second.host, second.port, limits, s3_front, s3_admission);
  }
  std::unique_ptr<http::Server> metrics_server;
  const ServicePages metrics(readiness, end_session, ServicePages::Serves::kMetricsAlone);
  if (!config.metrics_listen.empty()) {
    const ListenAddress third = parse_listen(config.metrics_listen);
    metrics_server =
        http::Server::start(third.host, third.port, {.workers = kMetricsWorkers},
                            [&](http::Request& request) { return metrics.handle(request); });
  }
  const std::string url = str_cat("http://", address.host, ":", server->port());
  log::info("serving", {{"url", url}, {"version", program_version()}});
  if (!command.ready_file.empty()) write_ready_file(command.ready_file, url);

  int signal_number = 0;
  sigwait(&ends, &signal_number);
  log::info("stopping", {{"signal", signal_number}});
  if (!command.ready_file.empty()) remove_ready_file(command.ready_file);
  if (metrics_server) metrics_server->stop(kDrain);
  if (s3_server) s3_server->stop(kDrain);
  server->stop(kDrain);
}

/// Runs the commands that only print; false = serve.
bool print_only(CommandLine::Mode mode) {
  switch (mode) {
    case CommandLine::Mode::kVersion:
      std::cout << "tarnd " << program_version() << "\n";
      return true;
    case CommandLine::Mode::kRestTable:
      std::cout << rest_table_page();
      return true;
    case CommandLine::Mode::kConfigDocs:
      std::cout << configuration_page();
      return true;
    case CommandLine::Mode::kSampleConfig:
      std::cout << sample_file();
      return true;
    case CommandLine::Mode::kServe:
    case CommandLine::Mode::kCheckConfig:
      return false;
  }
  return false;
}

int run(int argc, char** argv) {
  const ParsedCommandLine parsed = parse_command_line(argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  if (print_only(parsed.command.mode)) return EXIT_SUCCESS;
  const sigset_t ends = block_signals();
  if (!parsed.command.ready_file.empty()) remove_ready_file(parsed.command.ready_file);
  const Config config = read_config(parsed.command, environment);
  if (parsed.command.mode == CommandLine::Mode::kCheckConfig) {
    std::cout << effective_text(config);
    return EXIT_SUCCESS;
  }
  configure_log(config);
  warn_of_misspelt_variables();
  give_up_privileges(config);
  serve(config, parsed.command, ends);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tarn::server

int main(int argc, char** argv) {
  try {
    return tarn::server::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "tarnd: " << error.what() << std::endl;
    return EXIT_FAILURE;
  }
}
