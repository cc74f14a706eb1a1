#include "core/meta/staged_batch.h"

#include <optional>
#include <utility>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"

namespace tarn::meta {
namespace {

constexpr size_t kRowsPerPage = 10'000;

// The same values as in staging.cc.
constexpr int16_t kKindEntry = 0;
constexpr int16_t kKindDeleted = 1;

// The row in retired_tokens has a future time, so that nothing is swept while the batch is filled;
// publishing deletes it.
constexpr db::Query kOpen{"staged_batch_open", R"sql(
  WITH opened AS (
    INSERT INTO retired_tokens (token, retired_at)
    VALUES (nextval('staging_tokens'), clock_timestamp() + interval '1 hour') RETURNING token),
  noted AS (INSERT INTO staging_makers (token, maker) SELECT token, m FROM opened, unnest($1::text[]) AS u(m))
  SELECT token FROM opened)sql"};

constexpr db::Query kAbandon{"staged_batch_abandon", R"sql(
  UPDATE retired_tokens SET retired_at = clock_timestamp() WHERE token = $1)sql"};

constexpr db::Query kInsertRange{"staged_batch_insert_range", R"sql(
  INSERT INTO staging_ranges (token, lo, hi, kind) VALUES ($1, $2, $3, 1))sql"};

constexpr db::Query kBeginChange{"staged_batch_begin_change",
                                 "SELECT begin_branch_change($1, $2, $3)"};

constexpr db::Query kWriterLives{"staged_batch_writer_lives", "SELECT writer_lives($1)"};

// Primary key of staging.
constexpr db::Query kSelectLater{"staged_batch_select_later", R"sql(
  SELECT key, kind, val FROM staging WHERE token = $1 AND key >= $2 AND ($3::bytea IS NULL OR key < $3)
  ORDER BY key LIMIT $4)sql"};

constexpr db::Query kUpsertRow{"staged_batch_upsert_row", R"sql(
  INSERT INTO staging (token, key, kind, val) VALUES ($1, $2, $3, $4)
  ON CONFLICT (token, key) DO UPDATE SET kind = excluded.kind, val = excluded.val)sql"};

// The batch is newer than the token of concurrent writes; neither has rows in the other's ranges.
// Later writes go to a third token, so that conditional writes check again.
constexpr db::Query kPublish{"staged_batch_publish", R"sql(
  UPDATE branches SET
    sealed = $3 || CASE WHEN EXISTS (SELECT 1 FROM staging s WHERE s.token = branches.token)
                        THEN token || sealed ELSE sealed END,
    token = nextval('staging_tokens'), has_ranges = has_ranges OR $4, version = version + 1
  WHERE branch_id = $1 AND lease_owner = $2 AND lease_until > clock_timestamp() AND token = $5)sql"};

// After the time of retirement a sweep may have deleted some of the rows.
constexpr db::Query kUnretire{
    "staged_batch_unretire",
    "DELETE FROM retired_tokens WHERE token = $1 AND retired_at > clock_timestamp()"};

std::optional<db::Bytes> end_of(const KeyRange& range) {
  if (range.end.empty()) return std::nullopt;
  return db::Bytes{range.end};
}

}  // namespace

StagedBatch::StagedBatch(db::Pool& pool, Writer& writer, RepositoryId repository)
    : pool_(pool),
      writer_(writer),
      repository_(repository),
      token_(pool.run(kOpen, {ActingUser::makers()}, db::Pool::Retry::kWrite).integer(0, 0)) {}

StagedBatch::~StagedBatch() {
  if (published_) return;
  try {
    // If publishing took effect but its response was lost, the row is gone and this does nothing.
    pool_.run(kAbandon, {token_}, db::Pool::Retry::kRepeatable);
  } catch (const Error& error) {
    // A sweep deletes it after an hour.
    log::warn("staged batch was not abandoned", {{"error", error.message()}});
  }
}

void StagedBatch::add(StagedRow row) {
  rows_.push_back(std::move(row));
  if (rows_.size() == kRowsPerPage) send_rows();
}

void StagedBatch::send_rows() {
  if (rows_.empty()) return;
  References references(writer_.fresh_since());
  for (const StagedRow& row : rows_) {
    if (row.entry) references.add(row.entry->address);
  }
  pool_.transaction([&](db::Connection& connection) {
    db::Connection::CopyIn copy(connection,
                                "COPY staging (token, key, kind, val) FROM STDIN BINARY");
    for (const StagedRow& row : rows_) {
      const std::string bytes = row.entry ? encode_entry(*row.entry) : std::string();
      copy.row(
          {token_, db::Bytes{row.key}, row.entry ? kKindEntry : kKindDeleted, db::Bytes{bytes}});
    }
    copy.finish();
    references.rescue(connection, repository_);
  });
  rows_.clear();
}

void StagedBatch::delete_range(const KeyRange& range) {
  pool_.run(kInsertRange, {token_, db::Bytes{range.begin}, end_of(range)}, db::Pool::Retry::kWrite);
  has_range_ = true;
}

bool StagedBatch::catch_up_with(db::Connection& connection, int64_t token,
                                const std::vector<KeyRange>& watched, const CatchUp& catch_up) {
  struct Column {
    enum : int { kKey, kKind, kVal };
  };
  const uint32_t rows_max = catch_up ? kCaughtUpRowsMax : 0;
  std::map<std::string, StagedRow> later;  // ranges may overlap
  for (const KeyRange& range : watched) {
    const db::Rows rows = connection.run(
        kSelectLater, {token, db::Bytes{range.begin}, end_of(range), int64_t{rows_max} + 1});
    for (size_t row = 0; row < rows.size(); ++row) {
      std::string key(rows.bytes(row, Column::kKey));
      std::optional<Entry> entry;
      if (rows.integer(row, Column::kKind) == kKindEntry)
        entry = decode_entry(rows.bytes(row, Column::kVal));
      later[key] = {key, std::move(entry)};
    }
    if (later.size() > rows_max) return false;
  }
  if (later.empty()) return true;
  std::vector<StagedRow> rows;
  for (auto& [key, row] : later) rows.push_back(std::move(row));
  const auto more = catch_up(rows);
  if (!more) return false;
  for (const StagedRow& row : *more) {
    const std::string bytes = row.entry ? encode_entry(*row.entry) : std::string();
    connection.run(kUpsertRow, {token_, db::Bytes{row.key}, row.entry ? kKindEntry : kKindDeleted,
                                db::Bytes{bytes}});
  }
  return true;
}

StagedBatch::Outcome StagedBatch::publish(BranchId branch, const BranchLease& lease,
                                          const std::vector<KeyRange>& watched,
                                          const CatchUp& catch_up) {
  send_rows();
  const Outcome outcome = pool_.transaction([&](db::Connection& connection) {
    if (!connection
             .run(kBeginChange, {static_cast<int32_t>(lease.repository),
                                 static_cast<int32_t>(branch), lease.settings_version})
             .boolean(0, 0)) {
      return Outcome::kOvertaken;
    }
    if (!connection.run(kWriterLives, {writer_.id()}).boolean(0, 0)) {
      throw Error(ErrorCode::kUnavailable, reason::kWriterLost,
                  "staging a change: this server lost its registration in the database, try again");
    }
    if (!catch_up_with(connection, lease.token, watched, catch_up)) return Outcome::kOvertaken;
    if (connection
            .run(kPublish,
                 {static_cast<int32_t>(branch), lease.owner, token_, has_range_, lease.token})
            .affected() != 1) {
      return Outcome::kLeaseLost;
    }
    if (connection.run(kUnretire, {token_}).affected() != 1) {
      throw Error(ErrorCode::kUnavailable, reason::kBatchExpired,
                  "staging a change: it took longer than an hour and was given up, try again");
    }
    return Outcome::kDone;
  });
  published_ = outcome == Outcome::kDone;
  return outcome;
}

}  // namespace tarn::meta
