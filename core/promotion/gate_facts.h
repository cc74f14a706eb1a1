// Facts that a gate policy judges, and a dry run of the policy. verdict.h computes the verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/ref_globs.h"
#include "core/model/path_scope.h"
#include "core/model/repository.h"
#include "core/promotion/gate_candidate.h"
#include "core/promotion/gate_policy_store.h"
#include "core/promotion/verdict.h"
#include "core/runs/extraction.h"

namespace tarn::promotion {

/// Candidates of one question that are judged.
constexpr size_t kGateCandidatesMax = 1000;
/// Paths that a verdict names.
constexpr size_t kGatePathsShownMax = 10;

/// The facts that the rules are about.
runs::FactsWanted facts_wanted(std::span<const MetricRule> rules);

/// The values of the policy's metrics, for each commit in that order, as if only those existed for
/// which `counts` is true; without it all do.
std::vector<CommitFacts> facts_of(branch::Engine& engine, RepositoryId repository,
                                  const GatePolicy& policy, std::span<const CommitId> commits,
                                  const std::function<bool(const Metric&)>& counts = nullptr);

/// All facts that the policy needs of the candidates, except checks and approvals; metrics are read
/// first where the background has not done so. A candidate's changes are those of merging it into
/// `destination`, or with `replaced`, of replacing these paths of the destination by the
/// candidate's. Throws: not_found (a ref of a policy from before refs were pinned), unavailable
/// (store).
std::vector<GateCandidate> gate_candidates(branch::Engine& engine, const Repository& repository,
                                           const GatePolicy& policy, const Commit& destination,
                                           std::span<const branch::NamedCommit> candidates,
                                           const PathScope* replaced = nullptr);

/// The refusal of a merge with `count` conflicts, of which `paths` are shown, with advice.
GateRefusal conflict_refusal(const GatePolicy& policy, std::string_view candidate,
                             std::span<const std::string> paths, uint64_t count);
/// The reason why merging the candidate into `destination` would not make a champion: conflicts, or
/// a result that differs from what was judged. nullopt if it would make one. Publishes nothing.
std::optional<GateRefusal> merge_refusal(branch::Engine& engine, const Repository& repository,
                                         const GatePolicy& policy, const Commit& destination,
                                         const branch::NamedCommit& candidate);

/// Why a promotion into `destination` would fail with any candidate: uncommitted changes (code
/// "destination_dirty"). nullopt: it would not.
std::optional<GateRefusal> destination_refusal(branch::Engine& engine, const Repository& repository,
                                               const Branch& destination);
/// The refusal because of uncommitted changes on the branch, with advice.
GateRefusal dirty_refusal(const BranchName& destination);

struct GateQuestion {
  std::string policy;                     ///< its name
  std::optional<int64_t> version{};       ///< absent = the one that holds
  std::optional<std::string> document{};  ///< judge by this instead, which need not be stored
  std::vector<std::string> candidates;    ///< as find_candidates takes them
  std::optional<std::string> champion{};  ///< a ref; absent = the policy's alias
  /// The user for whom missing results of evaluations are asked for, as a promotion does, and who
  /// is charged with the authors; "" = none is.
  std::string measures_for{};
};
struct JudgedCandidate {
  branch::NamedCommit candidate;
  Verdict verdict;
  std::optional<size_t> rank{};  ///< from 1, of those that did not fail
  bool dominated = false;        ///< by another that did not fail
};
struct GateAnswer {
  GatePolicyVersion version;
  CommitId destination;
  std::optional<branch::NamedCommit> champion{};
  std::vector<JudgedCandidate> candidates;  ///< those with a rank first, best first
  std::vector<std::string> warnings{};      ///< about all of them
  std::optional<GateRefusal> refusal{};     ///< of whichever wins; see destination_refusal
};
/// A dry run: nothing is changed, no check or approval is known. Throws: not_found (policy,
/// candidates, champion, destination), invalid_argument (`document`, as draft_gate_policy), as
/// gate_candidates.
GateAnswer evaluate_gate(branch::Engine& engine, const Repository& repository,
                         const GateQuestion& question);

}  // namespace tarn::promotion
