// Range summaries in PostgreSQL, with a cache; shared by the searches of all refs of a repository.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/db/pool.h"
#include "core/meta/nid_cache.h"
#include "core/model/names.h"
#include "core/search/range_summary.h"

namespace tarn::meta {

/// Safe from any thread.
class RangeSummaries {
 public:
  using Summary = std::shared_ptr<const search::RangeSummary>;

  RangeSummaries(db::Pool& pool, size_t cache_bytes) : pool_(pool), cache_(cache_bytes) {}

  /// In the requested order; nullptr = none was made yet. Reads what the cache lacks through
  /// `connection` when there is one: a request that holds one must not lease another.
  std::vector<Summary> load(db::Connection* connection, RepositoryId repository,
                            std::span<const Nid> ranges);

  struct Made {
    Nid range = 0;
    Summary summary;
  };
  /// Keeps what a search made, unless the repository is deleted by now.
  void store(RepositoryId repository, std::span<const Made> made);

 private:
  db::Pool& pool_;
  NidCache<search::RangeSummary> cache_;
};

}  // namespace tarn::meta
