// Rows that a dump of refs reads, and that a restore writes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/db/pool.h"
#include "core/imports/refs_dump_format.h"
#include "core/model/names.h"

namespace tarn::imports {

/// Safe from any thread. The static members run in a transaction of the caller.
class RefsDumpStore {
 public:
  explicit RefsDumpStore(db::Pool& pool) : pool_(pool) {}

  /// Branches, tags and aliases of one moment, by kind and name; at most `most`.
  std::vector<DumpedRef> list(RepositoryId repository, size_t most);
  /// Whether the repository has no branch, no tag and no commit.
  bool is_bare(RepositoryId repository);
  int64_t settings_version(RepositoryId repository);

  struct Locked {
    bool writer_lives = false;  ///< the process is still registered
    int64_t settings_version = 0;
  };
  /// Locks the repository's row, so that restores are serialised and no other ref is created;
  /// nullopt if the repository is deleted.
  static std::optional<Locked> lock(db::Connection& connection, RepositoryId repository,
                                    int64_t writer);
  static bool is_bare(db::Connection& connection, RepositoryId repository);
  /// A branch or a tag, under `lock`.
  static void insert(db::Connection& connection, RepositoryId repository, const DumpedRef& ref,
                     const CommitId& commit);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::imports
