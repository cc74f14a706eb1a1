#include "core/gc/retention.h"

#include <algorithm>
#include <string_view>

#include "core/base/str_cat.h"

namespace tarn::versioning {
namespace {

constexpr size_t kNone = SIZE_MAX;
constexpr int64_t kSecondsPerDay = 24 * 60 * 60;

/// The commits by number, with their parents among them.
class Graph {
 public:
  explicit Graph(const std::vector<HistoryCommit>& commits) : commits_(commits) {
    parents_.resize(commits.size());
    for (size_t i = 0; i < commits.size(); ++i) {
      for (const CommitId& parent : commits[i].parents) parents_[i].push_back(find(parent));
    }
  }

  size_t size() const { return commits_.size(); }
  const HistoryCommit& operator[](size_t i) const { return commits_[i]; }
  /// kNone for those that have no row.
  const std::vector<size_t>& parents(size_t i) const { return parents_[i]; }
  size_t first_parent(size_t i) const { return parents_[i].empty() ? kNone : parents_[i][0]; }

  size_t find(const CommitId& id) const {
    const auto at = std::lower_bound(
        commits_.begin(), commits_.end(), id,
        [](const HistoryCommit& c, const CommitId& wanted) { return c.id < wanted; });
    return at != commits_.end() && at->id == id ? static_cast<size_t>(at - commits_.begin())
                                                : kNone;
  }

  /// The flags of these commits and of all their ancestors.
  std::vector<bool> reached(std::vector<size_t> waiting) const {
    std::vector<bool> out(size());
    while (!waiting.empty()) {
      const size_t i = waiting.back();
      waiting.pop_back();
      if (i == kNone || out[i]) continue;
      out[i] = true;
      waiting.insert(waiting.end(), parents_[i].begin(), parents_[i].end());
    }
    return out;
  }

 private:
  const std::vector<HistoryCommit>& commits_;
  std::vector<std::vector<size_t>> parents_;
};

/// A line of first parents.
struct Line {
  size_t begin = kNone;
  uint32_t days = 0;
  std::string_view branch{};  ///< with a rule of its own
};

std::string rule_of(const Line& line) {
  const std::string days = str_cat(line.days, line.days == 1 ? " day" : " days");
  if (line.branch.empty()) return str_cat("history is kept for ", days);
  return str_cat("the history of branch \"", line.branch, "\" is kept for ", days);
}

/// The lines of a history, those kept longest first.
std::vector<Line> lines_of(const Graph& graph, const History& history) {
  const uint32_t days = history.rules->default_retention_days;
  std::vector<bool> inside(graph.size());
  std::vector<Line> out;
  for (const HistoryBranch& branch : history.branches) {
    const size_t head = graph.find(branch.head);
    if (head == kNone) continue;
    inside[head] = true;
    const auto rule = history.rules->retention_days.find(branch.name);
    if (rule == history.rules->retention_days.end()) {
      out.push_back({head, days, {}});
    } else {
      out.push_back({head, rule->second, rule->first});
    }
  }
  for (size_t i = 0; i < graph.size(); ++i) {
    if (graph.first_parent(i) != kNone) inside[graph.first_parent(i)] = true;
  }
  for (size_t i = 0; i < graph.size(); ++i) {
    if (!inside[i]) out.push_back({i, days, {}});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Line& a, const Line& b) { return a.days > b.days; });
  return out;
}

/// Follows every line until one that was kept as long or longer.
class AgeRule {
 public:
  explicit AgeRule(const Graph& graph)
      : keeps_(graph.size()), rules_(graph.size()), graph_(graph), visited_(graph.size()) {}

  void follow(const Line& line) {
    size_t next = kNone;
    for (size_t i = line.begin; i != kNone; i = graph_.first_parent(i)) {
      if (is_young(i, line) || (next != kNone && is_young(next, line))) keeps_[i] = true;
      if (visited_[i]) return;
      visited_[i] = true;
      rules_[i] = &line;
      next = i;
    }
  }

