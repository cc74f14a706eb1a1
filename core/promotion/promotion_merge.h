// The merge that a promotion makes: its base, its request and its terms.
#pragma once

#include <optional>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/history.h"
#include "core/meta/node_writer.h"
#include "core/model/repository.h"
#include "core/promotion/judgement.h"
#include "core/promotion/promotion.h"
#include "core/promotion/promotion_publication.h"
#include "core/promotion/promotion_store.h"
#include "core/versioning/merge.h"
#include "core/versioning/merge_terms.h"

namespace tarn::promotion {

/// Promotions of the destination that were rolled back and whose changes the candidate would bring
/// again, although their commits are in the destination's history.
std::vector<PromotionStore::Undone> undone_in(branch::Engine& engine, const Repository& repository,
                                              const BranchName& destination,
                                              const Commit& candidate);

/// merge_base_tree, with rolled-back changes removed from the base too: a candidate that was
/// promoted, rolled back and is promoted again brings all of its changes, not only the newer ones.
/// As for merge_base_tree, the nodes belong to `nodes`.
std::optional<branch::MergeBaseTree> promotion_base_tree(
    branch::Engine& engine, const Repository& repository, meta::NodeWriter& nodes,
    const Commit& candidate, const BranchName& destination, const Commit& head);

/// The request that merges `winner` as the promotion's method and paths say. Its commit names the
/// promotion and the policy; it is made without a change too if the promotion moves an alias that
/// is not at the winner yet.
versioning::MergeRequest merge_request_of(branch::Engine& engine, PromotionStore& rows,
                                          const Repository& repository, const Promotion& promotion,
                                          const Judgement& judgement, const CommitId& winner);

/// The gate's verdict replaces the destination's protection rules: the head must be the one that
/// was judged (conflict, reason "destination_moved"), the result must contain what the policy
/// required of the winner (as check_promotion_result), and the promotion becomes `promoted` with
/// the commit.
class PromotionTerms final : public versioning::MergeTerms {
 public:
  /// `publication` must outlive the terms. With `replace_paths` the request's paths become those of
  /// the winner, and other files of the destination below them are removed: no three-way merge, no
  /// conflicts.
  PromotionTerms(const PromotionPublication& publication, bool replace_paths)
      : publication_(publication), replace_paths_(replace_paths) {}

  void check_source(const meta::BranchLease& destination, const Commit& winner) override;
  std::optional<branch::MergeBaseTree> base(meta::NodeWriter& nodes, const Commit& winner,
                                            const Commit& head) override;
  void check_result(const TreeRoot& result) override;
  void check_again() override { judge_winner_again(publication_); }
  std::function<void(db::Connection&, const Commit&)> publishing() override;
  bool is_promotion() const override { return true; }

 private:
  const PromotionPublication& publication_;
  const bool replace_paths_;
  Commit winner_;
};

/// Terms of a promotion without a policy: those of a promotion, and the destination's protection
/// rules as of any merge. A gate policy that was set in the meantime refuses it.
class OneOffTerms final : public versioning::MergeRules {
 public:
  OneOffTerms(const PromotionPublication& publication)
      : versioning::MergeRules(publication.engine, publication.repository,
                               publication.judgement.destination),
        promotion_(publication, /*replace_paths=*/false) {}

  void check_source(const meta::BranchLease& destination, const Commit& winner) override {
    versioning::MergeRules::check_source(destination, winner);
    promotion_.check_source(destination, winner);
  }
  std::optional<branch::MergeBaseTree> base(meta::NodeWriter& nodes, const Commit& winner,
                                            const Commit& head) override {
    return promotion_.base(nodes, winner, head);
  }
  void check_result(const TreeRoot& result) override { promotion_.check_result(result); }
  void check_again() override { promotion_.check_again(); }
  std::function<void(db::Connection&, const Commit&)> publishing() override;

 private:
  PromotionTerms promotion_;
};

}  // namespace tarn::promotion
