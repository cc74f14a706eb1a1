// The rules of retention by brute force, as docs/garbage-collection.md states them.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/gc/retention.h"

namespace tarn::gc {

class RetentionOracle {
 public:
  explicit RetentionOracle(const History& history) : history_(history) {
    for (const HistoryCommit& commit : history.commits) commits_[commit.id] = &commit;
  }

  std::set<CommitId> expiring() const {
    std::set<CommitId> out;
    if (!history_.rules) return out;
    for (const HistoryCommit& commit : history_.commits) {
      if (commit.has_tree && !is_named(commit.id) && !is_held(commit.id) &&
          !is_merge_base(commit.id) && !is_recent(commit.id)) {
        out.insert(commit.id);
      }
    }
    return out;
  }

  std::set<CommitId> unreachable(int64_t kept_s) const {
    std::set<CommitId> out;
    for (const HistoryCommit& commit : history_.commits) {
      bool needed = false;
      for (const HistoryCommit& other : history_.commits) {
        const bool root = is_named(other.id) || is_held(other.id) || other.age_s < kept_s;
        needed = needed || (root && is_ancestor(commit.id, other.id));
      }
      if (!needed) out.insert(commit.id);
    }
    return out;
  }

 private:
  bool is_named(const CommitId& id) const {
    return std::find(history_.named.begin(), history_.named.end(), id) != history_.named.end();
  }

  bool is_held(const CommitId& id) const {
    return std::any_of(history_.held.begin(), history_.held.end(),
                       [&](const CommitId& held) { return is_ancestor(id, held); });
  }

  bool is_ancestor(const CommitId& ancestor, const CommitId& of) const {
    if (ancestor == of) return true;
    const auto at = commits_.find(of);
    if (at == commits_.end()) return false;
    const auto& parents = at->second->parents;
    return std::any_of(parents.begin(), parents.end(),
                       [&](const CommitId& parent) { return is_ancestor(ancestor, parent); });
  }

  bool is_merge_base(const CommitId& id) const {
    for (const CommitId& a : history_.heads) {
      for (const CommitId& b : history_.heads) {
        if (a != b && is_merge_base_of(id, a, b)) return true;
      }
    }
    return false;
  }

  bool is_merge_base_of(const CommitId& id, const CommitId& a, const CommitId& b) const {
    if (!is_ancestor(id, a) || !is_ancestor(id, b)) return false;
    return std::none_of(history_.commits.begin(), history_.commits.end(),
                        [&](const HistoryCommit& other) {
                          return other.id != id && is_ancestor(other.id, a) &&
                                 is_ancestor(other.id, b) && is_ancestor(id, other.id);
                        });
  }

  bool is_young(const CommitId& id, uint32_t days) const {
    return commits_.at(id)->age_s < int64_t{days} * 86'400;
  }

  /// Whether the commit is on the line from `begin` and was its newest within the days.
  bool is_recent_on(const CommitId& id, const CommitId& begin, uint32_t days) const {
    const CommitId* next = nullptr;
    for (const CommitId* at = &begin; commits_.contains(*at);) {
      if (*at == id) return is_young(id, days) || (next != nullptr && is_young(*next, days));
      next = at;
      const auto& parents = commits_.at(*at)->parents;
      if (parents.empty()) return false;
      at = &parents[0];
    }
    return false;
  }

  bool is_recent(const CommitId& id) const {
    const uint32_t usual = history_.rules->default_retention_days;
    std::set<CommitId> inside;
    for (const HistoryBranch& branch : history_.branches) {
      const auto rule = history_.rules->retention_days.find(branch.name);
      const uint32_t days = rule == history_.rules->retention_days.end() ? usual : rule->second;
      if (is_recent_on(id, branch.head, days)) return true;
      inside.insert(branch.head);
    }
    for (const HistoryCommit& commit : history_.commits) {
      if (!commit.parents.empty()) inside.insert(commit.parents[0]);
      for (size_t n = 1; n < commit.parents.size(); ++n) {
        if (commit.parents[n] == id && is_young(commit.id, usual)) return true;
      }
    }
    for (const HistoryCommit& commit : history_.commits) {
      if (!inside.contains(commit.id) && is_recent_on(id, commit.id, usual)) return true;
    }
    return false;
  }

  const History& history_;
  std::map<CommitId, const HistoryCommit*> commits_;
};

}  // namespace tarn::gc
