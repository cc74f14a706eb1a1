// Rows that other rows bring about and that nothing else removes: readings of metric files, rows of
// nodes that were removed while they were stored, and what is left of dead servers and of deleted
// repositories.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/db/pool.h"
#include "core/gc/collection_store.h"
#include "core/model/commit.h"

namespace tarn::gc {

/// Safe from any thread. What writes needs the lease of the claim, and throws unavailable without.
class DerivedRows {
 public:
  explicit DerivedRows(db::Pool& pool) : pool_(pool) {}

  /// Readings of metric files, with their curves, that no commit's metrics name and that were
  /// stored longer than `kept` ago; at most `limit`. They are read again when a commit has the
  /// file. Returns the number.
  int64_t remove_readings(const CollectionClaim& claim, std::chrono::seconds kept, uint32_t limit);
  /// Summaries of the next `limit` ranges after `after` whose nodes are not there: they were stored
  /// while a collection removed the nodes. Sets `after` to the last of these ranges; false: there
  /// are none.
  bool remove_stray_summaries(const CollectionClaim& claim, Nid& after, uint32_t limit);
  /// Likewise the rows of SSTables. Returns their files.
  std::vector<std::string> remove_stray_sstables(const CollectionClaim& claim);
  /// The files of SSTables that have a row, below the repository's namespace.
  std::set<std::string> sstable_files(RepositoryId repository);
  /// Rows of servers that have been silent for a day. Returns the number.
  int64_t remove_dead_writers(const CollectionClaim& claim);
  /// Removes the holds of a deleted repository and the pairs of readers that it is in.
  void remove_of_deleted(const CollectionClaim& claim);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::gc
