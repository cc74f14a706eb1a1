// JSON bodies of a repository's rules: for branches, tags and garbage collection.
#pragma once

#include <string>
#include <vector>

#include "core/model/branch_rule.h"
#include "core/model/collection_rules.h"
#include "core/model/tag_rule.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// Writes only the members that a client has set.
std::string branch_rules_body(const std::vector<BranchRule>& rules);
/// An array of rules. Throws invalid_argument, also for an illegal pattern.
std::vector<BranchRule> parse_branch_rules(const Value& body);

/// The member `pattern` of a rule.
Glob parse_rule_pattern(const Value& rule);

std::string tag_rules_body(const std::vector<TagRule>& rules);
/// An array of rules; `create` and `delete` default to true. Throws invalid_argument, also for an
/// illegal pattern.
std::vector<TagRule> parse_tag_rules(const Value& body);

std::string collection_rules_body(const CollectionRules& rules);
/// Throws invalid_argument, also for more than kCollectionBranchesMax branches or one named twice.
CollectionRules parse_collection_rules(const Value& body);

}  // namespace tarn::api::json
