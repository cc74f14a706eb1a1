#include "core/promotion/approver_groups.h"

#include <algorithm>
#include <utility>

namespace tarn::promotion {
namespace {

/// A maximum matching of approvals and places in groups, by augmenting paths.
class Division {
 public:
  Division(std::span<const GroupApprovals> groups, std::span<const GateApproval* const> approvals)
      : groups_(groups), approvals_(approvals), members_(groups.size()) {}

  std::vector<std::vector<size_t>> run() {
    for (size_t approval = 0; approval < approvals_.size(); ++approval) {
      std::vector<bool> tried(groups_.size());
      place(approval, tried);
    }
    return std::move(members_);
  }

 private:
  /// Gives the approval a place, for which others may change their group.
  bool place(size_t approval, std::vector<bool>& tried) {
    const std::vector<int64_t>& of = approvals_[approval]->groups;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (tried[i] || std::find(of.begin(), of.end(), groups_[i].id) == of.end()) continue;
      tried[i] = true;
      if (members_[i].size() < groups_[i].count) {
        members_[i].push_back(approval);
        return true;
      }
      for (size_t& other : members_[i]) {
        if (!place(other, tried)) continue;
        other = approval;
        return true;
      }
    }
    return false;
  }

  const std::span<const GroupApprovals> groups_;
  const std::span<const GateApproval* const> approvals_;
  std::vector<std::vector<size_t>> members_;  ///< by group
};

}  // namespace

std::vector<std::vector<std::string>> divide_among(std::span<const GroupApprovals> groups,
                                                   std::span<const GateApproval* const> approvals) {
  std::vector<std::vector<std::string>> out;
  for (const std::vector<size_t>& members : Division(groups, approvals).run()) {
    std::vector<std::string>& users = out.emplace_back();
    for (const size_t approval : members) users.push_back(approvals[approval]->user);
    std::sort(users.begin(), users.end());
  }
  return out;
}

}  // namespace tarn::promotion
