// JSON bodies of gate policies and their verdicts.
#pragma once

#include <string>

#include "core/promotion/gate_facts.h"
#include "core/promotion/gate_policies.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_gate_policy(Writer& out, const promotion::GatePolicyVersion& version);
std::string gate_policy_body(const promotion::GatePolicyVersion& version);
std::string set_gate_policy_body(const promotion::GatePolicySet& set);

struct EvaluateGate {
  std::vector<std::string> candidates;
  std::optional<std::string> champion;
  std::optional<int64_t> version;
  std::optional<std::string> document{};
};
EvaluateGate parse_evaluate_gate(const Value& body);

std::string gate_answer_body(const promotion::GateAnswer& answer);

}  // namespace tarn::api::json
