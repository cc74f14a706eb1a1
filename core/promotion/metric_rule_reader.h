// The reader of the metric rules of a policy document.
#pragma once

#include <vector>

#include "core/promotion/document_reader.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {

/// The value of "metrics", and that of "scores", which must be read later. Errors are added to
/// `in`.
void read_metric_rules(DocumentReader& in, const YamlNode& node, std::vector<MetricRule>& out);
void read_scores(DocumentReader& in, const YamlNode& node, std::vector<MetricRule>& out);

}  // namespace tarn::promotion
