#include "core/objects/range_summaries.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/log.h"

namespace tarn::objects {
namespace {

constexpr size_t kSummariesPerInsertMax = 2048;
// A wait ends by a notice; this bounds one that was missed.
constexpr std::chrono::seconds kWaitMax{1};

constexpr db::Query kSelect{"range_summaries_select_bodies", R"sql(
  SELECT nid, body FROM range_summaries WHERE repo_id = $1 AND nid = ANY ($2))sql"};

// The lock prevents a concurrent deletion of the repository, which deletes its summaries. The newer
// of two versions wins. A search does not wait for the disk: a crash may lose what can be made
// again.
constexpr db::Query kInsert{"range_summaries_insert_rows", R"sql(
  WITH alive AS (SELECT repo_id FROM repositories WHERE repo_id = $1 AND deleted_ms IS NULL FOR SHARE),
    unsynced AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
  INSERT INTO range_summaries AS old (repo_id, nid, body)
  SELECT alive.repo_id, n, b FROM alive, unsynced, unnest($2::bigint[], $3::bytea[]) AS u(n, b)
  ON CONFLICT (repo_id, nid) DO UPDATE SET body = excluded.body
  WHERE get_byte(old.body, 0) < get_byte(excluded.body, 0))sql"};

}  // namespace

std::vector<RangeSummaries::Summary> RangeSummaries::load(db::Connection* connection,
                                                          RepositoryId repository,
                                                          std::span<const Nid> ranges) {
  struct Column {
    enum : int { kNid, kBody };
  };
  std::vector<Summary> out(ranges.size());
  std::vector<int64_t> missing;
  for (size_t i = 0; i < ranges.size(); ++i) {
    out[i] = cache_.find(ranges[i]);
    if (!out[i]) missing.push_back(ranges[i]);
  }
  if (missing.empty()) return out;
  const int32_t id = static_cast<int32_t>(repository);
  const db::Rows rows = connection != nullptr
                            ? connection->run(kSelect, {id, missing})
                            : pool_.run(kSelect, {id, missing}, db::Pool::Retry::kRead);
  std::unordered_map<Nid, Summary> found;
  for (size_t row = 0; row < rows.size(); ++row) {
    auto summary = search::RangeSummary::decode(rows.bytes(row, Column::kBody));
    if (!summary) continue;
    const auto kept = std::make_shared<const search::RangeSummary>(*std::move(summary));
    cache_.put(rows.integer(row, Column::kNid), kept);
    found[rows.integer(row, Column::kNid)] = kept;
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (out[i]) continue;
    const auto at = found.find(ranges[i]);
    if (at != found.end()) out[i] = at->second;
  }
  return out;
}

RangeSummaries::~RangeSummaries() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

void RangeSummaries::keep(RepositoryId repository, std::vector<Made> made) {
  if (made.empty()) return;
  Batch batch{repository, std::move(made)};
  for (const Made& one : batch.made) {
    cache_.put(one.range, one.summary);
    batch.bytes += one.summary->memory_bytes();
  }
  if (!queue(batch)) store_or_drop(batch);
}

/// false = there is no room for it.
bool RangeSummaries::queue(Batch& batch) {
  {
    const MutexLock lock(mutex_);
    if (queued_bytes_ + batch.bytes > queued_bytes_max_) return false;
    queued_bytes_ += batch.bytes;
    queue_.push_back(std::move(batch));
    if (!storing_.joinable()) storing_ = std::jthread([this] { store_queued(); });
  }
  changed_.notify_all();
  return true;
}

void RangeSummaries::store_queued() {
  MutexLock lock(mutex_);
  const auto has_work = [this]() TARN_REQUIRES(mutex_) { return stopping_ || !queue_.empty(); };
  for (;;) {
    while (!changed_.wait_for(lock, kWaitMax, has_work)) continue;
    if (stopping_) return;
    const Batch& first = queue_.front();  // stays where it is while others are added
    lock.unlock();
    store_or_drop(first);
    lock.lock();
    queued_bytes_ -= first.bytes;
    queue_.pop_front();
    changed_.notify_all();
  }
}

void RangeSummaries::flush() {
  MutexLock lock(mutex_);
  const auto done = [this]() TARN_REQUIRES(mutex_) { return queue_.empty(); };
  while (!changed_.wait_for(lock, kWaitMax, done)) continue;
}

void RangeSummaries::store_or_drop(const Batch& batch) {
  try {
    const std::span<const Made> made(batch.made);
    for (size_t first = 0; first < made.size() && !stops(); first += kSummariesPerInsertMax) {
      insert(batch.repository,
             made.subspan(first, std::min(kSummariesPerInsertMax, made.size() - first)));
    }
  } catch (const std::exception& error) {
    log::warn("range_summaries_dropped", {{"count", batch.made.size()}, {"error", error.what()}});
  }
}

bool RangeSummaries::stops() {
  const MutexLock lock(mutex_);
  return stopping_;
}

void RangeSummaries::insert(RepositoryId repository, std::span<const Made> made) {
  std::vector<int64_t> nids;
  std::vector<std::string> encoded;
  for (const Made& one : made) {
    nids.push_back(one.range);
    encoded.push_back(one.summary->encode());
  }
  std::vector<db::Bytes> bodies;
  for (const std::string& body : encoded) bodies.push_back({body});
  pool_.run(kInsert, {static_cast<int32_t>(repository), nids, bodies}, db::Pool::Retry::kWrite);
}

}  // namespace tarn::objects
