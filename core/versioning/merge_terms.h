// Terms of a merge: the conditions that its caller adds, and the work of its publishing
// transaction.
#pragma once

#include <functional>
#include <optional>

#include "core/branch/engine.h"
#include "core/branch/history.h"
#include "core/meta/branches.h"
#include "core/meta/node_writer.h"
#include "core/model/commit.h"
#include "core/model/repository.h"

namespace tarn::db {
class Connection;
}

namespace tarn::versioning {

/// One object serves one merge, whose attempts call its members with the destination held: first
/// is_promotion, then the others in their order. PullRequestTerms (pull_requests.cc),
/// PromotionTerms and OneOffTerms (core/promotion/promotion_merge.h) are the others. Whatever a
/// member throws ends the merge, and nothing is changed.
class MergeTerms {
 public:
  virtual ~MergeTerms() = default;

  virtual void check_start() {}
  virtual void check_source(const meta::BranchLease& destination, const Commit& source) = 0;
  /// The tree that both sides are compared with; the nodes belong to `nodes`. nullopt: the
  /// histories share nothing.
  virtual std::optional<branch::MergeBaseTree> base(meta::NodeWriter& nodes, const Commit& source,
                                                    const Commit& head) = 0;
  virtual void check_result(const TreeRoot&) {}
  /// Called after the hooks, before the transaction.
  virtual void check_again() {}
  /// Work in the transaction that makes the merge the head; an empty function is no work.
  virtual std::function<void(db::Connection&, const Commit&)> publishing() { return {}; }
  /// Whether a gate policy of the destination lets this merge through.
  virtual bool is_promotion() const { return false; }
};

/// Terms of merges that no gate policy lets through: the approvals that the destination's
/// protection rules want, checked with the source and held in the publishing transaction, since
/// hooks may run for minutes in between.
class MergeRules : public MergeTerms {
 public:
  MergeRules(branch::Engine& engine, const Repository& repository, const Branch& destination)
      : engine_(engine), repository_(repository), destination_(destination) {}

  void check_source(const meta::BranchLease& destination, const Commit& source) override;
  std::optional<branch::MergeBaseTree> base(meta::NodeWriter& nodes, const Commit& source,
                                            const Commit& head) override;
  std::function<void(db::Connection&, const Commit&)> publishing() override;

 protected:
  branch::Engine& engine_;
  const Repository& repository_;
  CommitId source_{};  ///< known after check_source

 private:
  Branch destination_;  ///< with the version of the rules under which it is held
};

}  // namespace tarn::versioning
