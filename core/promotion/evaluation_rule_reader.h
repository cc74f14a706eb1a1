// The reader of the evaluations of a policy document.
#pragma once

#include <vector>

#include "core/promotion/document_reader.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {

/// The value of "evaluations". Errors are added to `in`.
void read_evaluations(DocumentReader& in, const YamlNode& node, std::vector<EvaluationRules>& out);

}  // namespace tarn::promotion
