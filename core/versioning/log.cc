#include "core/versioning/log.h"

#include <algorithm>
#include <queue>
#include <set>

#include "core/base/error.h"
#include "core/branch/history.h"
#include "core/branch/refs.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/model/expiry.h"
#include "core/tree/cursor.h"
#include "core/tree/diff.h"

namespace tarn::versioning {
namespace {

struct OlderFirst {
  bool operator()(const Commit& a, const Commit& b) const {
    return a.created != b.created ? a.created < b.created : a.id < b.id;
  }
};

/// The commits that are reachable from one, newest first.
class Walk {
 public:
  Walk(Engine& engine, RepositoryId repository, const Commit& start, const LogOptions& options)
      : engine_(engine), repository_(repository), options_(options) {
    push(start);
  }

  std::optional<Commit> next() {
    if (queue_.empty()) return std::nullopt;
    Commit commit = queue_.top();
    queue_.pop();
    const size_t parents =
        options_.first_parent ? std::min<size_t>(commit.parents.size(), 1) : commit.parents.size();
    for (size_t i = 0; i < parents; ++i) push(engine_.commits.get(repository_, commit.parents[i]));
    return commit;
  }

 private:
  void push(const Commit& commit) {
    if (options_.since && commit.created < *options_.since) return;
    if (seen_.insert(commit.id).second) queue_.push(commit);
  }

  Engine& engine_;
  const RepositoryId repository_;
  const LogOptions& options_;
  std::priority_queue<Commit, std::vector<Commit>, OlderFirst> queue_;
  std::set<CommitId> seen_;
};

bool changed_object(Engine& engine, const TreeRoot& before, const TreeRoot& after,
                    const std::string& key) {
  tree::Diff diff(engine.nodes, before, after);
  diff.seek(key);
  const auto first = diff.next();
  return first && first->key == key;
}

bool changed_prefix(Engine& engine, const TreeRoot& before, const TreeRoot& after,
                    const std::string& prefix) {
  tree::Diff diff(engine.nodes, before, after);
  diff.seek(prefix);
  const auto first = diff.next();
  return first && first->key.starts_with(prefix);
}

bool says(const Commit& commit, const LogOptions& options) {
  if (options.until && commit.created > *options.until) return false;
  if (!options.committer.empty() && commit.committer != options.committer) return false;
  if (commit.message.find(options.message) == std::string::npos) return false;
  return std::all_of(options.metadata.begin(), options.metadata.end(), [&](const auto& wanted) {
    const auto at = commit.metadata.find(wanted.first);
    return at != commit.metadata.end() && (!wanted.second || at->second == *wanted.second);
  });
}

/// Whether it cannot be told if the commit matches: what it or its parent held has expired.
bool is_unknown(Engine& engine, RepositoryId repository, const Commit& commit,
                const LogOptions& options) {
  if (options.objects.empty() && options.prefixes.empty()) return false;
  if (commit.parents.size() != 1 || !says(commit, options)) return false;
  const TreeRoot before = engine.commits.get(repository, commit.parents[0]).root;
  return !(before == commit.root) && (is_expired(before) || is_expired(commit.root));
}

bool matches(Engine& engine, RepositoryId repository, const Commit& commit,
             const LogOptions& options) {
  if (!says(commit, options)) return false;
  if (options.objects.empty() && options.prefixes.empty()) return true;
  if (commit.parents.size() != 1) return false;
  const TreeRoot before = engine.commits.get(repository, commit.parents[0]).root;
  if (before == commit.root) return false;
  return std::any_of(options.objects.begin(), options.objects.end(),
                     [&](const std::string& key) {
                       return changed_object(engine, before, commit.root, key);
                     }) ||
         std::any_of(options.prefixes.begin(), options.prefixes.end(), [&](const std::string& p) {
           return changed_prefix(engine, before, commit.root, p);
         });
}

}  // namespace

Page<Commit> log_commits(Engine& engine, const Repository& repository, std::string_view ref,
                         const LogOptions& options) {
  const Commit start = resolve_commit(engine, repository, ref);
  std::optional<CommitId> after, stop_at;
  if (!options.after.empty()) after = resolve_commit(engine, repository, options.after).id;
  if (!options.stop_at.empty()) stop_at = resolve_commit(engine, repository, options.stop_at).id;

  std::optional<std::set<CommitId>> wanted;
  if (!options.without.empty()) {
    const Commit without = resolve_commit(engine, repository, options.without);
    const auto ids = commits_without(engine, repository.id, start, without);
    if (ids.empty()) return {};
    wanted.emplace(ids.begin(), ids.end());
  }

  Walk walk(engine, repository.id, start, options);
  Page<Commit> page;
  bool emitting = !after.has_value();
  while (const auto commit = walk.next()) {
    const bool last = stop_at && commit->id == *stop_at;
    const bool in_range = !wanted || wanted->contains(commit->id);
    if (emitting && in_range && !page.items.empty() &&
        is_unknown(engine, repository.id, *commit, options)) {
      page.has_more = true;
      page.next = to_text(page.items.back().id);
      return page;
    }
    if (emitting && in_range && matches(engine, repository.id, *commit, options)) {
      if (page.items.size() == options.limit) {
        page.has_more = true;
        page.next = to_text(page.items.back().id);
        return page;
      }
      page.items.push_back(*commit);
      if (options.stop_at_limit && page.items.size() == options.limit) return page;
    }
    if (after && commit->id == *after) emitting = true;
    if (wanted && wanted->erase(commit->id) > 0 && wanted->empty()) return page;
    if (last) return page;
  }
  return page;
}

}  // namespace tarn::versioning
