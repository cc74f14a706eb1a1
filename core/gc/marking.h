// Marking: everything that the roots of a repository reach.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/branch/engine.h"
#include "core/gc/live_objects.h"
#include "core/model/commit.h"
#include "core/tree/nid_set.h"

namespace tarn::gc {

struct Marked {
  explicit Marked(RepositoryId repository) : objects(repository) {}
  LiveObjects objects;
  tree::NidSet nodes;                        ///< of the repository's own trees
  std::vector<int64_t> unused_part_lists{};  ///< ascending
  std::vector<uint64_t> dying_parts{};       ///< prints of the own parts of lists that keep none
};

struct MarkRequest {
  RepositoryId repository{};
  bool deleted = false;                    ///< only other repositories' references count
  std::span<const CommitId> without{};     ///< commits that count as removed
  std::span<const int64_t> dying_lists{};  ///< ascending: part lists that keep their parts only if
                                           ///< an entry refers to them
  bool all_lists_die = false;              ///< as if every part list were dying
  std::function<void()> on_progress{};     ///< called often; may throw
};

/// Reads the roots in one snapshot of the database, then the trees: nodes never change, and only
/// garbage collection removes them. Throws data_loss: a tree is incomplete; nothing may be removed.
Marked mark(branch::Engine& engine, const MarkRequest& request);

}  // namespace tarn::gc
