#include "core/versioning/commit.h"

#include "core/base/error.h"
#include "core/meta/branches.h"
#include "core/tree/edit.h"
#include "core/versioning/protection.h"
#include "core/versioning/publish.h"
#include "core/versioning/refs.h"
#include "core/versioning/repositories.h"
#include "core/versioning/staged_edits.h"

namespace tarn::versioning {

Commit commit_branch(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                     const CommitRequest& request) {
  const Repository repo = get_repository(engine, repository);
  check_writable(repo, request.force);
  const Branch target = get_branch(engine, repository, branch);
  check_branch_action(engine, repo.id, target, BranchAction::kCommit);
  const auto commit = build_and_publish(
      engine, repo, target.id, /*rotate=*/true,
      [&](BranchHold& hold, meta::NodeWriter& nodes) -> std::optional<BuiltCommit> {
        const meta::BranchLease& lease = hold.lease();
        StagedEdits edits(engine, lease.sealed, lease.has_ranges, [&hold] { hold.keep_alive(); });
        const tree::EditResult result = tree::edit_tree(engine.nodes, nodes, {repo.salt},
                                                        lease.root, edits.range_deletes(), edits);
        if (!result.changed_anything() && !request.allow_empty) {
          if (!lease.sealed.empty())
            engine.branches.drop_sealed(target.id, lease.owner, lease.sealed);
          return std::nullopt;
        }
        BuiltCommit built;
        built.root = result.root;
        built.parents = {lease.head};
        built.drained = lease.sealed;
        built.committer = request.committer;
        built.message = request.message;
        built.metadata = request.metadata;
        built.date = request.date;
        return built;
      });
  if (!commit) throw Error(ErrorCode::kInvalidArgument, "no_changes", "commit: no changes");
  return *commit;
}

}  // namespace tarn::versioning
