// Judging candidates by a gate policy: pure, the same facts always give the same verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/experiments/commit_facts.h"
#include "core/experiments/policy.h"

namespace tarn {

enum class CheckStatus : uint8_t { kPending, kSuccess, kFailure };
std::string_view name_of(CheckStatus status);  ///< for example "success"
std::optional<CheckStatus> parse_check_status(std::string_view name);

/// What somebody outside reported of one commit.
struct CheckResult {
  std::string name;
  CommitId commit;
  CheckStatus status = CheckStatus::kPending;
  std::string url{};
  std::vector<Metric> metrics{};  ///< origin and source do not matter; they count on success
};

struct GateApproval {
  std::string user;
  CommitId commit;
};

/// What of a candidate's objects a policy asks for.
struct ObjectFacts {
  std::vector<std::string> missing{};  ///< patterns of `required` that match nothing
  std::vector<std::string> changed{};  ///< the first paths that match `unchanged`
  uint64_t changed_count = 0;
  std::vector<std::string> forbidden{};  ///< the first paths that match `forbid`
  uint64_t forbidden_count = 0;
  uint64_t total_bytes = 0;
  uint64_t model_bytes = 0;  ///< of the objects that match `required`
  /// False: there was more to look at than the limit, so nothing is known of the rest.
  bool complete = true;
};

/// One candidate, frozen: everything is of the commit `facts.commit`.
struct GateCandidate {
  std::string ref;       ///< as the caller named it
  std::string branch{};  ///< "" = it was not named by a branch
  CommitFacts facts;
  std::string author{};  ///< the committer that the commit shows
  /// Users who made what the candidate brings or want it promoted; see `not_author`.
  std::set<std::string> authors{};
  Instant created{};          ///< when
  bool has_ancestor = false;  ///< of `require_ancestor`, when the policy has one
  ObjectFacts objects{};
  std::vector<CheckResult> checks{};      ///< those of other commits do not count
  std::vector<GateApproval> approvals{};  ///< likewise, unless the policy lets them
};

enum class RuleOutcome : uint8_t { kPass, kFail, kSkipped, kPending };
std::string_view name_of(RuleOutcome outcome);  ///< "pass", "fail", "skipped", "pending"

struct RuleResult {
  std::string rule;  ///< for example "metrics.accuracy.min"
  RuleOutcome outcome = RuleOutcome::kPass;
  std::string_view code{};  ///< stable, what went wrong; "" when it passed
  std::string reason;       ///< with the numbers, for people
};

enum class GateOutcome : uint8_t { kPassed, kFailed, kPending };
std::string_view name_of(GateOutcome outcome);  ///< "passed", "failed", "pending"

/// Failed when a rule fails; else pending while a check or an approval is wanted.
struct Verdict {
  GateOutcome outcome = GateOutcome::kPassed;
  std::vector<RuleResult> rules;  ///< in the order of the document
  std::vector<std::string> warnings;
};

/// `champion`: nullptr = there is none; then what compares with it is skipped with a warning.
Verdict evaluate(const GatePolicy& policy, const GateCandidate& candidate,
                 const CommitFacts* champion);

struct Standing {
  size_t candidate;  ///< its index
  /// Another is as good in every metric with a goal and better in one.
  bool dominated = false;
};
/// Best first: by the primary metric (without one, the first with a goal), then as `tie_break` says
/// (smaller model, older commit first), then the older commit, then the ref. A value that is
/// missing or not a number comes last. Judges nothing: hand in those that passed.
std::vector<Standing> rank_candidates(const GatePolicy& policy,
                                      std::span<const GateCandidate> candidates);

}  // namespace tarn
