// Results of a policy's evaluations as values of commits, and the judgement's wish for those that
// are missing.
#pragma once

#include <span>
#include <string>

#include "core/branch/engine.h"
#include "core/promotion/gate_candidate.h"

namespace tarn::promotion {

/// Values of single examples that one judgement holds in memory.
constexpr uint64_t kExampleBytesHeldMax = uint64_t{512} << 20;

/// The evaluation that the rule takes its values from; nullptr: another source.
const EvaluationRules* evaluation_of(const GatePolicy& policy, const MetricRule& rule);

/// Adds the results of the policy's evaluations to the facts of each commit, with the reason for
/// each that is missing. Reads the objects of the commits; asks for nothing. Throws
/// resource_exhausted (reason "too_large": kExampleBytesHeldMax).
void add_results(branch::Engine& engine, RepositoryId repository, const GatePolicy& policy,
                 std::span<CommitFacts> facts);

/// Asks for the missing results of a commit on behalf of `authors`, whose budgets pay for it;
/// without authors it is free, as for the champion. Says in the facts what was refused.
void ask_for_results(branch::Engine& engine, RepositoryId repository, const GatePolicy& policy,
                     std::span<const std::string> authors, CommitFacts& facts);
/// The same for a candidate, on behalf of its authors and `user`, and for the champion (nullptr =
/// there is none).
void ask_for_results(branch::Engine& engine, RepositoryId repository, const GatePolicy& policy,
                     const std::string& user, GateCandidate& candidate, CommitFacts* champion);

}  // namespace tarn::promotion
