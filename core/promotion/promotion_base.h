// The base of a promotion's merge.
#pragma once

#include <optional>

#include "core/branch/engine.h"
#include "core/branch/history.h"
#include "core/meta/node_store.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// merge_base_tree, with what was taken back taken out of the base too: a candidate that was
/// promoted, taken back and comes again brings all that it has, not just what is newer. As for
/// merge_base_tree, the nodes belong to `nodes`.
std::optional<MergeBaseTree> promotion_base_tree(Engine& engine, const Repository& repository,
                                                 meta::NodeWriter& nodes, const Commit& candidate,
                                                 const BranchName& destination, const Commit& head);

}  // namespace tarn::versioning
