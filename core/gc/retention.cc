#include "core/gc/retention.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string_view>
#include <utility>

#include "core/base/str_cat.h"

namespace tarn::gc {
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

/// A set of heads, by their numbers.
class HeadSet {
 public:
  explicit HeadSet(size_t size) : words_((size + 63) / 64) {}

  void add(size_t head) { words_[head / 64] |= uint64_t{1} << (head % 64); }
  bool has(size_t head) const { return (words_[head / 64] >> (head % 64) & 1) != 0; }
  void add_all(const HeadSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  /// The first head from `from` on that is in the set and not in the other; kNone if there is none.
  size_t first_without(const HeadSet& other, size_t from = 0) const {
    for (size_t i = from / 64; i < words_.size(); ++i) {
      uint64_t word = words_[i] & ~other.words_[i];
      if (i == from / 64) word &= ~uint64_t{0} << (from % 64);
      if (word != 0) return i * 64 + static_cast<size_t>(std::countr_zero(word));
    }
    return kNone;
  }
  friend bool operator==(const HeadSet&, const HeadSet&) = default;

 private:
  std::vector<uint64_t> words_;
};

/// Finds the merge bases of every two heads in one walk from children to parents. Each commit has
/// the set of heads that lead to it. It is a merge base of two of them if no child has both.
/// Commits of a line share one set, and a set lives until the parents have been visited.
class MergeBaseWalk {
 public:
  MergeBaseWalk(const Graph& graph, const std::vector<CommitId>& heads)
      : graph_(graph), head_(graph.size(), kNone), waits_(graph.size()), sets_(graph.size()) {
    for (const CommitId& id : heads) {
      const size_t i = graph.find(id);
      if (i == kNone || head_[i] != kNone) continue;
      head_[i] = heads_.size();
      heads_.push_back(i);
    }
    for (size_t i = 0; i < graph.size(); ++i) {
      for (const size_t parent : graph.parents(i)) {
        if (parent != kNone) ++waits_[parent];
      }
    }
  }

  /// Calls found(base, a, b), numbers of commits.
  template <typename Found>
  void run(Found found) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < graph_.size(); ++i) {
      if (waits_[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const size_t i = ready.back();
      ready.pop_back();
      const std::shared_ptr<const HeadSet> set = visit(i, found);
      for (const size_t parent : graph_.parents(i)) {
        if (parent == kNone) continue;
        auto& sets = sets_[parent];
        if (set && std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(set);
        if (--waits_[parent] == 0) ready.push_back(parent);
      }
    }
  }

 private:
  using Sets = std::vector<std::shared_ptr<const HeadSet>>;

  /// The set of a commit whose children have been visited; null = no head leads to it.
  template <typename Found>
  std::shared_ptr<const HeadSet> visit(size_t i, Found& found) {
    const Sets sets = std::move(sets_[i]);
    sets_[i] = {};
    if (head_[i] == kNone) {
      if (sets.empty()) return nullptr;
      if (sets.size() == 1) return sets.front();
    }
    auto all = std::make_shared<HeadSet>(heads_.size());
    for (const auto& set : sets) all->add_all(*set);
    if (head_[i] != kNone) {
      // The head itself is the merge base with each that leads to it.
      const size_t other = all->first_without(HeadSet(heads_.size()));
      if (other != kNone) found(i, i, heads_[other]);
      all->add(head_[i]);
      return all;
    }
    for (const auto& set : sets) {
      if (*set == *all) return set;  // this child has every pair
    }
    for (size_t a = next_of(*all, 0); a != kNone; a = next_of(*all, a + 1)) {
      HeadSet beside(heads_.size());  // the heads that some child has together with this one
      for (const auto& set : sets) {
        if (set->has(a)) beside.add_all(*set);
      }
      const size_t b = all->first_without(beside);
      if (b == kNone) continue;
      found(i, heads_[a], heads_[b]);
      break;
    }
    return all;
  }

  size_t next_of(const HeadSet& set, size_t from) const {
    return from >= heads_.size() ? kNone : set.first_without(HeadSet(heads_.size()), from);
  }

  const Graph& graph_;
  std::vector<size_t> heads_;  ///< commits
  std::vector<size_t> head_;   ///< of each commit its number among the heads, or kNone
  std::vector<size_t> waits_;  ///< of each commit, how many children have not been visited
  std::vector<Sets> sets_;     ///< of each commit, those of its children
};

}  // namespace

bool has_ancestor(const std::vector<HistoryCommit>& commits, const CommitId& from,
                  const CommitId& commit) {
  const Graph graph(commits);
  const size_t i = graph.find(commit);
  return i != kNone && graph.reached({graph.find(from)})[i];
}

std::vector<CommonBase> merge_bases(const std::vector<HistoryCommit>& commits,
                                    const std::vector<CommitId>& heads) {
  const Graph graph(commits);
  std::vector<CommonBase> out;
  MergeBaseWalk(graph, heads).run([&](size_t base, size_t a, size_t b) {
    out.push_back({graph[base].id, graph[a].id, graph[b].id});
  });
  std::sort(out.begin(), out.end(),
            [](const CommonBase& x, const CommonBase& y) { return x.id < y.id; });
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
  MergeBaseWalk(graph, history.heads).run([&](size_t base, size_t, size_t) { keep[base] = true; });
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

}  // namespace tarn::gc
