#include "server/serve.h"

#include <chrono>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/meta/timeline.h"
#include "core/meta/writer.h"
#include "server/announcement.h"
#include "server/backend.h"
#include "server/first_admin.h"
#include "server/front_ends.h"
#include "server/jobs/background.h"
#include "server/listeners.h"
#include "server/program_version.h"
#include "server/quickstart.h"
#include "server/ready_file.h"
#include "server/reload.h"

namespace tarn::server {
namespace {

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
                                    backend.measure_queues();
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
