// Whether a transaction keeps others from removing a commit.
#pragma once

#include "core/db/pool.h"
#include "core/model/commit.h"
#include "core/model/repository.h"

namespace tarn::testing {

/// Whether the commit is there and could be locked as collections lock it.
inline bool is_free(db::Pool& pool, const Repository& repository, const CommitId& id) {
  return pool.run({"test_lock_commit",
                   "SELECT 1 FROM commits WHERE repo_id = $1 AND commit_id = $2 "
                   "FOR UPDATE SKIP LOCKED"},
                  {static_cast<int32_t>(repository.id), db::Bytes{view_of(id)}},
                  db::Pool::Retry::kWrite)
             .size() == 1;
}

}  // namespace tarn::testing
