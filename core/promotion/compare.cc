#include "core/promotion/compare.h"

#include <algorithm>
#include <set>

#include "core/base/str_cat.h"
#include "core/branch/changes.h"
#include "core/branch/history.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/replicates.h"
#include "core/runs/extraction.h"

namespace tarn::promotion {
namespace {

std::vector<CommitFacts> facts_of(branch::Engine& engine, RepositoryId repository,
                                  std::span<const CommitId> commits,
                                  const runs::FactsWanted& wanted) {
  std::vector<CommitFacts> out;
  while (!commits.empty()) {
    const size_t count = std::min(commits.size(), runs::kFactsCommitsMax);
    auto some = runs::commit_facts(engine, repository, commits.first(count), wanted);
    std::move(some.begin(), some.end(), std::back_inserter(out));
    commits = commits.subspan(count);
  }
  return out;
}

struct Columns {
  std::vector<MetricRule> shown;
  std::vector<MetricRule> read;  ///< and the parts of scores among them
};

/// The columns, completed from the policy.
Columns columns_of(branch::Engine& engine, const Repository& repository,
                   const CompareQuestion& question) {
  std::vector<MetricRule> columns = question.metrics;
  if (!question.policy) return {columns, columns};
  const GatePolicy policy = policy_of(get_gate_policy(engine, repository, *question.policy));
  if (columns.empty()) return {policy.metrics, policy.metrics};
  const bool has_primary = std::any_of(columns.begin(), columns.end(),
                                       [](const MetricRule& column) { return column.primary; });
  for (MetricRule& column : columns) {
    const MetricRule* rule = policy.find_metric(column.name);
    if (rule == nullptr || rule->split != column.split) continue;
    if (!column.goal) column.goal = rule->goal;
    if (!has_primary) column.primary = rule->primary;
    column.trusted = rule->trusted;
    column.runs = rule->runs;
    column.slices = rule->slices;
    column.sum = rule->sum;
  }
  std::vector<MetricRule> read;
  for (const MetricRule& rule : policy.metrics) {
    const auto is_part = [&](const MetricRule& column) { return column.sums(rule); };
    const auto is_shown = [&](const MetricRule& column) { return column.label() == rule.label(); };
    if (std::any_of(columns.begin(), columns.end(), is_part) &&
        std::none_of(columns.begin(), columns.end(), is_shown))
      read.push_back(rule);
  }
  // Scores come after their parts.
  read.insert(read.end(), columns.begin(), columns.end());
  std::stable_partition(read.begin(), read.end(),
                        [](const MetricRule& rule) { return !rule.is_score(); });
  return {std::move(columns), std::move(read)};
}

void add(versioning::ObjectTotals& totals, uint64_t bytes) {
  ++totals.objects;
  totals.bytes += bytes;
}

ObjectChanges count_changes(branch::Engine& engine, const TreeRoot& from, const TreeRoot& to,
                            uint64_t& budget) {
  ObjectChanges out;
  const auto changes = branch::tree_changes(engine.nodes, from, to);
  changes->seek("");
  uint64_t seen = 0;
  while (const auto change = changes->next()) {
    if (budget == 0 || ++seen > kCompareRowChangesMax) {
      out.complete = false;
      break;
    }
    --budget;
    if (change->type == ChangeType::kAdded) {
      add(out.totals.added, change->right->size_bytes);
    } else if (change->type == ChangeType::kRemoved) {
      add(out.totals.removed, change->left->size_bytes);
    } else {
      add(out.totals.changed, change->right->size_bytes);
      out.totals.changed_bytes_before += change->left->size_bytes;
    }
  }
  return out;
}

bool has_values(const ComparedRow& row) {
  return std::any_of(row.metrics.begin(), row.metrics.end(),
                     [](const ComparedValue& value) { return value.value.has_value(); });
}

/// Warns about rows whose metrics belong to an older commit only.
void warn_of_stale(branch::Engine& engine, RepositoryId repository, const runs::FactsWanted& wanted,
                   std::vector<CompareRow>& rows) {
  struct Older {
    size_t row;
    CommitId commit;
  };
  std::vector<Older> older;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (has_values(rows[i].compared)) continue;
    Commit at = rows[i].candidate.commit;
    for (size_t step = 0; step < kCompareLookBackMax && !at.parents.empty(); ++step) {
      if (at.id == rows[i].ancestor || older.size() == kComparePageLookBackMax) break;
      at = engine.commits.get(repository, at.parents[0]);
      // A value that the baseline has too is not a result of this candidate.
      if (at.id == rows[i].ancestor) break;
      older.push_back({i, at.id});
    }
  }
  if (older.empty()) return;
  std::vector<CommitId> commits;
  for (const Older& one : older) commits.push_back(one.commit);
  const std::vector<CommitFacts> facts = facts_of(engine, repository, commits, wanted);
  std::set<size_t> warned;
  for (size_t i = 0; i < older.size(); ++i) {
    if (facts[i].metrics.empty() || !warned.insert(older[i].row).second) continue;
    rows[older[i].row].compared.warnings.push_back(str_cat(
        "stale metrics: this commit has none, the newest are of ", to_text(older[i].commit)));
  }
}

/// Fills the columns besides metrics and parameters; `baseline` nullptr = there is none.
void describe(branch::Engine& engine, const Repository& repository, const Commit* baseline,
              bool objects, std::vector<CompareRow>& rows) {
  if (baseline == nullptr) return;
  uint64_t budget = kComparePageChangesMax;
  for (CompareRow& row : rows) {
    const std::vector<Commit> bases =
        branch::best_common_ancestors(engine, repository.id, row.candidate.commit, *baseline);
    if (bases.empty()) {
      row.compared.warnings.push_back("shares no history with the baseline");
      continue;
    }
    row.ancestor = bases[0].id;
    if (objects) {
      row.objects = count_changes(engine, bases[0].root, row.candidate.commit.root, budget);
    }
  }
}

void warn_of_ancestors(const std::vector<CompareRow>& rows, std::vector<std::string>& warnings) {
  std::set<CommitId> ancestors;
  for (const CompareRow& row : rows) {
    if (row.ancestor) ancestors.insert(*row.ancestor);
  }
  if (ancestors.size() > 1) {
    warnings.push_back(str_cat("the candidates begin at ", ancestors.size(),
                               " different commits of the baseline's history: they may have been "
                               "made from different data"));
  }
}

/// The commit whose metrics count: for a promotion's commit, its winner.
CommitId measured_commit(branch::Engine& engine, RepositoryId repository, const CommitId& commit) {
  const auto promotion =
      PromotionStore(engine.pool, engine.clock).find_by_result(repository, commit);
  return promotion ? promotion->winner.value() : commit;
}

}  // namespace

