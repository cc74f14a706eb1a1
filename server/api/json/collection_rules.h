// JSON bodies of the retention rules of garbage collection.
#pragma once

#include <string>

#include "core/model/collection_rules.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

std::string collection_rules_body(const CollectionRules& rules);
/// Throws invalid_argument, also for more than kCollectionBranchesMax branches or one named twice.
CollectionRules parse_collection_rules(const Value& body);

}  // namespace tarn::api::json
