#include "core/meta/writer.h"

#include <algorithm>

#include "core/base/log.h"

namespace tarn::meta {
namespace {

constexpr int64_t kTtlMs = std::chrono::milliseconds(kWriterTtl).count();

// last_value is at or below every number taken later.
constexpr db::Query kSelectNidFloor{"writer_select_nid_floor", R"sql(
  SELECT last_value FROM node_nids)sql"};

// Lock class 2: garbage collection takes it exclusively while it reads the floors, so that no row
// appears behind it.
constexpr db::Query kInsertWriter{"writer_insert_row", R"sql(
  WITH fence AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(2, 0))
  INSERT INTO writers (writer_id, nid_floor, address_floor_ms, expires_at)
  SELECT nextval('writer_ids'), $1, $2, clock_timestamp() + $3 * interval '1 millisecond' FROM fence
  RETURNING writer_id)sql"};

constexpr db::Query kUpdateWriter{"writer_update_row", R"sql(
  UPDATE writers SET nid_floor = $2, address_floor_ms = $3,
    expires_at = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE writer_id = $1 AND expires_at > clock_timestamp())sql"};

constexpr db::Query kDeleteWriter{"writer_delete_row", R"sql(
  DELETE FROM writers WHERE writer_id = $1)sql"};

}  // namespace

Writer::Writer(db::Pool& pool, const Clock& clock) : pool_(pool), clock_(clock) {
  epochs_.push_back({});
}

Writer::Floors Writer::read_floors() {
  const db::Rows rows = pool_.run(kSelectNidFloor, {}, db::Pool::Retry::kRead);
  return {rows.integer(0, 0), std::max(clock_.now(), address_time())};
}

void Writer::register_process() {
  const Floors floors = read_floors();
  const db::Rows rows = pool_.run(kInsertWriter, {floors.nid, to_millis(floors.address), kTtlMs},
                                  db::Pool::Retry::kWrite);
  MutexLock lock(mutex_);
  id_ = rows.integer(0, 0);
  epochs_.push_back({floors, 0});
}

void Writer::heartbeat() {
  const Floors now = read_floors();
  Floors oldest = now;
  int64_t id = 0;
  {
    MutexLock lock(mutex_);
    id = id_;
    epochs_.push_back({now, 0});
    while (epochs_.size() > 1 && epochs_.front().running == 0) {
      epochs_.pop_front();
      ++first_epoch_;
    }
    oldest = epochs_.front().floors;
  }
  const db::Rows rows = pool_.run(
      kUpdateWriter, {id, oldest.nid, to_millis(oldest.address), kTtlMs}, db::Pool::Retry::kWrite);
  if (rows.affected() == 0) {
    log::warn("writer row was lost, making a new one", {{"writer", id}});
    register_process();
  }
}

void Writer::unregister() { pool_.run(kDeleteWriter, {id()}, db::Pool::Retry::kWrite); }

int64_t Writer::id() const {
  MutexLock lock(mutex_);
  return id_;
}

Instant Writer::address_time() const {
  MutexLock lock(mutex_);
  return std::max(clock_.now(), epochs_.back().floors.address);
}

Writer::Operation::Operation(Writer& writer) : writer_(writer) {
  MutexLock lock(writer_.mutex_);
  epoch_ = writer_.first_epoch_ + writer_.epochs_.size() - 1;
  ++writer_.epochs_.back().running;
}

Writer::Operation::~Operation() {
  MutexLock lock(writer_.mutex_);
  --writer_.epochs_[epoch_ - writer_.first_epoch_].running;
}

}  // namespace tarn::meta
