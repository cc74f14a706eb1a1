// Deliveries of events to webhooks.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/base/metrics.h"

namespace tarn::http {
class Outbound;
}
namespace tarn::branch {
struct Engine;
}

namespace tarn::jobs {

/// Concurrent deliveries to one webhook, over all servers.
constexpr uint32_t kDeliveriesPerWebhookMax = 2;
/// Maximum pause between two attempts.
constexpr std::chrono::hours kRetryPauseMax{6};

struct DeliveryOptions {
  uint32_t workers = 8;                          ///< concurrent deliveries of this server
  std::chrono::milliseconds timeout{15'000};     ///< of one attempt
  std::chrono::milliseconds retry_first{5'000};  ///< pause after the first failed attempt
  uint32_t attempts_max = 10;                    ///< afterwards the delivery is dead
  std::string seal_key{};                        ///< opens the sealed secrets of webhooks
};

/// Makes one delivery that is due and records its result. At least once: an interrupted delivery is
/// repeated with the same id. The order of deliveries is not guaranteed. false = nothing is due.
bool deliver_one(branch::Engine& engine, const http::Outbound& outbound,
                 const DeliveryOptions& options, std::stop_token stop);

/// Attempts, for /metrics; `outcome`: delivered, failed or dead.
metrics::Counter& deliveries_with(std::string_view outcome);

/// The pause after `attempts` failures: four times as long each time, up to kRetryPauseMax, then
/// reduced to a random value between half and all of it.
std::chrono::milliseconds retry_pause(uint32_t attempts, std::chrono::milliseconds first);

}  // namespace tarn::jobs
