// Space of removed rows: gives it back to the file system while the tables stay in use.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <utility>

#include "core/base/error.h"
#include "core/db/pool.h"
#include "core/gc/collection_store.h"

namespace tarn::gc {

/// A collection leaves free space all over the files of the database, and VACUUM cuts off only what
/// is free at the end of a table, and nothing of an index. Locks no table against reading or
/// writing for long; what does not succeed within the time of a statement is left to autovacuum and
/// to the next collection. Safe from any thread, for one collection at a time.
class SpaceRelease {
 public:
  /// `progress` is called after each statement.
  SpaceRelease(db::Pool& pool, const CollectionClaim& claim, std::function<void()> progress,
               const std::stop_token& stop)
      : pool_(pool), claim_(claim), progress_(std::move(progress)), stop_(stop) {}

  /// Whether there is much free space that other work left, or an earlier collection, which may
  /// have been killed.
  bool is_wanted();
  /// false: the database was away for some of it, so that it should be done again. Throws
  /// unavailable: the lease of the collection was lost, or the database is away.
  bool run();

 private:
  /// false: it failed, which is logged; autovacuum or the next collection does it.
  bool attempt(const db::Query& query);
  void note_failure(const db::Query& query, const Error& error);
  void drop_invalid_indexes();
  /// Moves the nodes at the end of the table to free space before them.
  void compact_nodes();
  int64_t pages_of_nodes();
  void rebuild_indexes(const char* table, const db::Query& query);

  db::Pool& pool_;
  const CollectionClaim& claim_;
  const std::function<void()> progress_;
  const std::stop_token& stop_;
  bool complete_ = true;
};

}  // namespace tarn::gc
