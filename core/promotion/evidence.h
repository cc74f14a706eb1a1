// The evidence that a promotion was decided on, frozen.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/promotion/changes_since.h"
#include "core/promotion/gate_candidate.h"
#include "core/promotion/promotion.h"
#include "core/promotion/verdict.h"

namespace tarn::promotion {

/// A candidate and how it was judged.
struct RankedCandidate {
  GateCandidate candidate;
  Verdict verdict;
  int32_t rank = 0;  ///< 1 = the winner; 0 = it failed
  bool dominated = false;
  bool tied = false;  ///< not told apart from the best by the primary metric
};

/// Branches that globs matched and that were not judged, since there were too many.
struct LeftOut {
  std::string creator;  ///< name of the user who made them; "" = it is not known
  uint64_t branches = 0;
  bool operator==(const LeftOut&) const = default;
};
/// "3 branches were not judged, since there are too many: 2 of mallory, 1 of nobody known"; "" for
/// none.
std::string describe(const std::vector<LeftOut>& left_out);

struct Evidence {
  std::string promotion;  ///< id; "" = a dry run, nothing was promoted
  std::string actor;
  PromotionMethod method = PromotionMethod::kMerge;
  std::vector<std::string> paths;
  Instant at{};
  std::string policy_text;
  std::string policy_digest;  ///< SHA-256, hex
  int64_t policy_version = 0;
  std::optional<CommitId> ancestor{};         ///< the commit of `require_ancestor`
  std::optional<CommitId> unchanged_since{};  ///< the commit of `unchanged_since.ref`
  std::vector<EvaluationRules> evaluations{};
  bool one_off = false;  ///< the policy is that of the request's metrics
  BranchName destination;
  CommitId destination_head;
  std::string alias;
  std::optional<CommitId> champion;
  const CommitFacts* champion_facts = nullptr;
  std::span<const RankedCandidate> candidates;  ///< as they were named
  std::optional<size_t> winner;                 ///< index
  std::string decided_by{};                     ///< as of Ranking
  std::vector<LeftOut> left_out{};              ///< by creator
  std::optional<ChangesSince> changes_since{};
};
constexpr std::string_view kEvidenceVersion = "tarn/v1";

// Evidence as text: the stored form, whose SHA-256 is in the alias's history.

/// One JSON document. Numbers that JSON has not (NaN, infinities) are strings.
std::string to_json(const Evidence& evidence);
/// The same with the commit that the promotion made.
std::string with_result(const std::string& evidence, const CommitId& result);
/// The same for a promotion that would end so with any winner.
std::string with_refusal(const std::string& evidence, const GateRefusal& refusal);
/// The branches that were left out when the candidates were resolved. Throws data_loss.
std::vector<LeftOut> left_out_of(const std::string& evidence);
/// The authors of the winner; empty when there is none. Throws data_loss.
std::set<std::string> winner_authors(const std::string& evidence);
/// The measured values of the winner in the evidence, those of its checks included; empty when
/// there is no winner. Throws data_loss.
std::vector<Metric> winner_metrics(const std::string& evidence);

}  // namespace tarn::promotion
