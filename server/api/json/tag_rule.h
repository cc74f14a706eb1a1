// Bodies about rules that protect tags.
#pragma once

#include <string>
#include <vector>

#include "core/model/tag_rule.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

std::string tag_rules_body(const std::vector<TagRule>& rules);
/// An array of rules; `create` and `delete` are true unless they are given. Throws
/// invalid_argument, also for a pattern no rule may have.
std::vector<TagRule> parse_tag_rules(const Value& body);

}  // namespace tarn::api::json