  /// Was the head of a branch until the merge.
  void keep_merged(size_t i, uint32_t days) {
    for (size_t n = 1; n < graph_.parents(i).size(); ++n) {
      const size_t merged = graph_.parents(i)[n];
      if (merged != kNone && is_young(i, {i, days, {}})) keeps_[merged] = true;
    }
  }

  bool keeps(size_t i) const { return keeps_[i]; }
  const Line& rule(size_t i) const { return *rules_[i]; }

 private:
  bool is_young(size_t i, const Line& line) const {
    return graph_[i].age_s < int64_t{line.days} * kSecondsPerDay;
  }

  std::vector<bool> keeps_;
  std::vector<const Line*> rules_;
  const Graph& graph_;
  std::vector<bool> visited_;
};

/// Common ancestors that are no parents of others.
std::vector<size_t> merge_bases_of(const Graph& graph, const CommitId& a, const CommitId& b) {
  const std::vector<bool> of_a = graph.reached({graph.find(a)});
  const std::vector<bool> of_b = graph.reached({graph.find(b)});
  std::vector<bool> below(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    if (!of_a[i] || !of_b[i]) continue;
    for (const size_t parent : graph.parents(i)) {
      if (parent != kNone) below[parent] = true;
    }
  }
  std::vector<size_t> out;
  for (size_t i = 0; i < graph.size(); ++i) {
    if (of_a[i] && of_b[i] && !below[i]) out.push_back(i);
  }
  return out;
}

}  // namespace

bool has_ancestor(const std::vector<HistoryCommit>& commits, const CommitId& from,
                  const CommitId& commit) {
  const Graph graph(commits);
  const size_t i = graph.find(commit);
  return i != kNone && graph.reached({graph.find(from)})[i];
}

std::vector<CommitId> merge_bases(const std::vector<HistoryCommit>& commits, const CommitId& a,
                                  const CommitId& b) {
  const Graph graph(commits);
  std::vector<CommitId> out;
  for (const size_t i : merge_bases_of(graph, a, b)) out.push_back(graph[i].id);
  return out;
}

std::vector<CommitId> unreachable_commits(const History& history, std::chrono::seconds kept) {
  const Graph graph(history.commits);
  std::vector<size_t> waiting;
  for (const CommitId& id : history.named) waiting.push_back(graph.find(id));
  for (const CommitId& id : history.held) waiting.push_back(graph.find(id));
  for (size_t i = 0; i < graph.size(); ++i) {
    if (graph[i].age_s < kept.count()) waiting.push_back(i);
  }
  const std::vector<bool> reached = graph.reached(std::move(waiting));
  std::vector<CommitId> out;
  for (size_t i = 0; i < graph.size(); ++i) {
    if (!reached[i]) out.push_back(graph[i].id);
  }
  return out;
}

std::vector<ExpiringCommit> expiring_commits(const History& history) {
  if (!history.rules) return {};
  const Graph graph(history.commits);
  std::vector<size_t> held;
  for (const CommitId& id : history.held) held.push_back(graph.find(id));
  std::vector<bool> keep = graph.reached(std::move(held));
  for (const CommitId& id : history.named) {
    const size_t i = graph.find(id);
    if (i != kNone) keep[i] = true;
  }
  for (const auto& [source, destination] : history.pulls) {
    for (const size_t i : merge_bases_of(graph, source, destination)) keep[i] = true;
  }
  const std::vector<Line> lines = lines_of(graph, history);
  AgeRule ages(graph);
  for (const Line& line : lines) ages.follow(line);
  for (size_t i = 0; i < graph.size(); ++i) {
    ages.keep_merged(i, history.rules->default_retention_days);
  }
  std::vector<ExpiringCommit> out;
  for (size_t i = 0; i < graph.size(); ++i) {
    if (!graph[i].has_tree || keep[i] || (history.retains && ages.keeps(i))) continue;
    out.push_back({graph[i].id, rule_of(ages.rule(i))});
  }
  return out;
}

}  // namespace tarn::versioning
