// JSON bodies of branch protection rules.
#pragma once

#include <string>
#include <vector>

#include "core/model/branch_rule.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// Writes only the members that a client has set.
std::string branch_rules_body(const std::vector<BranchRule>& rules);
/// An array of rules. Throws invalid_argument, also for an illegal pattern.
std::vector<BranchRule> parse_branch_rules(const Value& body);

/// The member `pattern` of a rule.
Glob parse_rule_pattern(const Value& rule);

}  // namespace tarn::api::json
