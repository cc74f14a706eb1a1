#include "core/jobs/operations.h"

#include <array>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/meta/row_id.h"
#include "core/model/listing.h"

namespace tarn::jobs {
namespace {

constexpr std::array<std::string_view, 5> kStates = {"running", "done", "failed", "cancelled",
                                                     "lost"};

std::string_view text_of(OperationState state) { return kStates[static_cast<size_t>(state)]; }

OperationState state_from(std::string_view text) {
  for (size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] == text) return static_cast<OperationState>(i);
  }
  throw Error(ErrorCode::kDataLoss, "operation row: has an unknown state");
}

#define TARN_OPERATION_COLUMNS                                                                   \
  "operation_id, name, target, owner, "                                                          \
  "CASE WHEN state = 'running' AND lease_until < clock_timestamp() THEN 'lost' ELSE state END, " \
  "cancel_requested, status, body, created_ms, updated_ms"

constexpr db::Query kInsert{"operations_insert_row", R"sql(
  INSERT INTO operations (operation_id, name, target, owner, owner_id, state, lease_until, created_ms, updated_ms)
  VALUES ($1, $2, $3, $4, (SELECT user_id FROM users WHERE name = $4), 'running',
          clock_timestamp() + $5 * interval '1 millisecond', $6, $6))sql"};

constexpr db::Query kRenew{"operations_renew_lease", R"sql(
  UPDATE operations SET lease_until = clock_timestamp() + $2 * interval '1 millisecond', updated_ms = $3
  WHERE operation_id = $1 AND state = 'running'
  RETURNING cancel_requested)sql"};

constexpr db::Query kFinish{"operations_finish_row", R"sql(
  WITH kept AS (
    SELECT operation_id, row_number() OVER newest_first AS place,
           sum(octet_length(body)) OVER newest_first + octet_length($4) AS bytes
    FROM operations
    WHERE owner_id = (SELECT owner_id FROM operations WHERE operation_id = $1) AND operation_id <> $1
      AND (state <> 'running' OR lease_until < clock_timestamp())
    WINDOW newest_first AS (ORDER BY operation_id DESC)),
  dropped AS (
    DELETE FROM operations WHERE operation_id IN (SELECT operation_id FROM kept WHERE place >= $6 OR bytes > $7))
  UPDATE operations SET state = $2, status = $3, body = $4, updated_ms = $5
  WHERE operation_id = $1 AND state = 'running')sql"};

// Ids of owners are compared: a deleted user and a later one with the same name are different
// users.
constexpr db::Query kFind{"operations_find_row", "SELECT " TARN_OPERATION_COLUMNS R"sql(
  FROM operations WHERE owner_id = (SELECT user_id FROM users WHERE name = $1) AND operation_id = $2)sql"};

constexpr db::Query kList{"operations_list_newest", "SELECT " TARN_OPERATION_COLUMNS R"sql(
  FROM operations WHERE owner_id = (SELECT user_id FROM users WHERE name = $1) AND ($2 = '' OR operation_id < $2)
  ORDER BY operation_id DESC LIMIT $3)sql"};

constexpr db::Query kCancel{"operations_request_cancel", R"sql(
  UPDATE operations SET cancel_requested = true
  WHERE owner_id = (SELECT user_id FROM users WHERE name = $1) AND operation_id = $2 AND state = 'running'
    AND lease_until >= clock_timestamp())sql"};

constexpr db::Query kSweep{"operations_delete_old", R"sql(
  DELETE FROM operations
  WHERE updated_ms < $1 AND (state <> 'running' OR lease_until < clock_timestamp()))sql"};

Operation operation_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kOperationId,
      kName,
      kTarget,
      kOwner,
      kState,
      kCancelRequested,
      kStatus,
      kBody,
      kCreatedMs,
      kUpdatedMs
    };
  };
  Operation out;
  out.id = rows.text(row, Column::kOperationId);
  out.name = rows.text(row, Column::kName);
  out.target = rows.text(row, Column::kTarget);
  out.owner = rows.text(row, Column::kOwner);
  out.state = state_from(rows.text(row, Column::kState));
  out.cancel_requested = rows.boolean(row, Column::kCancelRequested);
  out.status = static_cast<int>(rows.integer(row, Column::kStatus));
  out.body = rows.text(row, Column::kBody);
  out.created = from_millis(rows.integer(row, Column::kCreatedMs));
  out.updated = from_millis(rows.integer(row, Column::kUpdatedMs));
  return out;
}

bool is_text(std::string_view id) {  // as users send it
  return id.find('\0') == std::string_view::npos && is_utf8(id);
}

}  // namespace

std::string Operations::start(std::string_view name, std::string_view target,
                              std::string_view owner, std::chrono::milliseconds ttl) {
  const Instant now = clock_.now();
  const std::string id = meta::new_row_id(now);
  pool_.run(kInsert, {id, name, target, owner, static_cast<int64_t>(ttl.count()), to_millis(now)},
            db::Pool::Retry::kWrite);
  return id;
}

bool Operations::renew(std::string_view id, std::chrono::milliseconds ttl) {
  const db::Rows rows =
      pool_.run(kRenew, {id, static_cast<int64_t>(ttl.count()), to_millis(clock_.now())},
                db::Pool::Retry::kRepeatable);
  return !rows.empty() && rows.boolean(0, 0);
}

void Operations::finish(std::string_view id, OperationState state, int status,
                        std::string_view body) {
  // Affects running operations only, and an ended one never runs again.
  pool_.run(kFinish,
            {id, text_of(state), status, body, to_millis(clock_.now()), int64_t{kOperationsKeptMax},
             static_cast<int64_t>(kOperationBytesKeptMax)},
            db::Pool::Retry::kRepeatable);
}

std::optional<Operation> Operations::find(std::string_view owner, std::string_view id) {
  if (!is_text(id)) return std::nullopt;
  const db::Rows rows = pool_.run(kFind, {owner, id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return operation_from(rows, 0);
}

Page<Operation> Operations::list(std::string_view owner, std::string_view after, uint32_t limit) {
  const db::Rows rows = pool_.run(kList, {owner, after, row_limit(limit)}, db::Pool::Retry::kRead);
  return page_of<Operation>(rows, limit, operation_from, &Operation::id);
}

bool Operations::request_cancel(std::string_view owner, std::string_view id) {
  return is_text(id) &&
         pool_.run(kCancel, {owner, id}, db::Pool::Retry::kRepeatable).affected() == 1;
}

uint64_t Operations::sweep(std::chrono::milliseconds age) {
  return pool_
      .run(kSweep, {to_millis(clock_.now()) - static_cast<int64_t>(age.count())},
           db::Pool::Retry::kRepeatable)
      .affected();
}

}  // namespace tarn::jobs
