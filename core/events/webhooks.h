// Verbs on webhooks and their deliveries.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/events/outbox.h"
#include "core/events/webhook_store.h"
#include "core/model/page.h"
#include "core/model/repository.h"
#include "core/model/webhook.h"

namespace tarn::events {

// All throw not_found ("repository not found", "webhook not found"); `seal_key` (32 bytes) seals
// secrets in the database.

struct WebhookPut {
  Webhook webhook;
  bool made = false;                    ///< false: one of that name was changed
  std::optional<std::string> secret{};  ///< of one that was made; shown this once
};
/// Makes or changes one. A given `secret` replaces the one there is. Throws invalid_argument
/// (events, secret; reason "too_many_webhooks": the repository has kWebhooksMax). Whether the
/// address is permitted is the caller's to check (core/http/outbound.h).
WebhookPut put_webhook(branch::Engine& engine, const std::string& seal_key,
                       const Repository& repository, Webhook webhook,
                       const std::optional<std::string>& secret);
Webhook get_webhook(branch::Engine& engine, const Repository& repository, std::string_view name);
std::string get_webhook_secret(branch::Engine& engine, const std::string& seal_key,
                               const Repository& repository, std::string_view name);
/// The secret of a claimed delivery. Throws data_loss.
std::string open_webhook_secret(const std::string& seal_key, RepositoryId repository,
                                std::string_view name, std::string_view sealed);
/// By name.
Page<Webhook> list_webhooks(branch::Engine& engine, const Repository& repository,
                            std::string_view prefix, std::string_view after, uint32_t limit);
/// Deliveries that are not made yet are dropped.
void delete_webhook(branch::Engine& engine, const Repository& repository, std::string_view name);

/// The newest first.
Page<Delivery> list_deliveries(branch::Engine& engine, const Repository& repository,
                               std::string_view webhook, std::optional<DeliveryState> state,
                               std::string_view after, uint32_t limit);
/// Throws not_found "delivery not found".
Delivery redeliver(branch::Engine& engine, const Repository& repository, std::string_view webhook,
                   std::string_view delivery);

/// Removes deliveries that ended long ago; false = nothing left to do.
bool sweep_outbox(branch::Engine& engine);

}  // namespace tarn::events