CompareAnswer compare_candidates(branch::Engine& engine, const Repository& repository,
                                 const CompareQuestion& question) {
  const Columns columns = columns_of(engine, repository, question);
  const runs::FactsWanted wanted = facts_wanted(columns.read);
  std::vector<branch::NamedCommit> candidates =
      branch::find_candidates(engine, repository, question.candidates, kCompareCandidatesMax);
  CompareAnswer answer;
  if (question.baseline)
    answer.baseline = branch::find_candidate(engine, repository, *question.baseline);

  std::vector<CommitId> commits;
  for (const branch::NamedCommit& candidate : candidates) commits.push_back(candidate.commit.id);
  if (answer.baseline)
    commits.push_back(measured_commit(engine, repository.id, answer.baseline->commit.id));
  std::vector<CommitFacts> facts = facts_of(engine, repository.id, commits, wanted);
  for (CommitFacts& one : facts) {
    limit_slices(columns.read, one.metrics);
    aggregate_replicates(columns.read, one);
    add_computed(columns.read, one.metrics);
  }
  std::optional<CommitFacts> baseline;
  if (answer.baseline) {
    baseline = std::move(facts.back());
    baseline->commit = answer.baseline->commit.id;
    facts.pop_back();
  }
  std::vector<Contestant> contestants;
  for (size_t i = 0; i < candidates.size(); ++i) {
    contestants.push_back({candidates[i].ref, candidates[i].commit.created, std::move(facts[i])});
  }
  answer.comparison =
      compare(contestants, baseline ? &*baseline : nullptr, columns.shown, question.params);

  answer.candidates = candidates.size();
  std::vector<ComparedRow> ranked = std::move(answer.comparison.rows);
  answer.comparison.rows.clear();
  for (size_t i = question.after; i < ranked.size() && answer.rows.size() < question.limit; ++i) {
    branch::NamedCommit& candidate = candidates[ranked[i].contestant];
    answer.rows.push_back({std::move(candidate), std::move(ranked[i])});
  }
  answer.has_more = question.after + answer.rows.size() < ranked.size();
  describe(engine, repository, answer.baseline ? &answer.baseline->commit : nullptr,
           question.objects, answer.rows);
  warn_of_stale(engine, repository.id, wanted, answer.rows);
  warn_of_ancestors(answer.rows, answer.comparison.warnings);
  return answer;
}

}  // namespace tarn::promotion
