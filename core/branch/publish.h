// The frame of every verb that makes a commit: hold the branch, build a tree, publish, start over
// if another verb published first.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/branch/branch_hold.h"
#include "core/branch/engine.h"
#include "core/branch/hooks.h"
#include "core/meta/node_writer.h"
#include "core/model/repository.h"

namespace tarn::db {
class Connection;
}

namespace tarn::branch {

/// The events of a commit.
struct CommitHooks {
  HookEvent before{};
  HookEvent after{};
  std::string branch;
  /// Asked before; absent = the branch's name.
  std::optional<std::string> source_ref{};
  std::string merge_source{};  ///< of a merge: the source as it was requested
  ActionFiles files{};
  std::function<void()> tick{};  ///< called now and then while hooks run
};

/// The result of building, to be published.
struct BuiltCommit {
  TreeRoot root;
  std::vector<CommitId> parents;
  std::vector<CommitId> read;    ///< commits whose trees went in
  std::vector<int64_t> drained;  ///< sealed tokens that are in the tree (or have no effect)
  std::string committer;
  std::string message;
  Metadata metadata;
  std::optional<Instant> date;  ///< absent = now
  /// Commits of its history that do not exist yet: `within` inserts them.
  std::vector<Commit> before{};
  /// The changed paths as core/tree/changed_paths.h stores them; "" = the trees are compared to
  /// find out.
  std::string changed_paths{};
  /// The tree is the head's with staged changes: the right to change hook files was checked when
  /// they were staged.
  bool staged = false;
  /// Names of users whose work is in the tree without their commits: squashed or picked.
  std::vector<std::string> makers{};
  bool promotion = false;  ///< the one way to move a branch that a policy protects
  bool clean = false;      ///< the verb must find the branch clean (require_clean), or has
                           ///< compared what is staged with what it changes
  /// In the transaction that makes the commit the head; what it throws undoes all.
  std::function<void(db::Connection&, const Commit&)> within{};
  std::optional<CommitHooks> hooks{};  ///< run between building and publishing
  /// Called after the hooks, which take time, and before the transaction: what it throws publishes
  /// nothing.
  std::function<void()> check_again{};
};

/// Runs `build` with the branch held; nullopt from it means "nothing to publish" and is passed on:
/// no change, conflicts of a merge, or hooks that must run first, which the caller knows.
/// `build` may run more than once: when another process took the branch over, other rules were set,
/// or collection forgot this process. `branch` and `permit` as BranchHold takes them. A commit is
/// dated after its parents, so that the log's order by time is the order of history, unless a
/// parent's date lies in the future.
std::optional<Commit> build_and_publish(
    Engine& engine, const Repository& repository, const Branch& branch, bool rotate,
    const BranchPermit& permit,
    const std::function<std::optional<BuiltCommit>(BranchHold&, meta::NodeWriter&)>& build);

/// The commit that `built` describes, on its parents. Its date is after theirs.
Commit commit_after(const BuiltCommit& built, std::span<const Commit> parents, Instant now);

/// Throws invalid_argument "uncommitted changes (dirty branch)" when anything staged has an effect.
/// Returns the sealed tokens, all of them without effect, which may be dropped.
std::vector<int64_t> require_clean(Engine& engine, BranchHold& hold);

}  // namespace tarn::branch
