// The front ends of the server (REST, S3, presigned URLs, health and metrics), each on its ports.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/http/server.h"
#include "core/jobs/operation_runner.h"
#include "s3gateway/gateway.h"
#include "server/api/api.h"
#include "server/api/block_handler.h"
#include "server/backend.h"
#include "server/config.h"
#include "server/front.h"
#include "server/hook_calls.h"
#include "server/listeners.h"
#include "server/share.h"

namespace tarn::server {

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

}  // namespace tarn::server
