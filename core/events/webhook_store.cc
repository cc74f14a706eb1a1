#include "core/events/webhook_store.h"

#include "core/model/listing.h"

namespace tarn::events {
namespace {

// Locks the repository's row, so that two concurrent requests cannot both create the last permitted
// webhook.
constexpr db::Query kLockRepository{"webhooks_lock_repository", R"sql(
  SELECT repo_id FROM repositories WHERE repo_id = $1 AND deleted_ms IS NULL FOR NO KEY UPDATE)sql"};

constexpr db::Query kUpdate{"webhooks_update_row", R"sql(
  UPDATE webhooks SET url = $3, events = $4, format = $5, active = $6, secret = coalesce($7, secret)
  WHERE repo_id = $1 AND name = $2)sql"};

constexpr db::Query kInsert{"webhooks_insert_row", R"sql(
  INSERT INTO webhooks (repo_id, name, url, events, format, active, secret, created_by, created_ms)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
  WHERE (SELECT count(*) FROM webhooks WHERE repo_id = $1) < $10)sql"};

#define TARN_WEBHOOK_COLUMNS \
  "name, url, events, format, active, created_by, created_ms FROM webhooks"

constexpr db::Query kSelect{"webhooks_select_by_name",
                            "SELECT " TARN_WEBHOOK_COLUMNS " WHERE repo_id = $1 AND name = $2"};

constexpr db::Query kSelectSecret{"webhooks_select_secret",
                                  "SELECT secret FROM webhooks WHERE repo_id = $1 AND name = $2"};

constexpr db::Query kSelectPage{"webhooks_select_page", "SELECT " TARN_WEBHOOK_COLUMNS R"sql(
  WHERE repo_id = $1 AND name > $2 AND name >= $3 AND starts_with(name, $3) ORDER BY name LIMIT $4)sql"};

constexpr db::Query kDelete{"webhooks_delete_row", R"sql(
  WITH gone AS (DELETE FROM webhooks WHERE repo_id = $1 AND name = $2 RETURNING webhook_id),
  undelivered AS (DELETE FROM webhook_deliveries d USING gone g WHERE d.webhook_id = g.webhook_id)
  SELECT count(*) FROM gone)sql"};

Webhook webhook_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kName, kUrl, kEvents, kFormat, kActive, kCreatedBy, kCreatedMs };
  };
  Webhook webhook;
  webhook.name = rows.text(row, Column::kName);
  webhook.url = rows.text(row, Column::kUrl);
  webhook.events = rows.strings(row, Column::kEvents);
  const auto format = parse_webhook_format(rows.text(row, Column::kFormat));
  if (!format) throw Error(ErrorCode::kDataLoss, "webhook row: has an unknown format");
  webhook.format = *format;
  webhook.active = rows.boolean(row, Column::kActive);
  webhook.created_by = rows.text(row, Column::kCreatedBy);
  webhook.created = from_millis(rows.integer(row, Column::kCreatedMs));
  return webhook;
}

}  // namespace

WebhookStore::PutOutcome WebhookStore::put(RepositoryId repository, const Webhook& webhook,
                                           std::string_view sealed_secret, bool keep_secret) {
  const int32_t repo = static_cast<int32_t>(repository);
  const std::optional<db::Bytes> changed_secret =
      keep_secret ? std::nullopt : std::optional<db::Bytes>(db::Bytes{sealed_secret});
  return pool_.transaction([&](db::Connection& connection) {
    connection.run(kLockRepository, {repo});
    const bool changed =
        connection
            .run(kUpdate, {repo, webhook.name, webhook.url, webhook.events, name_of(webhook.format),
                           webhook.active, changed_secret})
            .affected() == 1;
    if (changed) return PutOutcome::kChanged;
    const bool made =
        connection
            .run(kInsert, {repo, webhook.name, webhook.url, webhook.events, name_of(webhook.format),
                           webhook.active, db::Bytes{sealed_secret}, webhook.created_by,
                           to_millis(webhook.created), static_cast<int64_t>(kWebhooksMax)})
            .affected() == 1;
    return made ? PutOutcome::kMade : PutOutcome::kTooMany;
  });
}

std::optional<Webhook> WebhookStore::find(RepositoryId repository, std::string_view name) {
  const db::Rows rows =
      pool_.run(kSelect, {static_cast<int32_t>(repository), name}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return webhook_from(rows, 0);
}

std::optional<std::string> WebhookStore::sealed_secret(RepositoryId repository,
                                                       std::string_view name) {
  const db::Rows rows =
      pool_.run(kSelectSecret, {static_cast<int32_t>(repository), name}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return std::string(rows.bytes(0, 0));
}

Page<Webhook> WebhookStore::list(RepositoryId repository, std::string_view prefix,
                                 std::string_view after, uint32_t limit) {
  const db::Rows rows =
      pool_.run(kSelectPage, {static_cast<int32_t>(repository), after, prefix, row_limit(limit)},
                db::Pool::Retry::kRead);
  return page_of<Webhook>(rows, limit, webhook_from, &Webhook::name);
}

bool WebhookStore::remove(RepositoryId repository, std::string_view name) {
  return pool_.transaction([&](db::Connection& connection) {
    return connection.run(kDelete, {static_cast<int32_t>(repository), name}).integer(0, 0) == 1;
  });
}

}  // namespace tarn::events
