// JSON bodies of evaluations and of the work of runners.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/evaluation/evaluations.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

struct LeaseEvaluation {
  std::vector<std::string> labels{};
  std::chrono::seconds wait{};
};
LeaseEvaluation parse_lease_evaluation(const Value& body);
evaluation::Failure parse_evaluation_failure(const Value& body);

/// The work of a runner.
std::string evaluation_job_body(const evaluation::EvaluationStore::Lease& lease,
                                const std::string& repository);
/// Means are rounded; `in_full`: with every digit, and with what a program printed.
void write_evaluation(Writer& out, const evaluation::Evaluation& evaluation, bool in_full);

}  // namespace tarn::api::json
