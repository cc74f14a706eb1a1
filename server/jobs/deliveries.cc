#include "server/jobs/deliveries.h"

#include <algorithm>

#include "core/base/cancellation.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/str_cat.h"
#include "core/events/webhooks.h"
#include "core/http/outbound.h"
#include "core/http/webhook_headers.h"

namespace tarn::jobs {
namespace {

/// Added to the timeout of a delivery: after that another server may claim it.
constexpr std::chrono::milliseconds kLeaseMargin{5'000};
constexpr size_t kErrorBytesMax = 500;
/// The beginning of the response, for the error message.
constexpr size_t kAnswerBytesMax = 200;

bool is_success(int status) { return status >= 200 && status < 300; }

/// Text that the database accepts: valid UTF-8, no NUL, truncated.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kErrorBytesMax)) {
    out.push_back(c >= ' ' && c <= '~' ? c : '?');
  }
  return out;
}

http::OutboundRequest request_of(const events::ClaimedDelivery& delivery,
                                 const DeliveryOptions& options, Instant now) {
  const std::string secret = events::open_webhook_secret(
      options.seal_key, delivery.repository, delivery.webhook_name, delivery.sealed_secret);
  http::OutboundRequest request{.url = delivery.url,
                                .body = delivery.body,
                                .timeout = options.timeout,
                                .answer_bytes_max = kAnswerBytesMax};
  request.headers.add("Content-Type", "application/json");
  request.headers.add("User-Agent", "tarn");
  const http::WebhookMessage message{.id = delivery.event, .sent = now, .body = request.body};
  http::add_standard_webhook_headers(request.headers, message, webhook_key(secret));
  if (delivery.format == WebhookFormat::kMlflow) {
    http::add_mlflow_webhook_headers(request.headers, message, secret);
  }
  return request;
}

/// `retry_after`: the delay that the receiver requests, if it does.
events::DeliveryAttempt attempt(const events::ClaimedDelivery& delivery,
                                const http::Outbound& outbound, const DeliveryOptions& options,
                                Instant now) {
  try {
    const http::OutboundAnswer answer = outbound.send(request_of(delivery, options, now));
    if (is_success(answer.status)) return {.status = answer.status};
    return {.status = answer.status,
            .error = plain(str_cat("answered ", answer.status, ": ", answer.body)),
            .retry_after = http::retry_after(answer, now, kRetryPauseMax)};
  } catch (const Error& error) {
    return {.error = plain(error.message())};
  }
}

}  // namespace

metrics::Counter& deliveries_with(std::string_view outcome) {
  return metrics::counter("tarn_webhook_deliveries_total", "Attempts to tell webhooks, by outcome",
                          {"outcome", outcome});
}

std::chrono::milliseconds retry_pause(uint32_t attempts, std::chrono::milliseconds first) {
  std::chrono::milliseconds pause = first;
  for (uint32_t i = 1; i < attempts && pause < kRetryPauseMax; ++i) pause *= 4;
  pause = std::min<std::chrono::milliseconds>(pause, kRetryPauseMax);
  const auto half = static_cast<uint64_t>(pause.count()) / 2;
  return std::chrono::milliseconds(static_cast<int64_t>(half + random_u64() % (half + 1)));
}

bool deliver_one(branch::Engine& engine, const http::Outbound& outbound,
                 const DeliveryOptions& options, std::stop_token stop) {
  events::Outbox outbox(engine.pool);
  const std::vector<events::ClaimedDelivery> claimed =
      outbox.claim(1, kDeliveriesPerWebhookMax, options.timeout + kLeaseMargin);
  if (claimed.empty()) return false;
  const events::ClaimedDelivery& delivery = claimed[0];
  const CancellationScope scope(stop);
  events::DeliveryAttempt made = attempt(delivery, outbound, options, SystemClock().now());
  if (!made.error.empty()) {
    if (stop.stop_requested()) {
      made.retry_after = std::chrono::milliseconds(0);  // another server may retry at once
    } else if (delivery.attempts < options.attempts_max) {
      // The receiver can lengthen the pause, not shorten it: that would use up the attempts at
      // once.
      made.retry_after = std::max(retry_pause(delivery.attempts, options.retry_first),
                                  made.retry_after.value_or(std::chrono::milliseconds(0)));
    } else {
      made.retry_after.reset();
    }
  }
  if (!outbox.end(delivery, made, engine.clock.now())) return true;
  if (made.error.empty()) {
    deliveries_with("delivered").add();
  } else if (made.retry_after) {
    deliveries_with("failed").add();
  } else {
    deliveries_with("dead").add();
    log::warn("webhook_gave_up", {{"webhook", delivery.webhook_name},
                                  {"event", delivery.event},
                                  {"attempts", delivery.attempts},
                                  {"message", made.error}});
  }
  return true;
}

}  // namespace tarn::jobs
