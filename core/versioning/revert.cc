#include "core/versioning/revert.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/authors.h"
#include "core/branch/protection.h"
#include "core/branch/publish.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/commits.h"
#include "core/metrics/metric.h"
#include "core/tree/merge.h"
#include "core/versioning/merge.h"

namespace tarn::versioning {
namespace {

struct Transplant {
  TreeRoot base;
  TreeRoot source;
  std::vector<CommitId> read;
  std::vector<std::string> makers{};  ///< of the picked commit
  std::string committer;
  std::string message;
  Metadata metadata;
  bool allow_empty = false;
  const RollbackTerms* terms = nullptr;  ///< nullptr = under the rules of the branch
  branch::BranchPermit permit{};
  HookEvent before = HookEvent::kPreRevert;
  HookEvent after = HookEvent::kPostRevert;
};

[[noreturn]] void throw_conflicts(const tree::MergeResult& merged, bool name_paths) {
  if (!name_paths) {
    throw Error(ErrorCode::kConflict, reason::kMergeConflict, "update branch: conflict found");
  }
  std::string message = str_cat("taking back the promotion: ", merged.conflict_count,
                                " of its paths were changed since:");
  for (const MergeConflict& conflict : merged.conflicts) {
    message += str_cat(" \"", conflict.key.str(), "\"");
  }
  throw Error(ErrorCode::kConflict, reason::kMergeConflict, message);
}

/// Merges base..source into the branch as a commit with one parent.
Commit transplant(branch::Engine& engine, const Repository& repository, const Branch& branch,
                  const Transplant& change) {
  const auto commit = branch::build_and_publish(
      engine, repository, branch, /*rotate=*/true, change.permit,
      [&](branch::BranchHold& hold, meta::NodeWriter& nodes) -> std::optional<branch::BuiltCommit> {
        branch::BuiltCommit built;
        built.drained = branch::require_clean(engine, hold);
        tree::MergeInput input;
        input.base = change.base;
        input.source = change.source;
        input.destination = hold.lease().root;
        input.resolve = [](const MergeConflict&) { return tree::Resolution::kConflict; };
        input.conflicts_kept_max = kConflictsShownMax;
        const tree::MergeResult merged =
            tree::merge_trees(engine.nodes, nodes, {repository.salt}, input);
        if (!merged.conflicts.empty()) throw_conflicts(merged, change.terms != nullptr);
        if (!merged.result.changed_anything() && !change.allow_empty) return std::nullopt;
        built.root = merged.result.root;
        built.clean = true;
        built.parents = {hold.lease().head};
        built.read = change.read;
        built.makers = change.makers;
        built.committer = change.committer;
        built.message = change.message;
        built.metadata = change.metadata;
        if (change.terms != nullptr) {
          built.promotion = true;
          built.within = change.terms->within;
        }
        built.hooks = branch::CommitHooks{
            .before = change.before, .after = change.after, .branch = branch.name.str()};
        if (branch::has_hooks(engine, repository)) {
          built.hooks->files = {.files = branch::action_files_of(engine, hold.lease().root),
                                .ref = to_text(hold.lease().head)};
        }
        return built;
      });
  if (!commit)
    throw Error(ErrorCode::kInvalidArgument, reason::kNoChanges, "update branch: no changes");
  return *commit;
}

/// The tree of a commit's parent; the empty tree for the first commit.
TreeRoot parent_root(branch::Engine& engine, const Repository& repository, const Commit& commit,
                     int32_t number, std::vector<CommitId>& read) {
  if (commit.parents.empty()) return {};
  const CommitId& id = commit.parents[static_cast<size_t>(number - 1)];
  read.push_back(id);
  return engine.commits.get(repository.id, id).root;
}

}  // namespace

Commit revert_branch(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                     const RevertRequest& request) {
  branch::check_writable(engine, repository, request.force);
  const Branch target = branch::get_branch(engine, repository, branch);
  Transplant change;
  change.permit = branch::permit_of(engine, repository.id, BranchAction::kRevert);
  change.permit(target);
  const Commit undone = branch::resolve_commit(engine, repository, request.ref);
  if (request.parent_number < 0) {
    throw_invalid("argument parentNumber: must not be negative");
  }
  if (undone.parents.size() > 1 && request.parent_number == 0) {
    throw Error(ErrorCode::kConflict, reason::kParentNumberRequired,
                "must specify 1-based parent number for reverting merge commit");
  }
  if (static_cast<size_t>(request.parent_number) > std::max<size_t>(undone.parents.size(), 1)) {
    throw_invalid(str_cat("given commit does not have the given parent number: parent ",
                          request.parent_number));
  }
  change.base = undone.root;
  change.read = {undone.id};
  change.source =
      parent_root(engine, repository, undone, std::max(request.parent_number, 1), change.read);
  change.committer = request.committer;
  change.message = request.overrides.message.value_or(str_cat("Revert ", request.ref));
  change.metadata = request.overrides.metadata.value_or(Metadata{});
  change.allow_empty = request.allow_empty;
  return transplant(engine, repository, target, change);
}

Commit revert_promotion(branch::Engine& engine, const Repository& repository,
                        const Branch& destination, const Commit& promoted,
                        const RollbackTerms& terms) {
  Transplant change;
  change.base = promoted.root;
  change.read = {promoted.id};
  change.source = parent_root(engine, repository, promoted, 1, change.read);
  change.committer = terms.committer;
  change.message = terms.message;
  change.allow_empty = true;
  change.terms = &terms;
  return transplant(engine, repository, destination, change);
}

Commit cherry_pick(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                   const CherryPickRequest& request) {
  branch::check_writable(engine, repository, request.force);
  const Branch target = branch::get_branch(engine, repository, branch);
  Transplant change;
  change.permit = branch::permit_of(engine, repository.id, BranchAction::kCherryPick);
  change.permit(target);
  const Commit picked = branch::resolve_commit(engine, repository, request.ref);
  if (picked.parents.size() > 1 && !request.parent_number) {
    throw_invalid("must specify 1-based parent number for cherry-picking merge commit");
  }
  const int32_t number = request.parent_number.value_or(1);
  if (number < 1 || static_cast<size_t>(number) > picked.parents.size()) {
    throw_invalid(
        str_cat("parent ", number, ": given commit does not have the given parent number"));
  }
  change.source = picked.root;
  change.read = {picked.id};
  const std::set<std::string> makers = makers_of(engine, repository.id, std::span(&picked.id, 1));
  change.makers.assign(makers.begin(), makers.end());
  change.base = parent_root(engine, repository, picked, number, change.read);
  change.committer = request.committer;
  change.message = request.overrides.message.value_or(picked.message);
  change.metadata = request.overrides.metadata.value_or(picked.metadata);
  // They describe the tree of the picked commit, not the one that this makes.
  if (!request.overrides.metadata) {
    std::erase_if(change.metadata, [](const auto& pair) { return is_measured(pair.first); });
  }
  change.metadata[kCherryPickOrigin] = to_text(picked.id);
  change.metadata["cherry-pick-committer"] = picked.committer;
  change.before = HookEvent::kPreCherryPick;
  change.after = HookEvent::kPostCherryPick;
  return transplant(engine, repository, target, change);
}

}  // namespace tarn::versioning
