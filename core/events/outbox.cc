#include "core/events/outbox.h"

#include "core/base/error.h"
#include "core/model/event.h"
#include "core/model/listing.h"

namespace tarn::events {
namespace {

constexpr db::Query kEmit{"outbox_emit_event", "SELECT emit_event($1, $2, jsonb_object($3, $4))"};

constexpr db::Query kClaim{"outbox_claim_deliveries", R"sql(
  SELECT event_id, webhook_id, claim, attempts, body, type, url, format, secret, repo_id, name
  FROM claim_deliveries($1, $2, $3))sql"};

constexpr db::Query kEndDelivered{"outbox_end_delivered", R"sql(
  UPDATE webhook_deliveries SET state = 'delivered', running = false, last_status = $4, last_error = '', ended_ms = $5
  WHERE event_id = $1 AND webhook_id = $2 AND claim = $3 AND state = 'pending')sql"};

constexpr db::Query kEndRetry{"outbox_end_retry", R"sql(
  UPDATE webhook_deliveries SET running = false, last_status = $4, last_error = $5,
    next_at = clock_timestamp() + $6 * interval '1 millisecond'
  WHERE event_id = $1 AND webhook_id = $2 AND claim = $3 AND state = 'pending')sql"};

constexpr db::Query kEndDead{"outbox_end_dead", R"sql(
  UPDATE webhook_deliveries SET state = 'dead', running = false, last_status = $4, last_error = $5, ended_ms = $6
  WHERE event_id = $1 AND webhook_id = $2 AND claim = $3 AND state = 'pending')sql"};

#define TARN_DELIVERY_COLUMNS                                                                \
  "d.event_id, e.type, d.state, d.attempts, e.created_ms, "                                  \
  "(extract(epoch FROM d.next_at) * 1000)::bigint, d.ended_ms, d.last_status, d.last_error " \
  "FROM webhook_deliveries d JOIN webhooks h ON h.webhook_id = d.webhook_id "                \
  "JOIN events e ON e.event_id = d.event_id "                                                \
  "WHERE h.repo_id = $1 AND h.name = $2"

constexpr db::Query kSelectPage{"outbox_select_page", "SELECT " TARN_DELIVERY_COLUMNS R"sql(
  AND ($3 = '' OR d.state = $3) AND ($4 = '' OR d.event_id < $4)
  ORDER BY d.event_id DESC LIMIT $5)sql"};

constexpr db::Query kSelect{"outbox_select_by_id",
                            "SELECT " TARN_DELIVERY_COLUMNS " AND d.event_id = $3"};

constexpr db::Query kRedeliver{"outbox_redeliver", R"sql(
  UPDATE webhook_deliveries d SET
    next_at = CASE WHEN d.running AND d.state = 'pending' THEN d.next_at ELSE clock_timestamp() END,
    attempts = CASE d.state WHEN 'pending' THEN d.attempts ELSE 0 END,
    state = 'pending', ended_ms = NULL
  FROM webhooks h
  WHERE h.repo_id = $1 AND h.name = $2 AND d.webhook_id = h.webhook_id AND d.event_id = $3)sql"};

// Removes the oldest deliveries of a webhook that has too many.
constexpr db::Query kGiveUpCrowded{"outbox_give_up_crowded", R"sql(
  WITH crowded AS (
    SELECT webhook_id, count(*) - $1 AS surplus FROM webhook_deliveries
    WHERE state = 'pending' GROUP BY webhook_id HAVING count(*) > $1)
  UPDATE webhook_deliveries d SET state = 'dead', ended_ms = $3, last_error = 'too many others were waiting'
  FROM crowded c, LATERAL (
    SELECT o.event_id, o.webhook_id FROM webhook_deliveries o
    WHERE o.webhook_id = c.webhook_id AND o.state = 'pending' AND NOT o.running
    ORDER BY o.event_id LIMIT least(c.surplus, $2)) AS old
  WHERE d.event_id = old.event_id AND d.webhook_id = old.webhook_id AND d.state = 'pending' AND NOT d.running)sql"};

constexpr db::Query kSweepDeliveries{"outbox_sweep_deliveries", R"sql(
  DELETE FROM webhook_deliveries WHERE (event_id, webhook_id) IN (
    SELECT event_id, webhook_id FROM webhook_deliveries WHERE state = $1 AND ended_ms < $2 LIMIT $3)
  RETURNING event_id)sql"};

constexpr db::Query kDeleteToldEvents{"outbox_delete_told_events", R"sql(
  DELETE FROM events e WHERE event_id = ANY ($1)
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.event_id))sql"};

constexpr db::Query kSweepLeavingWebhooks{"outbox_sweep_leaving_webhooks", R"sql(
  DELETE FROM leaving_webhooks w WHERE NOT EXISTS (
    SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.webhook_id AND d.state = 'pending'))sql"};

// Removes deliveries of deleted webhooks.
constexpr db::Query kSweepEvents{"outbox_sweep_events", R"sql(
  DELETE FROM events WHERE event_id IN (
    SELECT event_id FROM events e
    WHERE created_ms < $1 AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.event_id)
    ORDER BY created_ms LIMIT $2))sql"};

