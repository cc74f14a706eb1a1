// Evaluation of candidates by a gate policy: the facts of a verdict, and a dry run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/ref_globs.h"
#include "core/model/path_scope.h"
#include "core/promotion/evaluate.h"
#include "core/promotion/gate_candidate.h"
#include "core/promotion/gate_policy_store.h"

namespace tarn::versioning {

/// Candidates of one question that are judged.
constexpr size_t kGateCandidatesMax = 1000;
/// Paths that a verdict names.
constexpr size_t kGatePathsShownMax = 10;

/// The values of the policy's metrics, for each commit in that order.
std::vector<CommitFacts> facts_of(Engine& engine, RepositoryId repository, const GatePolicy& policy,
                                  std::span<const CommitId> commits);

/// Everything the policy asks of the candidates but checks and approvals: metrics are read first
/// where the background has not yet. What a candidate brings is what merging it into `destination`
/// would; with `replaced`, making these paths of the destination what they are in the candidate.
/// Throws: not_found (a ref of a policy from before refs were pinned), unavailable (store).
std::vector<GateCandidate> gate_candidates(Engine& engine, const Repository& repository,
                                           const GatePolicy& policy, const Commit& destination,
                                           std::span<const NamedCommit> candidates,
                                           const PathScope* replaced = nullptr);

/// That merging met `count` conflicts, of which `paths` are shown, and what to do about it.
GateRefusal conflict_refusal(const GatePolicy& policy, std::string_view candidate,
                             std::span<const std::string> paths, uint64_t count);
/// Why merging the candidate into `destination` would end without a champion: conflicts, or a
/// result that is not what was judged. nullopt: it would not. Publishes nothing.
std::optional<GateRefusal> merge_refusal(Engine& engine, const Repository& repository,
                                         const GatePolicy& policy, const Commit& destination,
                                         const NamedCommit& candidate);

/// Why a promotion into `destination` would fail with any candidate: uncommitted changes (code
/// "destination_dirty"). nullopt: it would not.
std::optional<GateRefusal> destination_refusal(Engine& engine, const RepositoryName& repository,
                                               const Branch& destination);
/// That the branch has uncommitted changes, and what to do about it.
GateRefusal dirty_refusal(const BranchName& destination);

struct GateQuestion {
  std::string policy;                     ///< its name
  std::optional<int64_t> version{};       ///< absent = the one that holds
  std::vector<std::string> candidates;    ///< as find_candidates takes them
  std::optional<std::string> champion{};  ///< a ref; absent = the policy's alias
};
struct JudgedCandidate {
  NamedCommit candidate;
  Verdict verdict;
  std::optional<size_t> rank{};  ///< from 1, of those that did not fail
  bool dominated = false;        ///< by another that did not fail
};
struct GateAnswer {
  meta::GatePolicyVersion version;
  CommitId destination;
  std::optional<NamedCommit> champion{};
  std::vector<JudgedCandidate> candidates;  ///< those with a rank first, best first
  std::vector<std::string> warnings{};      ///< about all of them
  std::optional<GateRefusal> refusal{};     ///< of whichever wins; see destination_refusal
};
/// A dry run: nothing is changed, no check or approval is known. Throws: not_found (policy,
/// candidates, champion, destination), as gate_candidates.
GateAnswer evaluate_gate(Engine& engine, const RepositoryName& repository,
                         const GateQuestion& question);

}  // namespace tarn::versioning
