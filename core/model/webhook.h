// Webhooks: HTTP endpoints that receive a repository's events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace tarn {

constexpr size_t kWebhooksMax = 50;  ///< of one repository
constexpr size_t kWebhookEventsMax = 32;

enum class WebhookFormat {
  kStandard,  ///< {"type", "timestamp", "data"}
  kMlflow,    ///< like the webhooks of MLflow's model registry, with its events only
};
std::string_view name_of(WebhookFormat format);
std::optional<WebhookFormat> parse_webhook_format(std::string_view name);

struct Webhook {
  std::string name;
  std::string url;
  std::vector<std::string> events{"*"};  ///< types, or patterns of them with *
  WebhookFormat format = WebhookFormat::kStandard;
  bool active = true;  ///< false: nothing is sent, and pending deliveries wait
  std::string created_by{};
  Instant created{};
};

enum class DeliveryState {
  kPending,
  kDelivered,
  kDead,  ///< given up after the last attempt
};
std::string_view name_of(DeliveryState state);
std::optional<DeliveryState> parse_delivery_state(std::string_view name);

/// One event on its way to one webhook.
struct Delivery {
  std::string id;  ///< of the event; greater for later ones
  std::string type;
  DeliveryState state = DeliveryState::kPending;
  uint32_t attempts = 0;
  Instant created{};
  std::optional<Instant> next_attempt{};  ///< of a pending one
  std::optional<Instant> ended{};
  std::optional<int> last_status{};  ///< absent: no answer
  std::string last_error{};
};

/// 1 to 64 of [A-Za-z0-9_.-], the first neither '.' nor '-'. Throws invalid_argument.
std::string parse_webhook_name(std::string_view text);

/// "whsec_" and base64 of 24 to 64 bytes. Source: Standard Webhooks.
std::string make_webhook_secret();
/// The bytes of a webhook's secret. Throws invalid_argument unless it is one.
std::string webhook_key(std::string_view secret);

}  // namespace tarn
