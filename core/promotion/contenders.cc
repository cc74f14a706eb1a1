#include "core/promotion/contenders.h"

#include <algorithm>
#include <map>

#include "core/branch/history.h"
#include "core/meta/commits.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/metric_choice.h"
#include "core/promotion/replicates.h"
#include "core/runs/extraction.h"

namespace tarn::promotion {
namespace {

/// Removes branches that match a glob but have no commit of their own; they are not candidates.
void drop_idle(branch::Engine& engine, const Repository& repository, const Commit& head,
               std::vector<branch::NamedCommit>& found) {
  std::map<CommitId, bool> idle;
  std::erase_if(found, [&](const branch::NamedCommit& candidate) {
    const auto [at, is_new] = idle.try_emplace(candidate.commit.id);
    if (is_new) at->second = branch::is_ancestor(engine, repository.id, candidate.commit, head);
    return at->second && candidate.by_glob;
  });
}

/// Whether a rule of the policy fails for a missing value, whatever checks report.
bool lacks_metric(const GatePolicy& policy, const CommitFacts& facts) {
  const GateCandidate unchecked{.ref = "", .facts = facts};
  return std::any_of(policy.metrics.begin(), policy.metrics.end(), [&](const MetricRule& rule) {
    if (rule.is_score()) return false;  // its parts have rules
    if (rule.slices) {
      return slices_of(rule, facts.metrics).size() < rule.slices->min_count &&
             !check_may_bring(policy, unchecked, rule);
    }
    const Metric* metric = choose_metric(facts.metrics, rule.name, rule.split, sources_of(rule));
    return (metric == nullptr || !is_measured_as(rule, *metric)) &&
           !check_may_bring(policy, unchecked, rule);
  });
}

/// Removes candidates that the gate would reject for a missing metric. If all would be rejected,
/// they stay, so that their verdicts name what is missing.
void drop_unmeasured(branch::Engine& engine, const Repository& repository, const GatePolicy& policy,
                     std::vector<branch::NamedCommit>& found) {
  if (policy.metrics.empty()) return;
  std::map<CommitId, bool> lacks;
  for (const branch::NamedCommit& candidate : found) lacks.emplace(candidate.commit.id, false);
  std::vector<CommitId> commits;
  for (const auto& [commit, unknown] : lacks) commits.push_back(commit);
  for (size_t at = 0; at < commits.size(); at += runs::kFactsCommitsMax) {
    const std::span<const CommitId> some =
        std::span(commits).subspan(at, std::min(runs::kFactsCommitsMax, commits.size() - at));
    for (const CommitFacts& facts : facts_of(engine, repository.id, policy, some))
      lacks[facts.commit] = lacks_metric(policy, facts);
  }
  const auto is_dropped = [&](const branch::NamedCommit& candidate) {
    return candidate.by_glob && lacks.at(candidate.commit.id);
  };
  if (!std::all_of(found.begin(), found.end(), is_dropped)) std::erase_if(found, is_dropped);
}

/// The order in which candidates take turns: refs that were named individually first, then the
/// branches of each creator by the time when their heads were stored, which clients cannot choose.
std::vector<size_t> places_by_turns(branch::Engine& engine, const Repository& repository,
                                    const std::vector<branch::NamedCommit>& found) {
  std::vector<CommitId> heads;
  for (const branch::NamedCommit& candidate : found) heads.push_back(candidate.commit.id);
  const std::map<CommitId, Instant> stored = engine.commits.stored(repository.id, heads);
  const auto stored_at = [&](size_t i) {
    const auto at = stored.find(found[i].commit.id);
    return at == stored.end() ? Instant{} : at->second;
  };
  std::map<std::string, std::vector<size_t>> of_creator;
  std::vector<size_t> turns(found.size(), 0);
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].by_glob) of_creator[found[i].creator].push_back(i);
  }
  for (auto& [creator, branches] : of_creator) {
    std::stable_sort(branches.begin(), branches.end(),
                     [&](size_t a, size_t b) { return stored_at(a) > stored_at(b); });
    for (size_t turn = 0; turn < branches.size(); ++turn) turns[branches[turn]] = turn + 1;
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < found.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (turns[a] != turns[b]) return turns[a] < turns[b];
    return stored_at(a) > stored_at(b);
  });
  return order;
}

Contenders share(branch::Engine& engine, const Repository& repository,
                 std::vector<branch::NamedCommit> found, size_t most) {
  std::vector<size_t> order = places_by_turns(engine, repository, found);
  std::map<std::string, size_t> left_out;
  for (size_t i = most; i < order.size(); ++i) ++left_out[found[order[i]].creator];
  order.resize(most);
  std::sort(order.begin(), order.end());
  Contenders out;
  for (const size_t i : order) out.judged.push_back(std::move(found[i]));
  for (const auto& [creator, count] : left_out) out.left_out.push_back({creator, count});
  std::stable_sort(out.left_out.begin(), out.left_out.end(),
                   [](const LeftOut& a, const LeftOut& b) { return a.branches > b.branches; });
  return out;
}

}  // namespace

Contenders choose_contenders(branch::Engine& engine, const Repository& repository,
                             const GatePolicy& policy, std::vector<branch::NamedCommit> found,
                             const Commit& head, size_t most) {
  if (found.size() > most) drop_idle(engine, repository, head, found);
  if (found.size() > most) drop_unmeasured(engine, repository, policy, found);
  if (found.size() > most) return share(engine, repository, std::move(found), most);
  return {std::move(found), {}};
}

}  // namespace tarn::promotion
