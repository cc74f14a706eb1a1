#include "core/versioning/log.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/branch/history.h"
#include "core/branch/refs.h"
#include "core/meta/commit_graph.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/model/expiry.h"
#include "core/tree/changed_paths.h"
#include "core/tree/diff.h"

namespace tarn::versioning {
namespace {

bool changed_object(branch::Engine& engine, const TreeRoot& before, const TreeRoot& after,
                    const std::string& key) {
  tree::Diff diff(engine.nodes, before, after);
  diff.seek(key);
  const auto first = diff.next();
  return first && first->key == key;
}

bool changed_prefix(branch::Engine& engine, const TreeRoot& before, const TreeRoot& after,
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

/// Commits that are further apart in the log are read one by one, others with their ancestors.
constexpr size_t kNearCommits = 16;

/// Throws data_loss when the commit is missing.
Commit get_commit(branch::Engine& engine, RepositoryId repository, const CommitId& id,
                  bool is_near) {
  if (!is_near) {
    const auto found = engine.commits.find_all(repository, std::span(&id, 1));
    if (!found.empty()) return found.begin()->second;
  }
  return engine.commits.get(repository, id);
}

bool names_paths(const LogOptions& options) {
  return !options.objects.empty() || !options.prefixes.empty();
}

bool changed_any(branch::Engine& engine, const TreeRoot& before, const TreeRoot& after,
                 const LogOptions& options) {
  return std::any_of(
             options.objects.begin(), options.objects.end(),
             [&](const std::string& key) { return changed_object(engine, before, after, key); }) ||
         std::any_of(options.prefixes.begin(), options.prefixes.end(), [&](const std::string& p) {
           return changed_prefix(engine, before, after, p);
         });
}

enum class Match { kNo, kYes, kUnknown };

/// By the trees of the commit and its parent. `may_be_unknown`: kUnknown if the data of one has
/// expired; otherwise that throws gone.
Match match(branch::Engine& engine, RepositoryId repository, const Commit& commit,
            const LogOptions& options, bool is_near, bool may_be_unknown) {
  if (!says(commit, options)) return Match::kNo;
  if (!names_paths(options)) return Match::kYes;
  if (commit.parents.size() != 1) return Match::kNo;
  const TreeRoot before = get_commit(engine, repository, commit.parents[0], is_near).root;
  if (before == commit.root) return Match::kNo;
  if (may_be_unknown && (is_expired(before) || is_expired(commit.root))) return Match::kUnknown;
  return changed_any(engine, before, commit.root, options) ? Match::kYes : Match::kNo;
}

}  // namespace

namespace {

/// The commit of a ref that an option names, not the request's path.
Commit commit_of_option(branch::Engine& engine, const Repository& repository,
                        std::string_view option, const std::string& ref) {
  try {
    return branch::resolve_commit(engine, repository, ref);
  } catch (const Error& error) {
    if (error.reason() != reason::kRefNotFound) throw;
    throw Error(ErrorCode::kNotFound, reason::kCommitNotFound,
                str_cat(option, " \"", ref, "\": there is no such branch, tag or commit"));
  }
}

}  // namespace

Page<Commit> log_commits(branch::Engine& engine, const Repository& repository, std::string_view ref,
                         const LogOptions& options) {
  const Commit start = branch::resolve_commit(engine, repository, ref);
  std::optional<CommitId> after, stop_at;
  if (!options.after.empty())
    after = commit_of_option(engine, repository, "after", options.after).id;
  if (!options.stop_at.empty())
    stop_at = commit_of_option(engine, repository, "stop_at", options.stop_at).id;

  std::optional<std::set<CommitId>> wanted;
  if (!options.without.empty()) {
    const Commit without = commit_of_option(engine, repository, "without", options.without);
    const auto ids = branch::commits_without(engine, repository.id, start, without);
    if (ids.empty()) return {};
    wanted.emplace(ids.begin(), ids.end());
  }

  const tree::PathQuery paths(options.objects, options.prefixes);
  bool emitting = !after.has_value();
  size_t passed = 0;         // commits since the last one that was read
  bool may_be_shown = true;  // the commit at which the walk stands
  // Called with the graph locked. true: the commit may be shown, or is a bound of the log.
  const auto is_of_interest = [&](const meta::GraphCommit& commit) {
    ++passed;
    const bool in_range = !wanted || wanted->contains(commit.id);
    may_be_shown = emitting && in_range &&
                   (!names_paths(options) ||
                    (commit.parents == 1 && (!commit.changed || paths.may_match(*commit.changed))));
    return may_be_shown || (wanted && in_range) || (after && commit.id == *after) ||
           (stop_at && commit.id == *stop_at);
  };
  meta::CommitGraphWalk walk(engine.commits.graph(repository.id), start.id,
                             {.first_parent = options.first_parent, .since = options.since});
  Page<Commit> page{.next_of = [](const Commit& commit) { return to_text(commit.id); }};
  size_t bytes = 0;
  while (const auto id = walk.next(is_of_interest)) {
    if (may_be_shown) {
      const bool is_near = std::exchange(passed, 0) <= kNearCommits;
      const Commit commit = get_commit(engine, repository.id, *id, is_near);
      const Match found =
          match(engine, repository.id, commit, options, is_near, !page.items.empty());
      if (found == Match::kUnknown ||
          (found == Match::kYes &&
           (page.items.size() == options.limit || bytes >= kPageBytesMax))) {
        page.end_here();
        return page;
      }
      if (found == Match::kYes) {
        page.items.push_back(commit);
        bytes += bytes_of(commit);
        if (options.stop_at_limit && page.items.size() == options.limit) return page;
      }
    }
    if (after && *id == *after) emitting = true;
    if (wanted && wanted->erase(*id) > 0 && wanted->empty()) return page;
    if (stop_at && *id == *stop_at) return page;
  }
  return page;
}

}  // namespace tarn::versioning
