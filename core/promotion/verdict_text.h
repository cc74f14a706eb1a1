// The text of a verdict on a candidate.
#pragma once

#include <cstddef>
#include <string>

#include "core/promotion/verdict.h"

namespace tarn::promotion {

/// Reasons that one message has.
constexpr size_t kVerdictReasonsShownMax = 20;

/// The rules that fail with their reasons, and those that wait.
std::string refusals_of(const Verdict& verdict);
std::string wants_of(const Verdict& verdict);
/// "metric_missing" when all that fails is a value that is missing or not trusted, which is mended
/// by measuring; else "gate_failed".
std::string code_of(const Verdict& verdict);
/// Whether a rule waits for approvals, or for anything else.
bool waits_for(const Verdict& verdict, bool approvals);

}  // namespace tarn::promotion