Delivery delivery_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kEventId,
      kType,
      kState,
      kAttempts,
      kCreatedMs,
      kNextMs,
      kEndedMs,
      kLastStatus,
      kLastError
    };
  };
  const auto state = parse_delivery_state(rows.text(row, Column::kState));
  if (!state) throw Error(ErrorCode::kDataLoss, "delivery row: has an unknown state");
  Delivery delivery{.id = std::string(rows.text(row, Column::kEventId)),
                    .type = std::string(rows.text(row, Column::kType)),
                    .state = *state,
                    .attempts = static_cast<uint32_t>(rows.integer(row, Column::kAttempts)),
                    .created = from_millis(rows.integer(row, Column::kCreatedMs)),
                    .last_error = std::string(rows.text(row, Column::kLastError))};
  if (*state == DeliveryState::kPending)
    delivery.next_attempt = from_millis(rows.integer(row, Column::kNextMs));
  if (!rows.null(row, Column::kEndedMs))
    delivery.ended = from_millis(rows.integer(row, Column::kEndedMs));
  if (!rows.null(row, Column::kLastStatus))
    delivery.last_status = static_cast<int>(rows.integer(row, Column::kLastStatus));
  return delivery;
}

ClaimedDelivery claimed_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kEventId,
      kWebhookId,
      kClaim,
      kAttempts,
      kBody,
      kType,
      kUrl,
      kFormat,
      kSecret,
      kRepoId,
      kName
    };
  };
  const auto format = parse_webhook_format(rows.text(row, Column::kFormat));
  if (!format) throw Error(ErrorCode::kDataLoss, "webhook row: has an unknown format");
  return {.event = std::string(rows.text(row, Column::kEventId)),
          .webhook = static_cast<int32_t>(rows.integer(row, Column::kWebhookId)),
          .claim = static_cast<int32_t>(rows.integer(row, Column::kClaim)),
          .attempts = static_cast<uint32_t>(rows.integer(row, Column::kAttempts)),
          .body = std::string(rows.text(row, Column::kBody)),
          .type = std::string(rows.text(row, Column::kType)),
          .url = std::string(rows.text(row, Column::kUrl)),
          .format = *format,
          .sealed_secret = std::string(rows.bytes(row, Column::kSecret)),
          .repository = static_cast<RepositoryId>(rows.integer(row, Column::kRepoId)),
          .webhook_name = std::string(rows.text(row, Column::kName))};
}

std::optional<int32_t> column(const std::optional<int>& status) {
  if (!status) return std::nullopt;
  return static_cast<int32_t>(*status);
}

}  // namespace

void emit_event(db::Connection& connection, RepositoryId repository, std::string_view type,
                const EventData& data) {
  TARN_CHECK(is_event_type(type));
  std::vector<std::string> names;
  std::vector<std::string> values;
  for (const auto& [name, value] : data) {
    names.push_back(name);
    values.push_back(value);
  }
  connection.run(kEmit, {static_cast<int32_t>(repository), type, names, values});
}

