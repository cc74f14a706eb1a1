// The base of a promotion's merge.
#pragma once

#include <optional>

#include "core/branch/engine.h"
#include "core/branch/history.h"
#include "core/meta/node_store.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// merge_base_tree, with rolled-back changes removed from the base too: a candidate that was
/// promoted, rolled back and is promoted again brings all of its changes, not only the newer ones.
/// As for merge_base_tree, the nodes belong to `nodes`.
std::optional<MergeBaseTree> promotion_base_tree(Engine& engine, const Repository& repository,
                                                 meta::NodeWriter& nodes, const Commit& candidate,
                                                 const BranchName& destination, const Commit& head);

}  // namespace tarn::versioning
