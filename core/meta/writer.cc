#include "core/meta/writer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/abort.h"
#include "core/base/log.h"

namespace tarn::meta {
namespace {

constexpr int64_t kTtlMs = std::chrono::milliseconds(kWriterTtl).count();

// last_value is at most every number that is taken later.
constexpr db::Query kSelectNidFloor{"writer_select_nid_floor", R"sql(
  SELECT last_value FROM node_nids)sql"};

// Lock class 2: garbage collection takes it exclusively while it reads the floors, so that no row
// appears unnoticed. In a statement before the one that reads the collection's floor, which is then
// the one of after the wait.
constexpr db::Query kLockFloors{"writer_lock_floors", "SELECT pg_advisory_xact_lock_shared(2, 0)"};

// A server whose clock is behind does not make addresses older than those that a collection takes
// for settled.
constexpr db::Query kInsertWriters{"writer_insert_rows", R"sql(
  INSERT INTO writers (writer_id, nid_floor, address_floor_ms, expires_at)
  SELECT nextval('writer_ids'), $1, greatest($2, g.address_floor_ms),
         clock_timestamp() + $3 * interval '1 millisecond'
  FROM gc_control g, generate_series(1, 2)
  RETURNING writer_id, address_floor_ms)sql"};

constexpr db::Query kUpdateWriters{"writer_update_rows", R"sql(
  UPDATE writers SET nid_floor = $2, address_floor_ms = $3,
    expires_at = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE writer_id = ANY ($1) AND expires_at > clock_timestamp()
  RETURNING writer_id)sql"};

constexpr db::Query kDeleteWriters{"writer_delete_rows", R"sql(
  DELETE FROM writers WHERE writer_id = ANY ($1))sql"};

constexpr db::Query kLimitWait{"writer_limit_wait", R"sql(
  SELECT set_config('lock_timeout', $1, true))sql"};

// Staging statements hold it shared until their transaction ends.
constexpr db::Query kLockStaging{"writer_lock_staging", "SELECT pg_advisory_xact_lock(1, $1)"};

// Both rows expire together: while the row for publications exists, everything that either protects
// has been protected without interruption.
constexpr db::Query kInsertStaging{"writer_insert_staging_row", R"sql(
  INSERT INTO writers (writer_id, nid_floor, address_floor_ms, expires_at)
  SELECT nextval('writer_ids'), nid_floor, address_floor_ms, expires_at FROM writers
  WHERE writer_id = $1 AND expires_at > clock_timestamp()
  RETURNING writer_id)sql"};

thread_local const Writer::Operation* innermost = nullptr;

}  // namespace

Writer::Writer(db::Pool& pool, const Clock& clock) : pool_(pool), clock_(clock) {
  epochs_.push_back({});
}

Writer::Floors Writer::read_floors() {
  const db::Rows rows = pool_.run(kSelectNidFloor, {}, db::Pool::Retry::kRead);
  return {rows.integer(0, 0), std::max(clock_.now(), address_time())};
}

void Writer::register_process() {
  struct Column {
    enum : int { kWriterId, kAddressFloorMs };
  };
  Floors floors = read_floors();
  const db::Rows rows = pool_.transaction([&](db::Connection& connection) {
    connection.run(kLockFloors);
    return connection.run(kInsertWriters, {floors.nid, to_millis(floors.address), kTtlMs});
  });
  floors.address = std::max(floors.address, from_millis(rows.integer(0, Column::kAddressFloorMs)));
  MutexLock lock(mutex_);
  ++registration_;
  id_ = rows.integer(0, Column::kWriterId);
  staging_id_ = rows.integer(1, Column::kWriterId);
  epochs_.push_back({floors, 0});
}

void Writer::heartbeat() {
  const Floors now = read_floors();
  Floors oldest = now;
  std::vector<int64_t> ids;
  {
    MutexLock lock(mutex_);
    ids = {id_, staging_id_};
    epochs_.push_back({now, 0});
    while (epochs_.size() > 1 && epochs_.front().running == 0) {
      epochs_.pop_front();
      ++first_epoch_;
    }
    oldest = epochs_.front().floors;
  }
  const db::Rows rows =
      pool_.run(kUpdateWriters, {ids, oldest.nid, to_millis(oldest.address), kTtlMs},
                db::Pool::Retry::kWrite);
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows.integer(row, 0) == ids[0]) return;
  }
  log::warn("writer row was lost, making a new one", {{"writer", ids[0]}});
  // An expired row would be valid again if the database's clock were set back.
  pool_.run(kDeleteWriters, {ids}, db::Pool::Retry::kRepeatable);
  register_process();
}

