#include "core/promotion/promotion_merge.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/history.h"
#include "core/meta/commits.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/required_objects.h"
#include "core/tree/merge.h"

namespace tarn::promotion {
namespace {

bool has_parent(const Commit& commit, const CommitId& parent) {
  return std::find(commit.parents.begin(), commit.parents.end(), parent) != commit.parents.end();
}

}  // namespace

std::vector<PromotionStore::Undone> undone_in(branch::Engine& engine, const Repository& repository,
                                              const BranchName& destination,
                                              const Commit& candidate) {
  auto out = PromotionStore(engine.pool, engine.clock).undone(repository.id, destination);
  std::erase_if(out, [&](const PromotionStore::Undone& undone) {
    // Only a merge makes the winner a part of the destination's history, and hence of the base.
    if (!has_parent(engine.commits.get(repository.id, undone.result), undone.winner)) return true;
    const Commit winner = engine.commits.get(repository.id, undone.winner);
    if (!branch::is_ancestor(engine, repository.id, winner, candidate)) return true;
    // A branch that was created after the rollback includes the rollback.
    return branch::is_ancestor(engine, repository.id,
                               engine.commits.get(repository.id, undone.undo), candidate);
  });
  return out;
}

std::optional<branch::MergeBaseTree> promotion_base_tree(
    branch::Engine& engine, const Repository& repository, meta::NodeWriter& nodes,
    const Commit& candidate, const BranchName& destination, const Commit& head) {
  auto base = branch::merge_base_tree(engine, repository, nodes, candidate, head);
  if (!base) return base;
  for (const PromotionStore::Undone& undone :
       undone_in(engine, repository, destination, candidate)) {
    const Commit undo = engine.commits.get(repository.id, undone.undo);
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

namespace {

/// Whether the alias is already at the head and that includes the winner.
bool is_champion(branch::Engine& engine, PromotionStore& rows, const Repository& repository,
                 const Judgement& judgement, const CommitId& winner) {
  const CommitId& head = judgement.destination.head;
  if (judgement.champion != head) return false;
  const auto made = rows.find_by_result(repository.id, head);
  if (made && made->winner == winner) return true;
  return branch::is_ancestor(engine, repository.id, engine.commits.get(repository.id, winner),
                             engine.commits.get(repository.id, head));
}

}  // namespace

versioning::MergeRequest merge_request_of(branch::Engine& engine, PromotionStore& rows,
                                          const Repository& repository, const Promotion& promotion,
                                          const Judgement& judgement, const CommitId& winner) {
  const PromotionRequest& asked = promotion.request;
  versioning::MergeRequest request;
  request.committer = promotion.actor;
  request.message =
      str_cat("Promote '", promotion.winner_ref, "' to '", asked.destination.str(), "'");
  request.metadata[".tarn.promotion"] = promotion.id;
  request.metadata[".tarn.policy"] =
      asked.metrics.empty() ? str_cat(judgement.policy.name, "@", judgement.version.version)
                            : std::string(kOneOffPolicy);
  // A commit that the destination has already, or an equal result, may still become the champion.
  request.allow_empty =
      !promotion.alias.empty() && !is_champion(engine, rows, repository, judgement, winner);
  request.squash = asked.method == PromotionMethod::kSquash;
  if (!asked.paths.empty()) request.paths.emplace(asked.paths);
  return request;
}

void PromotionTerms::check_source(const meta::BranchLease& destination, const Commit& winner) {
  winner_ = winner;
  const CommitId& judged = publication_.judgement.destination.head;
  if (destination.head == judged) return;
  throw Error(ErrorCode::kConflict, reason::kDestinationMoved,
              str_cat("the head of '", publication_.judgement.destination.name.str(), "' is ",
                      to_text(destination.head), " by now, not ", to_text(judged)));
}

std::optional<branch::MergeBaseTree> PromotionTerms::base(meta::NodeWriter& nodes,
                                                          const Commit& winner,
                                                          const Commit& head) {
  // Every difference is a change of the source if the destination's own state is the base.
  if (replace_paths_) return branch::MergeBaseTree{head.root, {head.id}};
  return promotion_base_tree(publication_.engine, publication_.repository, nodes, winner,
                             publication_.judgement.destination.name, head);
}

void PromotionTerms::check_result(const TreeRoot& result) {
  branch::Engine& engine = publication_.engine;
  const Judgement& judgement = publication_.judgement;
  meta::NodeWriter nodes(engine.pool, engine.nodes, publication_.repository.id);
  const auto base = promotion_base_tree(engine, publication_.repository, nodes, winner_,
                                        judgement.policy.destination, judgement.head);
  check_promotion_result(engine, judgement.policy,
                         {.tree = result,
                          .winner = winner_.root,
                          .base = base ? std::optional(base->root) : std::nullopt,
                          .replaced_paths = replace_paths_});
}

std::function<void(db::Connection&, const Commit&)> PromotionTerms::publishing() {
  return [this](db::Connection& connection, const Commit& made) {
    publish_promotion(connection, publication_, made);
  };
}

std::function<void(db::Connection&, const Commit&)> OneOffTerms::publishing() {
  return [rules = versioning::MergeRules::publishing(), promotion = promotion_.publishing()](
             db::Connection& connection, const Commit& made) {
    if (rules) rules(connection, made);
    promotion(connection, made);
  };
}

}  // namespace tarn::promotion
