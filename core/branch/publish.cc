// Publishing: how every verb that makes a commit moves a branch.
//
//   hold      The verb takes the write lease of the branch (BranchHold) and, if it takes in what is
//             staged, seals the staging area: later writes go to a new token.
//   build     `build` makes the tree over the head that the lease names. New nodes stay in memory,
//             or are copied into the database where nothing refers to them yet.
//   hooks     pre-commit or pre-merge hooks see the commit as it will be. They may take minutes;
//             the lease is renewed meanwhile.
//   publish   One statement (publish_commit of the schema) inserts nodes and commit, moves the head
//             and drops the sealed tokens, if the head, the lease and the settings are still those
//             that were read and all commits that were read still exist. Otherwise it does nothing.
//   within    The verb's own work follows in the same transaction: a pull request that is merged,
//             approvals, or a promotion's alias, tag and row. What it throws undoes the commit.
//
// A server that dies in between leaves a lease that ends by itself, sealed tokens that readers and
// the next verb see as before, and nodes that garbage collection removes. An answer that was lost
// is found out in Branches::publish. If the branch changed meanwhile, all steps are repeated, in
// five attempts at most; a verb that learns of a lost lease before it publishes gives up at once.
#include "core/branch/publish.h"

#include <algorithm>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/branch/change_index.h"
#include "core/branch/hook_files.h"
#include "core/branch/staged_edits.h"
#include "core/branch/store_owner.h"
#include "core/meta/commits.h"
#include "core/meta/staging.h"
#include "core/meta/writer.h"
#include "core/tree/changed_paths.h"

