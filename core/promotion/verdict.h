// The verdict of a gate policy on a candidate: pure, the same facts always give the same verdict.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/promotion/gate_candidate.h"

namespace tarn::promotion {

enum class RuleOutcome : uint8_t { kPass, kFail, kSkipped, kPending };
std::string_view name_of(RuleOutcome outcome);  ///< "pass", "fail", "skipped", "pending"

struct RuleResult {
  std::string rule;  ///< for example "metrics.accuracy.min"
  RuleOutcome outcome = RuleOutcome::kPass;
  std::string code{};  ///< stable name of the problem; "" if it passed
  std::string reason;  ///< with the numbers, for people
};

enum class GateOutcome : uint8_t { kPassed, kFailed, kPending };
std::string_view name_of(GateOutcome outcome);  ///< "passed", "failed", "pending"

/// Failed when a rule fails; else pending while a check or an approval is wanted.
struct Verdict {
  GateOutcome outcome = GateOutcome::kPassed;
  std::vector<RuleResult> rules;  ///< in the order of the document
  std::vector<std::string> warnings;
};

/// Everything that rules wait for, with their reasons; "" = none waits.
std::string wants_of(const Verdict& verdict);
/// Whether the rule waits for a check or an evaluation, and not for people or a moment.
bool waits_for_check(const RuleResult& rule);
bool waits_for_checks(const Verdict& verdict);  ///< one of its rules does

/// `champion`: nullptr = there is none; comparisons with it are then skipped with a warning.
/// `recent`: the last champions that stand, the newest first, for ChampionFloor.
Verdict evaluate(const GatePolicy& policy, const GateCandidate& candidate,
                 const CommitFacts* champion, std::span<const CommitFacts> recent = {});

}  // namespace tarn::promotion
