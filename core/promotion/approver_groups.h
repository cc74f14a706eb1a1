// Division of approvals among the groups that a policy wants them from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/promotion/gate_candidate.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {

/// For each group the users whose approvals count for it, at most its `count`. A user counts for
/// one group only; as many approvals as possible are used, so a member of two groups is no
/// obstacle. `approvals`: one of each user.
std::vector<std::vector<std::string>> divide_among(std::span<const GroupApprovals> groups,
                                                   std::span<const GateApproval* const> approvals);

}  // namespace tarn::promotion