void Writer::unregister() {
  pool_.run(kDeleteWriters, {std::vector<int64_t>{id(), staging_id()}}, db::Pool::Retry::kWrite);
}

uint64_t Writer::registration_of_thread() const {
  const bool ours = innermost != nullptr && &innermost->writer_ == this;
  return ours ? innermost->registration_ : registration_;
}

uint64_t Writer::registration() const {
  MutexLock lock(mutex_);
  return registration_of_thread();
}

int64_t Writer::id() const {
  MutexLock lock(mutex_);
  return registration_of_thread() == registration_ ? id_ : 0;
}

int64_t Writer::staging_id(uint64_t of) const {
  MutexLock lock(mutex_);
  return of == registration_ ? staging_id_ : 0;
}

std::optional<int64_t> Writer::staging_id_after(int64_t refused, uint64_t of) {
  const MutexLock renewal(renewal_mutex_);
  const int64_t now = staging_id(of);
  if (now == 0) return std::nullopt;
  if (now != refused) return now;
  const db::Rows rows = pool_.run(kInsertStaging, {id()}, db::Pool::Retry::kRepeatable);
  if (rows.empty()) return std::nullopt;
  MutexLock lock(mutex_);
  staging_id_ = rows.integer(0, 0);
  return staging_id_;
}

void Writer::fence(db::Connection& connection, BranchId branch, int64_t used) {
  connection.run(kLimitWait, {std::to_string(kFenceWait.count())});
  connection.run(kLockStaging, {static_cast<int32_t>(branch)});
  connection.run(kDeleteWriters, {std::vector<int64_t>{used}});
}

void Writer::fence_later(BranchId branch, int64_t used) {
  MutexLock lock(mutex_);
  fences_.insert({branch, used});
}

void Writer::raise_fences(BranchId branch) {
  for (const int64_t used : fences_of(branch)) {
    pool_.transaction([&](db::Connection& connection) { fence(connection, branch, used); });
    MutexLock lock(mutex_);
    fences_.erase({branch, used});
  }
}

void Writer::raise_all_fences() noexcept {
  std::set<BranchId> branches;
  {
    MutexLock lock(mutex_);
    for (const auto& [branch, used] : fences_) branches.insert(branch);
  }
  for (const BranchId branch : branches) {
    try {
      raise_fences(branch);
    } catch (const Error& error) {
      log::debug("writes in doubt are ended later", {{"error", error.message()}});
    }
  }
}

std::vector<int64_t> Writer::fences_of(BranchId branch) const {
  MutexLock lock(mutex_);
  std::vector<int64_t> out;
  for (const auto& [of, used] : fences_) {
    if (of == branch) out.push_back(used);
  }
  return out;
}

Instant Writer::address_time() const {
  MutexLock lock(mutex_);
  return std::max(clock_.now(), epochs_.back().floors.address);
}

Instant Writer::fresh_since() const {
  MutexLock lock(mutex_);
  return epochs_.back().floors.address;
}

Writer::Operation::Operation(Writer& writer) : writer_(writer), outer_(innermost) {
  MutexLock lock(writer_.mutex_);
  // The outermost one registers: an inner one may publish what that has made.
  registration_ = writer_.registration_of_thread();
  innermost = this;
  epoch_ = writer_.first_epoch_ + writer_.epochs_.size() - 1;
  ++writer_.epochs_.back().running;
}

Writer::Operation::~Operation() {
  TARN_CHECK_OR_ABORT(innermost == this);
  innermost = outer_;
  MutexLock lock(writer_.mutex_);
  --writer_.epochs_[epoch_ - writer_.first_epoch_].running;
}

}  // namespace tarn::meta
