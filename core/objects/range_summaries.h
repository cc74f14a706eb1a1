// Range summaries in PostgreSQL, with a cache; shared by the searches of all refs of a repository.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/db/pool.h"
#include "core/meta/nid_cache.h"
#include "core/model/names.h"
#include "core/search/range_summary.h"

namespace tarn::objects {

/// Maximum size of the summaries that wait to be stored, together.
constexpr size_t kQueuedSummaryBytesMax = 16 * 1024 * 1024;

/// Safe from any thread.
class RangeSummaries {
 public:
  using Summary = std::shared_ptr<const search::RangeSummary>;

  RangeSummaries(db::Pool& pool, size_t cache_bytes,
                 size_t queued_bytes_max = kQueuedSummaryBytesMax)
      : pool_(pool), queued_bytes_max_(queued_bytes_max), cache_(cache_bytes) {}
  /// Drops what was not stored, after the statement that runs.
  ~RangeSummaries();

  /// In the requested order; nullptr = none was made yet. Reads what the cache lacks through
  /// `connection` when there is one: a request that holds one must not lease another.
  std::vector<Summary> load(db::Connection* connection, RepositoryId repository,
                            std::span<const Nid> ranges);

  struct Made {
    Nid range = 0;
    Summary summary;
  };
  /// Keeps what a search made: in memory now, in the database soon, by a thread, unless the
  /// repository is deleted by then. Waits for the database only while too much is queued. What
  /// could not be stored is logged and dropped: a search that lacks it makes it again.
  void keep(RepositoryId repository, std::vector<Made> made);
  /// Waits until all that was kept before is stored or dropped.
  void flush();

 private:
  struct Batch {
    RepositoryId repository{};
    std::vector<Made> made;
    size_t bytes = 0;
  };

  bool queue(Batch& batch);
  void store_queued();
  void store_or_drop(const Batch& batch);
  bool stops();
  void insert(RepositoryId repository, std::span<const Made> made);

  db::Pool& pool_;
  const size_t queued_bytes_max_;
  meta::NidCache<search::RangeSummary> cache_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<Batch> queue_ TARN_GUARDED_BY(mutex_);  ///< the first is being stored
  size_t queued_bytes_ TARN_GUARDED_BY(mutex_) = 0;
  bool stopping_ TARN_GUARDED_BY(mutex_) = false;
  std::jthread storing_;  ///< since something was queued; last member: it uses the others
};

}  // namespace tarn::objects
