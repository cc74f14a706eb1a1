// Rows that repairs read and change.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/model/commit.h"
#include "core/model/names.h"
#include "core/verify/verify_store.h"

namespace tarn::verify {

struct StoredSummary {
  Nid nid = 0;
  std::string body;
};

struct StoredSstable {
  int16_t kind = 0;  ///< 0 range, 1 metarange
  std::string hash;  ///< bytes
  Nid nid = 0;
  std::string file;  ///< "" = not written yet
};

/// Safe from any thread. Each change returns whether the row was as it is described here.
class RepairStore {
 public:
  explicit RepairStore(db::Pool& pool) : pool_(pool) {}

  static constexpr int32_t kRowsPerPage = 256;
  std::vector<StoredSummary> summaries(RepositoryId repository, Nid after);
  /// By kind, hash and node; `after` is the last row of the page before.
  std::vector<StoredSstable> sstables(RepositoryId repository, const StoredSstable& after);

  bool set_generation(RepositoryId repository, std::string_view commit, int64_t before,
                      int64_t after);
  /// While the branch has this head.
  bool set_branch_root(const BranchToVerify& branch, const TreeRoot& after);
  bool delete_summary(RepositoryId repository, const StoredSummary& summary);
  bool delete_sstable(RepositoryId repository, const StoredSstable& sstable);
  /// Every server forgets the commits that it caches, with its next heartbeat.
  void forget_commits();

 private:
  db::Pool& pool_;
};

}  // namespace tarn::verify
