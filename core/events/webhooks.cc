#include "core/events/webhooks.h"

#include <chrono>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/repositories.h"
#include "core/model/event.h"

namespace tarn::events {
namespace {

// How long ended deliveries are listed and can be repeated.
constexpr std::chrono::hours kDeliveredKept{3 * 24};
constexpr std::chrono::hours kDeadKept{30 * 24};
// Limit per webhook, enforced by each sweep.
constexpr uint32_t kPendingMax = 100'000;
constexpr uint32_t kSweepRowsMax = 10'000;

[[noreturn]] void throw_webhook_not_found() {
  throw Error(ErrorCode::kNotFound, reason::kWebhookNotFound, "webhook not found");
}

Webhook find_webhook(branch::Engine& engine, RepositoryId repository, std::string_view name) {
  auto webhook = WebhookStore(engine.pool).find(repository, name);
  if (!webhook) throw_webhook_not_found();
  return *std::move(webhook);
}

/// Binds a sealed secret to its webhook, so that it cannot be moved to another's row.
std::string seal_context(RepositoryId repository, std::string_view name) {
  return str_cat("webhook ", static_cast<int32_t>(repository), " ", name);
}

void check_events(const std::vector<std::string>& events) {
  if (events.empty() || events.size() > kWebhookEventsMax) {
    throw_invalid(str_cat("events: must be 1 to ", kWebhookEventsMax, " types of events"));
  }
  for (const std::string& event : events) {
    if (is_event_pattern(event)) continue;
    std::string known;
    for (const std::string_view type : kEventTypes) known += str_cat(" ", type);
    throw_invalid(
        str_cat("events: \"", event,
                "\" matches no type of event; with * for any characters, they are:", known));
  }
}

}  // namespace

WebhookPut put_webhook(branch::Engine& engine, const std::string& seal_key,
                       const Repository& repository, Webhook webhook,
                       const std::optional<std::string>& secret) {
  check_events(webhook.events);
  if (secret) webhook_key(*secret);
  webhook.created = engine.clock.now();
  const std::string first_secret = secret.value_or(make_webhook_secret());
  const std::string sealed =
      seal(seal_key, seal_context(repository.id, webhook.name), first_secret);
  switch (WebhookStore(engine.pool).put(repository.id, webhook, sealed, /*keep_secret=*/!secret)) {
    case WebhookStore::PutOutcome::kMade:
      return {.webhook = webhook, .made = true, .secret = first_secret};
    case WebhookStore::PutOutcome::kChanged:
      return {.webhook = get_webhook(engine, repository, webhook.name)};
    case WebhookStore::PutOutcome::kTooMany:
      break;
  }
  throw Error(ErrorCode::kInvalidArgument, reason::kTooManyWebhooks,
              str_cat("repository has ", kWebhooksMax,
                      " webhooks, which is the most: delete one that is not used any more"));
}

Webhook get_webhook(branch::Engine& engine, const Repository& repository, std::string_view name) {
  return find_webhook(engine, repository.id, name);
}

std::string get_webhook_secret(branch::Engine& engine, const std::string& seal_key,
                               const Repository& repository, std::string_view name) {
  const auto sealed = WebhookStore(engine.pool).sealed_secret(repository.id, name);
  if (!sealed) throw_webhook_not_found();
  return open_webhook_secret(seal_key, repository.id, name, *sealed);
}

std::string open_webhook_secret(const std::string& seal_key, RepositoryId repository,
                                std::string_view name, std::string_view sealed) {
  const auto secret = open_sealed(seal_key, seal_context(repository, name), sealed);
  if (secret) return *secret;
  throw Error(ErrorCode::kDataLoss, str_cat("webhook ", name, ": its sealed secret does not open"));
}

Page<Webhook> list_webhooks(branch::Engine& engine, const Repository& repository,
                            std::string_view prefix, std::string_view after, uint32_t limit) {
  return branch::existing(engine, repository,
                          WebhookStore(engine.pool).list(repository.id, prefix, after, limit));
}

void delete_webhook(branch::Engine& engine, const Repository& repository, std::string_view name) {
  if (!WebhookStore(engine.pool).remove(repository.id, name)) throw_webhook_not_found();
}

Page<Delivery> list_deliveries(branch::Engine& engine, const Repository& repository,
                               std::string_view webhook, std::optional<DeliveryState> state,
                               std::string_view after, uint32_t limit) {
  find_webhook(engine, repository.id, webhook);
  return Outbox(engine.pool).list(repository.id, webhook, state, after, limit);
}

Delivery redeliver(branch::Engine& engine, const Repository& repository, std::string_view webhook,
                   std::string_view delivery) {
  find_webhook(engine, repository.id, webhook);
  const auto again = Outbox(engine.pool).redeliver(repository.id, webhook, delivery);
  if (!again) throw Error(ErrorCode::kNotFound, reason::kDeliveryNotFound, "delivery not found");
  return *again;
}

bool sweep_outbox(branch::Engine& engine) {
  Outbox outbox(engine.pool);
  const Instant now = engine.clock.now();
  return outbox.give_up_crowded(kPendingMax, kSweepRowsMax, now) +
             outbox.sweep(kDeliveredKept, kDeadKept, kSweepRowsMax, now) >=
         kSweepRowsMax;
}

}  // namespace tarn::events
