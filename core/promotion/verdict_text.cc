#include "core/promotion/verdict_text.h"

#include <algorithm>

#include "core/base/str_cat.h"

namespace tarn::promotion {

std::string refusals_of(const Verdict& verdict) {
  std::string out;
  size_t shown = 0;
  for (const RuleResult& rule : verdict.rules) {
    if (rule.outcome != RuleOutcome::kFail) continue;
    if (shown++ == kVerdictReasonsShownMax) break;
    out += str_cat(out.empty() ? "" : "; ", rule.rule, ": ", rule.reason);
  }
  return out;
}

std::string code_of(const Verdict& verdict) {
  const bool all_missing =
      std::all_of(verdict.rules.begin(), verdict.rules.end(), [](const RuleResult& rule) {
        return rule.outcome != RuleOutcome::kFail || rule.code == "metric_missing" ||
               rule.code == "untrusted_origin";
      });
  return all_missing ? "metric_missing" : "gate_failed";
}

bool waits_for(const Verdict& verdict, bool approvals) {
  return std::any_of(verdict.rules.begin(), verdict.rules.end(), [&](const RuleResult& rule) {
    return rule.outcome == RuleOutcome::kPending && (rule.code == "approval_required") == approvals;
  });
}

std::string wants_of(const Verdict& verdict) {
  std::string out;
  for (const RuleResult& rule : verdict.rules) {
    if (rule.outcome == RuleOutcome::kPending)
      out += str_cat(out.empty() ? "" : "; ", rule.rule, ": ", rule.reason);
  }
  return out;
}

}  // namespace tarn::promotion
