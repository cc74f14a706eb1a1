// Signature headers of webhook messages.
#pragma once

#include <string_view>

#include "core/base/time.h"
#include "core/http/message.h"

namespace tarn::http {

/// Headers that identify and sign one message.
struct WebhookMessage {
  std::string_view id;  ///< the same in every attempt
  Instant sent{};       ///< of this attempt; receivers refuse old ones
  std::string_view body;
};

/// webhook-id, webhook-timestamp and webhook-signature: "v1," and base64 of HMAC-SHA-256 with `key`
/// over "id.timestamp.body". Source: Standard Webhooks.
void add_standard_webhook_headers(Headers& headers, const WebhookMessage& message,
                                  std::string_view key);

/// X-MLflow-Delivery-Id, X-MLflow-Timestamp and X-MLflow-Signature: the same signature, whose key
/// is the secret's text. Source: MLflow's webhooks.
void add_mlflow_webhook_headers(Headers& headers, const WebhookMessage& message,
                                std::string_view secret);

}  // namespace tarn::http
