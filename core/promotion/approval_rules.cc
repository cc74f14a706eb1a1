#include "core/promotion/approval_rules.h"

#include <algorithm>
#include <array>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/promotion/approver_groups.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/metric_choice.h"
#include "core/promotion/replicates.h"
#include "core/promotion/review.h"

namespace tarn::promotion {
namespace {

void judge_group(const GroupApprovals& group, const std::string& rules,
                 const std::vector<std::string>& voters, RuleWriter& out) {
  const std::string id = str_cat(rules, ".groups[", group.name, "]");
  std::string reason = str_cat(voters.size(), " of ", group.count, " approvals by members of ",
                               group.name, voters.empty() ? "" : ": ", joined(voters, ", "));
  if (voters.size() >= group.count) return out.pass(id, std::move(reason));
  if (group.id == 0)
    reason += "; there was no such group when the policy was set: create it, and apply it again";
  out.pending(id, "approval_required", std::move(reason));
}

}  // namespace

CountedApprovals::CountedApprovals(const GatePolicy& policy, const GateCandidate& candidate,
                                   const std::vector<Metric>& metrics)
    : policy_(policy), candidate_(candidate), metrics_(metrics) {
  for (const GateApproval& approval : candidate.approvals) {
    const std::string reason = void_reason(approval);
    if (reason.empty()) {
      counted_.emplace(approval.user, &approval);
    } else {
      void_reasons_.insert(reason);
    }
  }
}

std::vector<std::string> CountedApprovals::users(Instant since) const {
  std::vector<std::string> out;
  for (const auto& [user, approval] : counted_) {
    if (approval->at >= since) out.push_back(user);
  }
  return out;
}

void CountedApprovals::judge(const ApprovalRules& rules, const std::string& id, Instant since,
                             RuleWriter& out) const {
  if (rules.count == 0) return;
  const std::vector<std::string> approvers = users(since);
  std::string reason = str_cat(approvers.size(), " of ", rules.count, " approvals");
  for (const std::string& why : void_reasons_) reason += str_cat("; ", why);
  if (approvers.size() < counted_.size())
    reason += str_cat("; those before ", to_rfc3339(since), " do not count");
  if (approvers.size() >= rules.count) {
    out.pass(id, reason);
  } else {
    out.pending(id, "approval_required", reason);
  }
  std::vector<const GateApproval*> votes;
  for (const std::string& user : approvers) votes.push_back(counted_.at(user));
  const std::vector<std::vector<std::string>> voters = divide_among(rules.groups, votes);
  for (size_t i = 0; i < voters.size(); ++i) judge_group(rules.groups[i], id, voters[i], out);
}

/// Whether the user recorded a value that decides, or reported a check that counts.
bool CountedApprovals::has_measured(const std::string& user) const {
  for (const MetricRule& rule : rules_by_name(policy_.metrics, std::array{&metrics_})) {
    const Metric* metric = choose_metric(metrics_, rule.name, rule.split, sources_of(rule));
    if (metric == nullptr) continue;
    const std::vector<Replicate>& counted = metric->replicates.counted;
    if (metric->reporter == user ||
        std::any_of(counted.begin(), counted.end(),
                    [&](const Replicate& one) { return one.reporter == user; }))
      return true;
  }
  const auto reported = [&](const std::vector<std::string>& checks) {
    return std::any_of(checks.begin(), checks.end(), [&](const std::string& name) {
      const CheckResult* check = find_check(candidate_, name);
      return check != nullptr && check->reporter == user;
    });
  };
  return reported(policy_.checks.required) ||
         std::any_of(policy_.stages.begin(), policy_.stages.end(),
                     [&](const StageRules& stage) { return reported(stage.checks); });
}

/// The reason why the approval does not count; "" = it counts.
std::string CountedApprovals::void_reason(const GateApproval& approval) const {
  const ApprovalRules& rules = policy_.approvals;
  if (!approval.void_reason.empty()) return approval.void_reason;
  if (approval.commit != candidate_.facts.commit) return "those of other commits do not count";
  if (approval.candidate != candidate_.ref) return "those of other candidates do not count";
  if (approval.review != candidate_.review) {
    std::string changed;
    for (const std::string& one : changes_between(approval.review, candidate_.review))
      changed += str_cat(changed.empty() ? "" : ", ", one);
    return str_cat("that of ", approval.user, " does not count, since ", changed,
                   ": look again and approve again");
  }
  if (rules.not_author && candidate_.authors.contains(approval.user)) {
    return "those of its authors do not count";
  }
  if (rules.not_author && has_measured(approval.user)) {
    return "those of who measured it do not count";
  }
  if (rules.not_promoter && candidate_.promoter == approval.user) {
    return "that of who began the promotion does not count";
  }
  return "";
}

}  // namespace tarn::promotion
