// Rows of holds.
#pragma once

#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/gc/holds.h"
#include "core/model/commit.h"

namespace tarn::gc {

/// Safe from any thread.
class Holds {
 public:
  explicit Holds(db::Pool& pool) : pool_(pool) {}

  /// Throws not_found: the commit was removed.
  void insert(RepositoryId repository, const Hold& hold);
  /// The same as insert, and inserts `made`, the commit that is held, whose nodes are stored
  /// already. `source`: the commit that it was made of. `writer`: meta::Writer::id(). Throws
  /// not_found (`source` was removed), unavailable (the writer's registration was lost).
  void insert(RepositoryId repository, const Hold& hold, const Commit& made, const CommitId& source,
              int64_t writer);
  int64_t count(RepositoryId repository);
  std::vector<Hold> list(RepositoryId repository, std::string_view after, uint32_t limit);
  /// false: there is none.
  bool remove(RepositoryId repository, std::string_view id);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::gc
