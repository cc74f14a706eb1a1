// JSON bodies of webhooks and their deliveries.
#pragma once

#include <optional>
#include <string>

#include "core/model/webhook.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_webhook(Writer& out, const Webhook& webhook);
/// Includes the secret if given.
std::string webhook_body(const Webhook& webhook, const std::optional<std::string>& secret = {});

void write_delivery(Writer& out, const Delivery& delivery);
std::string delivery_body(const Delivery& delivery);

/// The result of a ping; `status` is absent without a response.
struct PingResult {
  std::string id;
  std::optional<int> status{};
  std::string error{};  ///< "" = the endpoint accepted it
  std::chrono::milliseconds took{};
};
std::string ping_body(const PingResult& result);

struct PutWebhook {
  Webhook webhook;  ///< without its name
  std::optional<std::string> secret{};
};
PutWebhook parse_put_webhook(const Value& body);

}  // namespace tarn::api::json
