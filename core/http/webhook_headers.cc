#include "core/http/webhook_headers.h"

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::http {
namespace {

std::string timestamp_of(const WebhookMessage& message) {
  return std::to_string(to_seconds(message.sent));
}

std::string signature_of(const WebhookMessage& message, std::string_view key) {
  const std::string content = str_cat(message.id, ".", timestamp_of(message), ".", message.body);
  return str_cat("v1,", to_base64(hmac_sha256(key, content)));
}

}  // namespace

void add_standard_webhook_headers(Headers& headers, const WebhookMessage& message,
                                  std::string_view key) {
  headers.add("webhook-id", std::string(message.id));
  headers.add("webhook-timestamp", timestamp_of(message));
  headers.add("webhook-signature", signature_of(message, key));
}

void add_mlflow_webhook_headers(Headers& headers, const WebhookMessage& message,
                                std::string_view secret) {
  headers.add("X-MLflow-Delivery-Id", std::string(message.id));
  headers.add("X-MLflow-Timestamp", timestamp_of(message));
  headers.add("X-MLflow-Signature", signature_of(message, secret));
}

}  // namespace tarn::http
