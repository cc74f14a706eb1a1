#include "core/versioning/publish.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/meta/commits.h"
#include "core/meta/staging.h"
#include "core/meta/writer.h"
#include "core/versioning/staged_edits.h"

namespace tarn::versioning {
namespace {

constexpr int kPublishAttemptsMax = 5;

Commit make_commit(Engine& engine, const Repository& repository, const BuiltCommit& built) {
  Commit commit;
  commit.parents = built.parents;
  commit.root = built.root;
  commit.committer = built.committer;
  commit.message = built.message;
  commit.metadata = built.metadata;
  commit.created = built.date.value_or(engine.clock.now());
  for (const CommitId& id : built.parents) {
    const Commit parent = engine.commits.get(repository.id, id);
    commit.generation = std::max(commit.generation, parent.generation + 1);
    if (!built.date)
      commit.created = std::max(commit.created, parent.created + std::chrono::milliseconds{1});
  }
  commit.id = compute_commit_id(commit);
  return commit;
}

[[noreturn]] void throw_overtaken() {
  throw Error(ErrorCode::kConflict, "branch_locked", "Too many attempts, try again later");
}

}  // namespace

std::optional<Commit> build_and_publish(
    Engine& engine, const Repository& repository, BranchId branch, bool rotate,
    const std::function<std::optional<BuiltCommit>(BranchHold&, meta::NodeWriter&)>& build) {
  for (int attempt = 0; attempt < kPublishAttemptsMax; ++attempt) {
    const meta::Writer::Operation operation(engine.writer);
    BranchHold hold(engine, branch, rotate);
    meta::NodeWriter nodes(engine.pool, engine.nodes, repository.id);
    const std::optional<BuiltCommit> built = build(hold, nodes);
    if (!built) return std::nullopt;
    meta::Publication publication;
    publication.repository = repository.id;
    publication.branch = branch;
    publication.commit = make_commit(engine, repository, *built);
    publication.drained = built->drained;
    publication.read = built->read;
    publication.promotion = built->promotion;
    if (built->within) {
      publication.within = [&](db::Connection& connection) {
        built->within(connection, publication.commit);
      };
    }
    publication.nodes = nodes.finish();
    // Each commit once: the statement counts the rows it finds.
    std::sort(publication.read.begin(), publication.read.end());
    publication.read.erase(std::unique(publication.read.begin(), publication.read.end()),
                           publication.read.end());
    switch (engine.branches.publish(engine.writer.id(), hold.lease(), publication)) {
      case meta::PublishOutcome::kDone:
        hold.ended();
        return publication.commit;
      case meta::PublishOutcome::kBranchGone:
        hold.ended();
        throw Error(ErrorCode::kNotFound, "branch_not_found", "branch not found");
      case meta::PublishOutcome::kReadGone:
        throw Error(ErrorCode::kNotFound, "commit_not_found", "commit not found");
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
    throw Error(ErrorCode::kInvalidArgument, "dirty_branch", "uncommitted changes (dirty branch)");
  }
  return lease.sealed;
}

}  // namespace tarn::versioning
