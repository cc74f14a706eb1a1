// The review of a promotion: everything that an approval consents to, as one document.
//
// An approver is shown a table: which commit of which candidate, its values beside the champion's,
// the policy, the method, the required objects. The review is that table as JSON in a fixed order
// of members, so that equal reviews are equal texts. Its SHA-256 is the digest that the approver
// sends back. Every judgement writes a new review. An approval counts while the review that it
// names and the one of the judgement are the same text; otherwise the difference says what changed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/metrics/commit_facts.h"
#include "core/promotion/gate_candidate.h"
#include "core/promotion/policy.h"
#include "core/promotion/promotion.h"

namespace tarn::promotion {

/// Differences that changes_between lists.
constexpr size_t kReviewChangesShownMax = 10;

/// The parts of a judgement that all candidates share.
struct ReviewContext {
  std::string promotion;  ///< id
  BranchName destination;
  PromotionMethod method = PromotionMethod::kMerge;
  std::vector<std::string> paths{};  ///< replaced ones
  std::string policy;                ///< name
  int64_t policy_version = 0;
  std::string policy_digest;         ///< SHA-256, hex
  std::string alias;                 ///< "" = none is moved
  std::optional<CommitId> champion;  ///< where the alias is
  std::optional<CommitId> destination_head{};
};

/// The review of one candidate; `baseline`: the values that it is compared with, nullptr = none.
std::string review_of(const ReviewContext& context, const GatePolicy& policy,
                      const GateCandidate& candidate, const CommitFacts* baseline);

/// The review of a rollback, which has no values.
struct RollbackReview {
  std::string rollback;              ///< id
  std::string undoes;                ///< id
  CommitId undone;                   ///< the commit that is taken back
  std::optional<CommitId> restored;  ///< where the alias will be; nullopt = it is removed
  BranchName destination;
  std::string alias;
  std::string policy;
  int64_t policy_version = 0;
};
std::string review_of(const RollbackReview& rollback);

/// SHA-256 in hex; "" for no review.
std::string review_digest(std::string_view review);

/// "values.accuracy.candidate was 0.95 and is 0.61" for each member that differs, at most
/// kReviewChangesShownMax with a count of the rest. Throws data_loss for texts that are no reviews.
std::vector<std::string> changes_between(std::string_view before, std::string_view now);

}  // namespace tarn::promotion