namespace tarn::branch {
namespace {

constexpr int kPublishAttemptsMax = 5;

/// A commit is dated after its parents, unless they are further in the future than this: one commit
/// of a server with a wrong clock must not affect the dates of all later ones.
constexpr std::chrono::seconds kFutureDateMax{5};

/// Throws data_loss if the branch showed another tree than its head.
Commit make_commit(Engine& engine, const Repository& repository, const meta::BranchLease& lease,
                   const BuiltCommit& built) {
  std::vector<Commit> parents;
  for (const CommitId& id : built.parents) {
    const auto made = std::find_if(built.before.begin(), built.before.end(),
                                   [&](const Commit& commit) { return commit.id == id; });
    const Commit parent =
        made != built.before.end() ? *made : engine.commits.get(repository.id, id);
    if (id == lease.head && parent.root.hash != lease.root.hash) {
      throw Error(ErrorCode::kDataLoss,
                  "the branch shows another tree than its head: nothing was committed (tarn verify "
                  "--repair sets it)");
    }
    parents.push_back(parent);
  }
  return commit_after(built, parents, engine.clock.now());
}

/// Runs while the branch is held, but without a transaction or connection.
HookedChange run_hooks(Engine& engine, const Repository& repository, const BuiltCommit& built,
                       const Commit& commit, BranchHold& hold) {
  HookContext context;
  const CommitHooks& hooks = *built.hooks;
  context.event = hooks.before;
  context.branch = hooks.branch;
  context.source_ref = hooks.source_ref.value_or(hooks.branch);
  context.merge_source = hooks.merge_source;
  if (hooks.before == HookEvent::kPreMerge) context.commit = to_text(commit.id);
  context.message = commit.message;
  context.committer = commit.committer;
  context.metadata = commit.metadata;
  HookedChange change(engine, repository, std::move(context), hooks.after, hooks.files);
  change.before([&] {
    hold.keep_alive();
    if (hooks.tick) hooks.tick();
  });
  return change;
}

/// "": the job of the change index finds it out.
std::string changed_paths_of(Engine& engine, const meta::BranchLease& lease,
                             const BuiltCommit& built, const meta::Publication& publication) {
  const Commit& commit = publication.commit;
  // The log of a path shows no merges.
  if (commit.parents.size() != 1) return tree::encode_changed_paths(std::nullopt);
  if (commit.parents[0] != lease.head) return "";
  if (!built.changed_paths.empty()) return built.changed_paths;
  return stored_changed_paths(engine, lease.root, commit.root, publication.nodes);
}

[[noreturn]] void throw_overtaken() {
  throw Error(ErrorCode::kConflict, reason::kBranchLocked, "Too many attempts, try again later");
}

}  // namespace

Commit commit_after(const BuiltCommit& built, std::span<const Commit> parents, Instant now) {
  Commit commit;
  commit.parents = built.parents;
  commit.root = built.root;
  commit.committer = built.committer;
  commit.message = built.message;
  commit.metadata = built.metadata;
  commit.created = built.date.value_or(now);
  for (const Commit& parent : parents) {
    commit.generation = std::max(commit.generation, parent.generation + 1);
    if (!built.date && parent.created <= now + kFutureDateMax) {
      commit.created = std::max(commit.created, parent.created + std::chrono::milliseconds{1});
    }
  }
  commit.id = compute_commit_id(commit);
  return commit;
}

std::optional<Commit> build_and_publish(
    Engine& engine, const Repository& repository, const Branch& branch, bool rotate,
    const BranchPermit& permit,
    const std::function<std::optional<BuiltCommit>(BranchHold&, meta::NodeWriter&)>& build) {
  for (int attempt = 0; attempt < kPublishAttemptsMax; ++attempt) {
    const meta::Writer::Operation operation(engine.writer);
    // Sealing separates the rows that were staged before from those that are staged while the verb
    // runs.
    BranchHold hold(engine, branch, rotate || attempt > 0, permit);
    meta::NodeWriter nodes(engine.pool, engine.nodes, repository.id, hold.lease().nids);
    const std::optional<BuiltCommit> built = build(hold, nodes);
    if (!built) return std::nullopt;
    // This tree is published over that head, or none.
    if (!built->staged) check_hook_files(engine, repository.name, hold.lease().root, built->root);
    meta::Publication publication;
    publication.repository = repository.id;
    publication.branch = branch.id;
    publication.commit = make_commit(engine, repository, hold.lease(), *built);
    publication.drained = built->drained;
    publication.read = built->read;
    publication.user = ActingUser::name();
    publication.makers = built->makers;
    publication.promotion = built->promotion;
    publication.clean = built->clean;
    std::optional<HookedChange> hooked;
    if (built->hooks) {
      hooked.emplace(run_hooks(engine, repository, *built, publication.commit, hold));
    }
    if (built->within || (hooked && hooked->has_within())) {
      publication.within = [&](db::Connection& connection) {
        if (built->within) built->within(connection, publication.commit);
        if (hooked) hooked->within(connection, &publication.commit);
      };
    }
    engine.owners.require(repository);  // hooks take time
    if (built->check_again) built->check_again();
    publication.nodes = nodes.finish();
    publication.changed_paths = changed_paths_of(engine, hold.lease(), *built, publication);
    // Without duplicates: the statement counts the rows it finds.
    std::sort(publication.read.begin(), publication.read.end());
    publication.read.erase(std::unique(publication.read.begin(), publication.read.end()),
                           publication.read.end());
    switch (engine.branches.publish(engine.writer.id(), hold.lease(), publication)) {
      case meta::PublishOutcome::kDone:
        hold.ended();
        return publication.commit;
      case meta::PublishOutcome::kBranchGone:
        hold.ended();
        throw Error(ErrorCode::kNotFound, reason::kBranchNotFound, "branch not found");
      case meta::PublishOutcome::kReadGone:
        throw Error(ErrorCode::kNotFound, reason::kCommitNotFound, "commit not found");
      case meta::PublishOutcome::kWriterGone:
        engine.writer.heartbeat();
        break;
      case meta::PublishOutcome::kChanged:
        break;
    }
  }
  throw_overtaken();
}

std::vector<int64_t> require_clean(Engine& engine, BranchHold& hold) {
  const meta::BranchLease& lease = hold.lease();
  if (lease.sealed.empty()) return {};
  if (has_effect(engine, lease.sealed, lease.has_ranges, lease.root)) {
    throw Error(ErrorCode::kInvalidArgument, reason::kDirtyBranch,
                "uncommitted changes (dirty branch)");
  }
  return lease.sealed;
}

}  // namespace tarn::branch
