// Rows of commits whose changed paths are not known, and the lease of the job that fills them in.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/db/pool.h"
#include "core/model/commit.h"
#include "core/model/names.h"

namespace tarn::branch {

/// Safe from any thread.
class ChangeIndexStore {
 public:
  explicit ChangeIndexStore(db::Pool& pool) : pool_(pool) {}

  /// Takes or renews the lease. false: another server has it, or nothing is to be filled.
  bool claim(int64_t owner, std::chrono::milliseconds ttl);
  void release(int64_t owner);

  struct Unfilled {
    RepositoryId repository{};
    CommitId id;
    TreeRoot root;
    size_t parents = 0;
    bool has_parent = false;  ///< the first parent's row is there
    TreeRoot parent_root;
  };
  /// By repository, newest generation first: neighbours share nodes.
  std::vector<Unfilled> unfilled(uint32_t limit);

  struct Filled {
    RepositoryId repository{};
    CommitId id;
    std::string changed_paths;  ///< as core/tree/changed_paths.h stores them
  };
  /// Stores what is not there yet; commits that were removed meanwhile are left out. Nothing if the
  /// lease was lost: false.
  bool fill(int64_t owner, std::chrono::milliseconds ttl, const std::vector<Filled>& commits);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::branch
