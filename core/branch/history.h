// Common ancestors of commits.
#pragma once

#include <optional>
#include <vector>

#include "core/branch/engine.h"
#include "core/meta/node_writer.h"
#include "core/model/commit.h"
#include "core/model/repository.h"

namespace tarn::branch {

/// The best common ancestors: no other common ancestor descends from them. Greatest generation
/// first; empty when the histories share nothing. Cost follows the commits since the bases.
std::vector<Commit> best_common_ancestors(Engine& engine, RepositoryId repository, const Commit& a,
                                          const Commit& b);

/// The tree to merge against. Several best ancestors (criss-cross merges) are merged into a virtual
/// one, the older side kept where they conflict; its nodes go to `nodes`. nullopt when there is no
/// common ancestor. A base whose data has expired serves if one side has the same content; else
/// throws gone (reason "expired").
struct MergeBaseTree {
  TreeRoot root;
  std::vector<CommitId> read;
};
std::optional<MergeBaseTree> merge_base_tree(Engine& engine, const Repository& repository,
                                             meta::NodeWriter& nodes, const Commit& a,
                                             const Commit& b);
/// The commits in the history of `of` that are not in the history of `without`; the histories
/// count themselves.
std::vector<CommitId> commits_without(Engine& engine, RepositoryId repository, const Commit& of,
                                      const Commit& without);
/// Whether `ancestor` is in the history of `of`, which counts itself.
bool is_ancestor(Engine& engine, RepositoryId repository, const Commit& ancestor, const Commit& of);
/// The same as merge_base_tree, for looking at. A virtual base's nodes belong to nothing, so the
/// caller holds a Writer::Operation while it reads them. Throws invalid_argument (reason
/// "no_merge_base").
MergeBaseTree merge_base_to_read(Engine& engine, const Repository& repository, const Commit& a,
                                 const Commit& b);

}  // namespace tarn::branch
