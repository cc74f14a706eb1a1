#include "core/promotion/promotion_base.h"

#include <algorithm>

#include "core/meta/commits.h"
#include "core/promotion/promotion_store.h"
#include "core/tree/merge.h"

namespace tarn::versioning {
namespace {

bool has_parent(const Commit& commit, const CommitId& parent) {
  return std::find(commit.parents.begin(), commit.parents.end(), parent) != commit.parents.end();
}

}  // namespace

std::optional<MergeBaseTree> promotion_base_tree(Engine& engine, const Repository& repository,
                                                 meta::NodeWriter& nodes, const Commit& candidate,
                                                 const BranchName& destination,
                                                 const Commit& head) {
  auto base = merge_base_tree(engine, repository, nodes, candidate, head);
  if (!base) return base;
  meta::PromotionStore promotions(engine.pool, engine.clock);
  for (const meta::PromotionStore::Undone& undone : promotions.undone(repository.id, destination)) {
    const Commit result = engine.commits.get(repository.id, undone.result);
    // Only a merge makes the winner a part of the destination's history, and hence of the base.
    if (!has_parent(result, undone.winner)) continue;
    const Commit winner = engine.commits.get(repository.id, undone.winner);
    const Commit undo = engine.commits.get(repository.id, undone.undo);
    if (!is_ancestor(engine, repository.id, winner, candidate)) continue;
    // A branch that was created after the rollback includes the rollback.
    if (is_ancestor(engine, repository.id, undo, candidate)) continue;
    tree::MergeInput input;
    input.base = engine.commits.get(repository.id, undo.parents.at(0)).root;
    input.source = undo.root;
    input.destination = base->root;
    input.resolve = [](const MergeConflict&) { return tree::Resolution::kTakeDestination; };
    base->root = tree::merge_trees(engine.nodes, nodes, {repository.salt}, input).result.root;
    base->read.push_back(undo.id);
    base->read.push_back(undo.parents.at(0));
  }
  return base;
}

}  // namespace tarn::versioning
