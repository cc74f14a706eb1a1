// The outbox: events for webhooks, written in the transaction of their change and delivered later.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/db/pool.h"
#include "core/model/names.h"
#include "core/model/page.h"
#include "core/model/webhook.h"

namespace tarn::events {

/// Members of an event's `data`; the repository's name is added. Texts, so numbers are written out.
using EventData = std::vector<std::pair<std::string, std::string>>;

/// Writes an event for the repository's webhooks, in a transaction of the caller; writes nothing
/// without a subscriber. `type` is one of kEventTypes. Triggers of the database write events for
/// changes of refs and ends of imports.
void emit_event(db::Connection& connection, RepositoryId repository, std::string_view type,
                const EventData& data);

/// A delivery that this server is to make now.
struct ClaimedDelivery {
  std::string event;
  int32_t webhook = 0;
  int32_t claim = 0;      ///< who holds an older one has lost it
  uint32_t attempts = 0;  ///< this one counted
  std::string body;
  std::string type;
  std::string url;
  WebhookFormat format = WebhookFormat::kStandard;
  std::string sealed_secret;
  RepositoryId repository{};
  std::string webhook_name;
};

/// The result of an attempt.
struct DeliveryAttempt {
  std::optional<int> status{};  ///< absent: no answer
  std::string error{};          ///< "" = delivered
  /// Until the next attempt; absent = it was the last.
  std::optional<std::chrono::milliseconds> retry_after{};
};

/// Safe from any thread.
class Outbox {
 public:
  explicit Outbox(db::Pool& pool) : pool_(pool) {}

  /// At most `limit` that are due; of one webhook no more than `per_webhook` are claimed at a time,
  /// over all servers. One that is not ended within `lease` is claimed by the next.
  std::vector<ClaimedDelivery> claim(uint32_t limit, uint32_t per_webhook,
                                     std::chrono::milliseconds lease);
  /// false: the claim was lost to another server.
  bool end(const ClaimedDelivery& delivery, const DeliveryAttempt& attempt, Instant now);

  /// The newest first; `after`: an id, exclusive, "" = from the newest.
  Page<Delivery> list(RepositoryId repository, std::string_view webhook,
                      std::optional<DeliveryState> state, std::string_view after, uint32_t limit);
  /// Redelivers it in any state, with all attempts; its id stays. nullopt: there is no such
  /// delivery. One that is pending is only brought forward.
  std::optional<Delivery> redeliver(RepositoryId repository, std::string_view webhook,
                                    std::string_view event);

  /// Where more than `pending_max` of one webhook are pending, the oldest are dead, at most
  /// `rows_max` of a webhook; returns how many.
  uint64_t give_up_crowded(uint32_t pending_max, uint32_t rows_max, Instant now);

  /// Removes deliveries that ended as delivered or dead longer than these ages ago, with events
  /// that no other delivery refers to, at most `rows_max` of each; returns how many.
  uint64_t sweep(std::chrono::milliseconds delivered_age, std::chrono::milliseconds dead_age,
                 uint32_t rows_max, Instant now);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::events
