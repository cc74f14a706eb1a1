// JSON bodies of tag protection rules.
#pragma once

#include <string>
#include <vector>

#include "core/model/tag_rule.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

std::string tag_rules_body(const std::vector<TagRule>& rules);
/// An array of rules; `create` and `delete` default to true. Throws invalid_argument, also for an
/// illegal pattern.
std::vector<TagRule> parse_tag_rules(const Value& body);

}  // namespace tarn::api::json
