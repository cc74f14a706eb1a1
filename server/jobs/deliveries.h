// Telling webhooks what happened.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

namespace tarn::http {
class Outbound;
}
namespace tarn::versioning {
struct Engine;
}

namespace tarn::jobs {

/// Deliveries to one webhook that are on their way at a time, over all servers.
constexpr uint32_t kDeliveriesPerWebhookMax = 2;
/// Between two attempts at most.
constexpr std::chrono::hours kRetryPauseMax{6};

struct DeliveryOptions {
  uint32_t workers = 8;                          ///< deliveries this server makes at once
  std::chrono::milliseconds timeout{15'000};     ///< of one attempt
  std::chrono::milliseconds retry_first{5'000};  ///< pause after the first failed attempt
  uint32_t attempts_max = 10;                    ///< then the delivery is dead
  std::string seal_key{};                        ///< opens the secrets
};

/// Makes one delivery that is due and says what came of it. At least once: one that was cut short
/// is made again, with its id, and the order of two is not promised. false = nothing is due.
bool deliver_one(versioning::Engine& engine, const http::Outbound& outbound,
                 const DeliveryOptions& options, std::stop_token stop);

/// The pause after `attempts` failed ones: four times as long each time, up to kRetryPauseMax, and
/// of that a random part between a half and the whole.
std::chrono::milliseconds retry_pause(uint32_t attempts, std::chrono::milliseconds first);

}  // namespace tarn::jobs
