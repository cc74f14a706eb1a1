#include "core/versioning/commit.h"

#include <algorithm>
#include <set>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/hooks.h"
#include "core/branch/protection.h"
#include "core/branch/publish.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/staged_edits.h"
#include "core/db/pool.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/repositories.h"
#include "core/tree/changed_paths.h"
#include "core/tree/edit.h"

namespace tarn::versioning {
namespace {

[[noreturn]] void throw_no_tree(std::string_view field) {
  throw Error(ErrorCode::kNotFound, reason::kMetarangeNotFound,
              str_cat(field, ": no commit of the repository has it: not found"));
}

std::vector<CommitId> parents_of(branch::Engine& engine, const Repository& repository,
                                 const std::vector<std::string>& refs) {
  if (refs.size() > kParentsMax) {
    throw_invalid(str_cat("parents: a commit has at most ", kParentsMax));
  }
  std::vector<CommitId> out;
  for (const std::string& ref : refs) {
    const CommitId id = branch::resolve_commit(engine, repository, ref).id;
    if (std::find(out.begin(), out.end(), id) != out.end()) {
      throw_invalid(str_cat("parents: \"", ref, "\" names a commit that is given already"));
    }
    out.push_back(id);
  }
  return out;
}

/// One attempt with the branch held.
class CommitAttempt {
 public:
  CommitAttempt(branch::Engine& engine, const Repository& repository, const Branch& branch,
                const CommitRequest& request, std::optional<std::vector<CommitId>> parents)
      : engine_(engine),
        repository_(repository),
        branch_(branch),
        request_(request),
        parents_(std::move(parents)) {}

  std::optional<branch::BuiltCommit> build(branch::BranchHold& hold, meta::NodeWriter& nodes) {
    const meta::BranchLease& lease = hold.lease();
    branch::BuiltCommit built;
    built.drained = lease.sealed;
    built.parents = parents_.value_or(std::vector<CommitId>{lease.head});
    built.read = built.parents;
    bool changed = built.parents != std::vector<CommitId>{lease.head};
    std::vector<branch::ActionEntry> files;
    if (request_.source_tree) {
      built.drained = branch::require_clean(engine_, hold);
      built.clean = true;
      const Commit source = source_of(*request_.source_tree);
      built.root = source.root;
      built.read.push_back(source.id);
      changed |= !(built.root == lease.root);
      if (hooked_) files = branch::action_files_of(engine_, source.root);
    } else {
      tree::ChangedPathsBuilder paths;  // so that no comparison of trees is needed to know them
      branch::ActionFileChanges actions;
      branch::StagedEdits edits(
          engine_, lease.sealed, lease.has_ranges, [&hold] { hold.keep_alive(); },
          [&](const tree::Change& change) {
            paths.add(change.key);
            actions.add(change);
          });
      const std::vector<tree::RangeDelete> deletes = edits.range_deletes();
      const tree::EditResult result =
          tree::edit_tree(engine_.nodes, nodes, {repository_.salt}, lease.root, deletes, edits);
      built.root = result.root;
      built.staged = true;
      if (deletes.empty()) built.changed_paths = tree::encode_changed_paths(paths.build());
      changed |= result.changed_anything();
      if (hooked_) files = actions.action_files(engine_, lease.root, deletes);
    }
    if (!prepared && prepare_wanted(files)) return std::nullopt;
    check_expected(lease, built.root, nodes);
    if (!changed && !request_.allow_empty) {
      if (!built.drained.empty()) {
        engine_.branches.drop_sealed(branch_.id, lease.owner, built.drained);
      }
      return std::nullopt;
    }
    built.committer = request_.committer;
    built.message = request_.message;
    built.metadata = request_.metadata;
    built.date = request_.date;
    built.hooks =
        branch::CommitHooks{.before = HookEvent::kPreCommit,
                            .after = HookEvent::kPostCommit,
                            .branch = branch_.name.str(),
                            .files = {.files = std::move(files), .ref = branch_.name.str()}};
    return built;
  }

  /// Runs the hooks of prepare-commit without holding the branch: changes that they stage are part
  /// of the commit. Returns false if there were none.
  bool run_prepare() {
    if (!to_prepare_) return false;
    prepared = true;
    engine_.hooks->run(repository_, context(), *to_prepare_, {});
    return true;
  }

  bool prepared = false;

