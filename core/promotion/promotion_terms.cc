#include "core/promotion/promotion_terms.h"

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/promotion/promotion_base.h"
#include "core/promotion/required_objects.h"

namespace tarn::versioning {

void PromotionTerms::check_source(const meta::BranchLease& destination, const Commit& winner) {
  winner_ = winner;
  const CommitId& judged = publication_.judgement.destination.head;
  if (destination.head == judged) return;
  throw Error(ErrorCode::kConflict, reason::kDestinationMoved,
              str_cat("the head of '", publication_.judgement.destination.name.str(), "' is ",
                      to_text(destination.head), " by now, not ", to_text(judged)));
}

std::optional<MergeBaseTree> PromotionTerms::base(meta::NodeWriter& nodes, const Commit& winner,
                                                  const Commit& head) {
  // With the destination's own state as base, every difference is a change of the source.
  if (replace_paths_) return MergeBaseTree{head.root, {head.id}};
  return promotion_base_tree(publication_.engine, publication_.repository, nodes, winner,
                             publication_.judgement.destination.name, head);
}

void PromotionTerms::check_result(const TreeRoot& result) {
  Engine& engine = publication_.engine;
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
  return [rules = MergeRules::publishing(), promotion = promotion_.publishing()](
             db::Connection& connection, const Commit& made) {
    if (rules) rules(connection, made);
    promotion(connection, made);
  };
}

}  // namespace tarn::versioning
