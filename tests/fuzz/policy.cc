// Documents of gate policies.
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/promotion/verdict.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string document(reinterpret_cast<const char*>(data), size);
  try {
    const tarn::promotion::GatePolicy policy = tarn::promotion::parse_gate_policy(document);
    require(policy == tarn::promotion::parse_gate_policy(document), "a document means one policy");
    require(tarn::is_branch_name(policy.destination.str()), "a policy guards a branch");
    require(document.size() <= tarn::promotion::kPolicyBytesMax, "a policy is bounded");
    const tarn::promotion::GateCandidate nothing{
        .ref = "r", .facts = {.commit = {}, .metrics = {}, .params = {}, .warnings = {}}};
    const tarn::promotion::Verdict verdict = tarn::promotion::evaluate(policy, nothing, nullptr);
    require(policy.metrics.empty() || verdict.outcome != tarn::promotion::GateOutcome::kPassed,
            "what was not measured passes no metric");
    require(policy.approvals.count == 0 || verdict.outcome != tarn::promotion::GateOutcome::kPassed,
            "nobody's approval is no approval");
  } catch (const tarn::Error& error) {
    require(error.reason() == "policy_invalid", "a bad document is the caller's");
    require(std::string_view(error.what()).starts_with("policy: "), "and says so");
  }
  return 0;
}
