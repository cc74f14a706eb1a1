// Evaluation of a promotion's candidates: which may become the champion, the winner, and the
// evidence.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/promotion/evidence.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/promotion.h"

namespace tarn::promotion {

/// The policy of this name, or the one that guards the request's destination when it is "". Of a
/// request with metrics: the policy that these make, which is not stored; the destination may have
/// none, and its protection rules must permit the merge. Throws not_found (reason
/// "policy_not_found"); invalid_argument (reason "policy_of_another_branch"); conflict (reason
/// "destination_has_policy"); permission_denied (as check_merge).
GatePolicyVersion policy_of_promotion(branch::Engine& engine, const Repository& repository,
                                      const std::string& name, const PromotionRequest& request);

/// Whose commit a promotion with this policy replaces: the policy's alias, or the one that the
/// request names. Throws invalid_argument: the policy has another; it is no alias name.
std::string promoted_alias(const GatePolicy& policy, const PromotionRequest& request);
/// The alias that the request moves and its policy does not name; "" = none. Moving it needs the
/// permission to set it. Throws as policy_of_promotion and policy_of.
std::string wished_alias(branch::Engine& engine, const Repository& repository,
                         const PromotionRequest& request);

/// A refusal of one commit of a candidate, found at the merge or while waiting for its checks. It
/// does not hold for other commits of the ref.
struct RefusedCandidate {
  CommitId commit;
  GateRefusal refusal;
};
using RefusedCandidates = std::map<std::string, RefusedCandidate>;

struct Judgement {
  GatePolicyVersion version;
  GatePolicy policy;
  Branch destination;  ///< its state when the candidates were compared
  std::optional<CommitId> champion;
  Commit head;  ///< of the destination
  std::vector<PinnedCandidate> pinned;
  std::vector<RankedCandidate> candidates;  ///< as `pinned`
  std::vector<LeftOut> left_out;            ///< branches that globs match and that are not judged
  std::optional<size_t> winner;  ///< the one in a stage, else the best, of those that did not fail
  std::vector<StageEntry> open_stages;  ///< of the promotion, whichever candidate is in them
  std::string evidence;                 ///< to_json
  std::vector<CommitId> commits;        ///< those that were compared
  std::vector<CommitId> mentioned;      ///< others that the evidence names, of checks and approvals
};

/// How often judge() reads everything again because the champion moved meanwhile.
constexpr int kJudgeAttemptsMax = 100;

/// Reads everything again except the resolved refs: `promotion.candidates`, once resolved, are the
/// candidates of every later round. A branch that moved is judged at its new head if the policy
/// voids approvals then, else at its old one. Changes nothing. Throws: not_found (policy,
/// destination, a ref); invalid_argument (reason "no_candidates"; "several_candidates" where only
/// one is allowed; "method_refused"; "too_many_candidates": kPromotionBranchesSeenMax);
/// unavailable (kJudgeAttemptsMax).
Judgement judge(branch::Engine& engine, const Repository& repository, const Promotion& promotion,
                const std::vector<PromotionApproval>& approvals, const RefusedCandidates& refused);

/// The approvals, each with the reason why it is void if its user is gone or has lost the
/// permission.
std::vector<GateApproval> votes_of(branch::Engine& engine, const Repository& repository,
                                   const Promotion& promotion,
                                   const std::vector<PromotionApproval>& approvals);

/// Why the promotion may not move its destination, as far as its actor's rights go; "" = it may.
std::string lost_right(branch::Engine& engine, const Repository& repository,
                       const Promotion& promotion, branch::Right right,
                       std::string_view permission);

/// A dry run of a promotion.
struct PromotionPreview {
  std::string evidence;                ///< to_json
  std::optional<GateRefusal> refusal;  ///< of the destination, whatever the winner brings
};
/// The evidence that the request would have now, with the refusal that would end it; the merge is
/// tried too. Nothing is stored, nothing moves. Throws as create_promotion.
PromotionPreview judge_request(branch::Engine& engine, const Repository& repository,
                               const PromotionRequest& request, std::string_view user);

}  // namespace tarn::promotion
