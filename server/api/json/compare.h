// JSON bodies of comparisons.
#pragma once

#include <string>

#include "core/promotion/compare.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

promotion::CompareQuestion parse_compare(const Value& body);

std::string compare_body(const promotion::CompareAnswer& answer, size_t after);

}  // namespace tarn::api::json