std::vector<ClaimedDelivery> Outbox::claim(uint32_t limit, uint32_t per_webhook,
                                           std::chrono::milliseconds lease) {
  const db::Rows rows = pool_.transaction([&](db::Connection& connection) {
    return connection.run(kClaim, {static_cast<int32_t>(limit), static_cast<int32_t>(per_webhook),
                                   static_cast<int64_t>(lease.count())});
  });
  std::vector<ClaimedDelivery> out;
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(claimed_from(rows, row));
  return out;
}

bool Outbox::end(const ClaimedDelivery& delivery, const DeliveryAttempt& attempt, Instant now) {
  const std::optional<int32_t> status = column(attempt.status);
  const auto run = [&] {
    if (attempt.error.empty()) {
      return pool_.run(kEndDelivered,
                       {delivery.event, delivery.webhook, delivery.claim, status, to_millis(now)},
                       db::Pool::Retry::kWrite);
    }
    if (attempt.retry_after) {
      return pool_.run(kEndRetry,
                       {delivery.event, delivery.webhook, delivery.claim, status, attempt.error,
                        static_cast<int64_t>(attempt.retry_after->count())},
                       db::Pool::Retry::kWrite);
    }
    return pool_.run(
        kEndDead,
        {delivery.event, delivery.webhook, delivery.claim, status, attempt.error, to_millis(now)},
        db::Pool::Retry::kWrite);
  };
  return run().affected() == 1;
}

Page<Delivery> Outbox::list(RepositoryId repository, std::string_view webhook,
                            std::optional<DeliveryState> state, std::string_view after,
                            uint32_t limit) {
  const db::Rows rows = pool_.run(kSelectPage,
                                  {static_cast<int32_t>(repository), webhook,
                                   state ? name_of(*state) : "", after, row_limit(limit)},
                                  db::Pool::Retry::kRead);
  return page_of<Delivery>(rows, limit, delivery_from, &Delivery::id);
}

std::optional<Delivery> Outbox::redeliver(RepositoryId repository, std::string_view webhook,
                                          std::string_view event) {
  const int32_t repo = static_cast<int32_t>(repository);
  return pool_.transaction([&](db::Connection& connection) -> std::optional<Delivery> {
    connection.run(kRedeliver, {repo, webhook, event});
    const db::Rows rows = connection.run(kSelect, {repo, webhook, event});
    if (rows.empty()) return std::nullopt;
    return delivery_from(rows, 0);
  });
}

uint64_t Outbox::give_up_crowded(uint32_t pending_max, uint32_t rows_max, Instant now) {
  return pool_
      .run(kGiveUpCrowded,
           {static_cast<int64_t>(pending_max), static_cast<int64_t>(rows_max), to_millis(now)},
           db::Pool::Retry::kWrite)
      .affected();
}

uint64_t Outbox::sweep(std::chrono::milliseconds delivered_age, std::chrono::milliseconds dead_age,
                       uint32_t rows_max, Instant now) {
  const int64_t limit = rows_max;
  const auto sweep_ended = [&](DeliveryState state, std::chrono::milliseconds age) {
    return pool_.transaction([&](db::Connection& connection) -> uint64_t {
      const db::Rows rows =
          connection.run(kSweepDeliveries, {name_of(state), to_millis(now - age), limit});
      std::vector<std::string> events;
      for (size_t row = 0; row < rows.size(); ++row) events.emplace_back(rows.text(row, 0));
      if (!events.empty()) connection.run(kDeleteToldEvents, {events});
      return events.size();
    });
  };
  const uint64_t ended = sweep_ended(DeliveryState::kDelivered, delivered_age) +
                         sweep_ended(DeliveryState::kDead, dead_age);
  pool_.run(kSweepLeavingWebhooks, {}, db::Pool::Retry::kWrite);
  return ended +
         pool_.run(kSweepEvents, {to_millis(now - dead_age), limit}, db::Pool::Retry::kWrite)
             .affected();
}

}  // namespace tarn::events
