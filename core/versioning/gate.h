// Judging candidates by a gate policy: the facts that a verdict rests on, and a dry run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/experiments/evaluate.h"
#include "core/meta/gate_policies.h"
#include "core/model/path_scope.h"
#include "core/versioning/candidates.h"
#include "core/versioning/changes.h"
#include "core/versioning/engine.h"

namespace tarn::versioning {

/// Candidates of one question.
constexpr size_t kGateCandidatesMax = 1000;
/// Changes and objects that a verdict on one candidate looks at; beyond it the rules that ask fail.
constexpr uint64_t kGatePathsSeenMax = 1'000'000;
/// Paths that a verdict names.
constexpr size_t kGatePathsShownMax = 10;

/// Patterns of `required` that nothing in the tree matches.
std::vector<std::string> missing_objects(Engine& engine, const ObjectRules& rules,
                                         const TreeRoot& tree);

/// What the rules ask of the tree `candidate`, when `brought` is what taking it in changes.
ObjectFacts object_facts(Engine& engine, const ObjectRules& rules, const TreeRoot& candidate,
                         Changes& brought);

/// Everything the policy asks of the candidates but checks and approvals: metrics are read first
/// where the background has not yet. What a candidate brings is what merging it into `destination`
/// would; with `replaced`, making these paths of the destination what they are in the candidate.
/// Throws: not_found (`require_ancestor`), unavailable (store).
std::vector<GateCandidate> gate_candidates(Engine& engine, const Repository& repository,
                                           const GatePolicy& policy, const Commit& destination,
                                           std::span<const NamedCommit> candidates,
                                           const PathScope* replaced = nullptr);

/// Where the policy's alias is; nullopt: it has none, or the alias is nowhere yet.
std::optional<NamedCommit> find_champion(Engine& engine, const Repository& repository,
                                         const GatePolicy& policy);
/// What is known of the champion for a comparison: a commit that a promotion made is what its
/// winner was, with what checks measured of it. Runs that were logged of it after it became the
/// champion do not count: they would move the bar. `alias`: where it stands; "" = nowhere.
CommitFacts champion_facts(Engine& engine, const Repository& repository, const GatePolicy& policy,
                           const CommitId& champion, const std::string& alias);

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
};
/// A dry run: nothing is changed, no check or approval is known. Throws: not_found (policy,
/// candidates, champion, destination), as gate_candidates.
GateAnswer evaluate_gate(Engine& engine, const RepositoryName& repository,
                         const GateQuestion& question);

}  // namespace tarn::versioning
