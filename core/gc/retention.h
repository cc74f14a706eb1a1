// Retention: which commits of a history go, and whose data expires, as arithmetic on its graph.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/collection_rules.h"
#include "core/model/commit.h"

namespace tarn::gc {

struct HistoryCommit {
  CommitId id;
  std::vector<CommitId> parents;
  int64_t age_s = 0;      ///< since it was stored
  bool has_tree = false;  ///< neither empty nor expired
};

struct HistoryBranch {
  std::string name;
  CommitId head;
};

/// The commits of a repository, and what names them.
struct History {
  std::vector<HistoryCommit> commits;   ///< ascending by id
  std::vector<CommitId> named;          ///< by roots; they need not exist
  std::vector<CommitId> held;           ///< with all their ancestors
  std::vector<HistoryBranch> branches;  ///< whose rules keep commits
  std::vector<CommitId> heads;          ///< of branches: their merge bases are kept
  std::optional<CollectionRules> rules{};
  bool retains = true;  ///< false: as if nothing were kept for its age
};

struct ExpiringCommit {
  CommitId id;
  std::string rule;  ///< as errors name it
};

/// Whether the history of `from`, which counts itself, has the commit.
bool has_ancestor(const std::vector<HistoryCommit>& commits, const CommitId& from,
                  const CommitId& commit);

/// A merge base of two commits: a common ancestor that is no ancestor of another one.
struct CommonBase {
  CommitId id;
  CommitId a;
  CommitId b;
};
/// The merge bases of every two of the heads, each once, with one of the pairs that have it.
/// Ascending. Time and memory grow with the number of commits and of places where histories part,
/// not with the number of pairs.
std::vector<CommonBase> merge_bases(const std::vector<HistoryCommit>& commits,
                                    const std::vector<CommitId>& heads);

/// The commits that no root leads to, stored at least `kept` ago, and to which no younger commit
/// leads. Ascending.
std::vector<CommitId> unreachable_commits(const History& history, std::chrono::seconds kept);

/// The commits whose data the rules let go; none without rules. A commit keeps its data while a
/// root names it, a hold is on it or a descendant, it is a merge base of two heads, or it was the
/// newest of a line within the retention: it, or the next commit of the line, is younger. A line
/// follows first parents: from the head of a branch under the branch's rule, from other commits
/// that are nobody's first parent under the default; those count merges of them as their next
/// commits. Ascending.
std::vector<ExpiringCommit> expiring_commits(const History& history);

}  // namespace tarn::gc
