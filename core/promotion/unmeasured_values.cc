#include "core/promotion/unmeasured_values.h"

#include <map>
#include <optional>
#include <string>

#include "core/base/str_cat.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/promotion/required_objects.h"
#include "core/tree/cursor.h"

namespace tarn::promotion {
namespace {

/// Commits of a candidate that are examined for the one that wrote a file of metrics; an older
/// file does not count.
constexpr size_t kMetricFileCommitsMax = 1000;

/// Finds the reason why the values of a metric file do not count.
class FileAges {
 public:
  FileAges(branch::Engine& engine, const Repository& repository, const GatePolicy& policy,
           const Commit& candidate, const TreeRoot* base)
      : engine_(engine),
        repository_(repository),
        policy_(policy),
        candidate_(candidate),
        base_(base) {}

  /// "" = they count.
  const std::string& problem(const std::string& path) {
    const auto [at, is_new] = problems_.try_emplace(path);
    if (is_new) at->second = find_problem(path);
    return at->second;
  }

 private:
  std::string find_problem(const std::string& path) {
    const auto written = tree::find_entry(engine_.nodes, candidate_.root, path);
    if (base_ != nullptr && written == tree::find_entry(engine_.nodes, *base_, path)) {
      return str_cat("the candidate has not changed a byte of ", path, " since it left '",
                     policy_.destination.str(), "'");
    }
    Commit commit = candidate_;
    for (size_t looked = 0; looked < kMetricFileCommitsMax; ++looked) {
      if (commit.parents.empty()) return "";
      const Commit parent = engine_.commits.get(repository_.id, commit.parents.front());
      if (tree::find_entry(engine_.nodes, parent.root, path) !=
          tree::find_entry(engine_.nodes, commit.root, path)) {
        if (commit.parents.size() == 1) return "";
        const auto from = merged_from(commit, path);
        if (!from) return "";
        if (differs(*from, commit)) {
          return str_cat("commit ", digits_of(commit), " merged it, and it measured another tree");
        }
        commit = *from;
        continue;
      }
      const RequiredDifference newer =
          find_required_difference(engine_.nodes, measured(), parent.root, commit.root);
      if (newer.path && *newer.path != path) {
        return str_cat(*newer.path, " was written after it, in commit ", digits_of(commit),
                       ": measure again and commit ", path,
                       ", or let objects.measured of the "
                       "policy leave out what values do not depend on");
      }
      commit = parent;
    }
    return str_cat("the latest ", kMetricFileCommitsMax, " commits have not written ", path);
  }

  /// The merged side whose file equals the merge's; nullopt: the merge itself wrote it.
  std::optional<Commit> merged_from(const Commit& merge, const std::string& path) {
    const auto written = tree::find_entry(engine_.nodes, merge.root, path);
    for (size_t i = 1; i < merge.parents.size(); ++i) {
      Commit side = engine_.commits.get(repository_.id, merge.parents[i]);
      if (tree::find_entry(engine_.nodes, side.root, path) == written) return side;
    }
    return std::nullopt;
  }

  /// Whether the measured objects differ between the merge and the side: the required objects, or
  /// all objects if the policy names none.
  bool differs(const Commit& side, const Commit& merge) {
    if (policy_.objects.required.empty()) return !(side.root == merge.root);
    const RequiredDifference difference =
        find_required_difference(engine_.nodes, measured(), side.root, merge.root);
    return difference.path.has_value() || !difference.complete;
  }

  /// Patterns of the objects that values depend on.
  std::span<const Glob> measured() const {
    const ObjectRules& rules = policy_.objects;
    return rules.measured.empty() ? rules.required : rules.measured;
  }

  static std::string digits_of(const Commit& commit) {
    return to_text(commit.id).substr(0, kCommitDigitsShown);
  }

  static constexpr size_t kCommitDigitsShown = 12;

  branch::Engine& engine_;
  const Repository& repository_;
  const GatePolicy& policy_;
  const Commit& candidate_;
  const TreeRoot* const base_;
  std::map<std::string, std::string> problems_;  ///< by path
};

}  // namespace

std::vector<UnmeasuredValue> take_unmeasured(branch::Engine& engine, const Repository& repository,
                                             const GatePolicy& policy, const Commit& candidate,
                                             const TreeRoot* base, CommitFacts& facts) {
  FileAges ages(engine, repository, policy, candidate, base);
  const auto problem_of = [&](const Metric& metric) -> std::string {
    if (metric.origin == MetricOrigin::kFile) return ages.problem(metric.source);
    if (metric.origin == MetricOrigin::kCommitMetadata && candidate.parents.size() > 1)
      return "the commit is a merge, which measured nothing";
    return "";
  };
  std::vector<UnmeasuredValue> out;
  std::erase_if(facts.metrics, [&](const Metric& metric) {
    std::string why = problem_of(metric);
    if (why.empty()) return false;
    out.push_back({.metric = metric, .why = std::move(why)});
    return true;
  });
  return out;
}

}  // namespace tarn::promotion
