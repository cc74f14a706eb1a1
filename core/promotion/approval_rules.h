// Rules about approvals: which of them count, and whether they are enough.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/promotion/rule_writer.h"

namespace tarn::promotion {

/// The approvals of a candidate that count under a policy. Keeps references to its arguments.
class CountedApprovals {
 public:
  /// `metrics`: the candidate's values, as metrics_of.
  CountedApprovals(const GatePolicy& policy, const GateCandidate& candidate,
                   const std::vector<Metric>& metrics);

  /// The users who approved at `since` or later, by name.
  std::vector<std::string> users(Instant since = {}) const;
  /// Judges whether these users are as many as the rules want, and of the groups that they want.
  void judge(const ApprovalRules& rules, const std::string& id, Instant since,
             RuleWriter& out) const;

 private:
  bool has_measured(const std::string& user) const;
  std::string void_reason(const GateApproval& approval) const;

  const GatePolicy& policy_;
  const GateCandidate& candidate_;
  const std::vector<Metric>& metrics_;
  std::map<std::string, const GateApproval*> counted_;  ///< by user
  std::set<std::string> void_reasons_;
};

}  // namespace tarn::promotion