 private:
  void check_expected(const meta::BranchLease& lease, const TreeRoot& root,
                      meta::NodeWriter& nodes) const {
    const CommitExpectation& expected = request_.expected;
    if (expected.head && *expected.head != lease.head) {
      throw Error(ErrorCode::kPreconditionFailed, reason::kBranchMoved,
                  str_cat("branch ", branch_.name.str(), ": its head is ", to_text(lease.head),
                          ", expected ", to_text(*expected.head),
                          "; somebody else committed: look at it, or begin again"));
    }
    if (expected.objects.empty() && !expected.only) return;
    nodes.flush();  // the tree is read
    branch::check_objects(engine_.nodes, root, expected.objects);
    if (expected.only) branch::check_changes(engine_.nodes, lease.root, root, expected.objects);
  }

  bool prepare_wanted(const std::vector<branch::ActionEntry>& files) {
    if (files.empty()) return false;
    branch::ActionFiles found{.files = files, .ref = branch_.name.str()};
    if (!engine_.hooks->wanted(repository_, context(), found)) return false;
    to_prepare_ = std::move(found);
    return true;
  }

  branch::HookContext context() const {
    return {.event = HookEvent::kPrepareCommit,
            .repository = repository_.name,
            .branch = branch_.name.str(),
            .source_ref = branch_.name.str(),
            .message = request_.message,
            .committer = request_.committer,
            .metadata = request_.metadata,
            .time = engine_.clock.now(),
            .user = ActingUser::name()};
  }

  Commit source_of(const Hash128& hash) const {
    auto found = engine_.commits.find_by_root(repository_.id, hash);
    if (!found) throw_no_tree("source_metarange");
    return *std::move(found);
  }

  branch::Engine& engine_;
  const Repository& repository_;
  const Branch& branch_;
  const CommitRequest& request_;
  const std::optional<std::vector<CommitId>> parents_;
  const bool hooked_ = branch::has_hooks(engine_, repository_);
  std::optional<branch::ActionFiles> to_prepare_;
};

}  // namespace

Commit commit_branch(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                     const CommitRequest& request) {
  branch::check_writable(engine, repository, request.force);
  const Branch target = branch::get_branch(engine, repository, branch);
  const branch::BranchPermit permit =
      branch::permit_of(engine, repository.id, BranchAction::kCommit);
  permit(target);
  std::optional<std::vector<CommitId>> parents;
  if (request.parents) parents = parents_of(engine, repository, *request.parents);
  CommitAttempt attempt(engine, repository, target, request, std::move(parents));
  const auto build_once = [&] {
    return branch::build_and_publish(engine, repository, target, /*rotate=*/true, permit,
                                     [&](branch::BranchHold& hold, meta::NodeWriter& nodes) {
                                       return attempt.build(hold, nodes);
                                     });
  };
  auto commit = build_once();
  if (!commit && attempt.run_prepare()) commit = build_once();
  if (!commit) throw Error(ErrorCode::kInvalidArgument, reason::kNoChanges, "commit: no changes");
  return *commit;
}

void record_commit(branch::Engine& engine, const Repository& repository, Commit given, bool force) {
  branch::check_writable(engine, repository, force);
  if (given.parents.size() > kParentsMax) {
    throw_invalid(str_cat("parents: a commit has at most ", kParentsMax));
  }
  std::set<CommitId> read;
  int64_t generation = 1;
  for (const CommitId& id : given.parents) {
    const auto parent = engine.commits.find(repository.id, id);
    if (!parent) {
      throw Error(ErrorCode::kNotFound, reason::kCommitNotFound,
                  str_cat("parents: commit ", to_text(id), ": not found"));
    }
    generation = std::max(generation, parent->generation + 1);
    read.insert(id);
  }
  if (given.generation != generation) {
    throw_invalid(str_cat("generation: is ", generation, " with these parents"));
  }
  if (given.root.hash != Hash128{}) {
    const auto source = engine.commits.find_by_root(repository.id, given.root.hash);
    if (!source) throw_no_tree("metarange_id");
    given.root = source->root;
    read.insert(source->id);
  }
  if (compute_commit_id(given) != given.id) {
    throw_invalid("commit_id: is not the id of a commit with these contents");
  }
  if (engine.commits.find(repository.id, given.id)) {
    throw Error(ErrorCode::kAlreadyExists, "commit already exists: not unique");
  }
  const std::vector<CommitId> held(read.begin(), read.end());
  engine.pool.transaction([&](db::Connection& connection) {
    meta::Repositories::hold(connection, repository.id);
    if (!meta::Commits::hold(connection, repository.id, held)) {
      throw Error(ErrorCode::kNotFound, reason::kCommitNotFound, "commit not found");
    }
    meta::Commits::insert(connection, repository.id, given, {ActingUser::name()});
  });
}

}  // namespace tarn::versioning
