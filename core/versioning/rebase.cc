#include "core/versioning/rebase.h"

#include <algorithm>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/authors.h"
#include "core/branch/branch_hold.h"
#include "core/branch/history.h"
#include "core/branch/hook_files.h"
#include "core/branch/protection.h"
#include "core/branch/publish.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/metrics/metric.h"
#include "core/tree/merge.h"

namespace tarn::versioning {
namespace {

constexpr size_t kDigitsShown = 12;

[[noreturn]] void throw_conflicts(const Commit& commit, std::string_view onto,
                                  const tree::MergeResult& merged) {
  std::string message =
      str_cat("rebasing onto '", onto, "': commit ", to_text(commit.id).substr(0, kDigitsShown),
              " (\"", commit.message.substr(0, commit.message.find('\n')), "\") and '", onto,
              "' changed ", merged.conflict_count, merged.conflict_count == 1 ? " path" : " paths",
              " differently; the branch was not changed (strategy source-wins keeps the commit's "
              "side, dest-wins the other):");
  for (const MergeConflict& conflict : merged.conflicts) {
    message += str_cat(" \"", conflict.key.str(), "\"");
  }
  throw Error(ErrorCode::kConflict, reason::kMergeConflict, message);
}

/// One attempt with the branch held.
class RebaseAttempt {
 public:
  RebaseAttempt(branch::Engine& engine, const Repository& repository, const Branch& branch,
                const RebaseRequest& request)
      : engine_(engine), repository_(repository), branch_(branch), request_(request) {}

  /// nullopt: the branch was moved to `onto`, or stays.
  std::optional<branch::BuiltCommit> build(branch::BranchHold& hold, meta::NodeWriter& nodes) {
    const std::vector<int64_t> without_effect = branch::require_clean(engine_, hold);
    const Commit onto = branch::resolve_commit(engine_, repository_, request_.onto);
    const Commit head = engine_.commits.get(repository_.id, hold.lease().head);
    result = {.before = head.id, .head = head.id};
    made_.clear();
    if (branch::is_ancestor(engine_, repository_.id, onto, head)) return std::nullopt;
    const std::vector<Commit> own = own_commits(head, onto);
    std::vector<branch::BuiltCommit> built = apply(own, onto, hold, nodes);
    if (built.empty()) {
      move(onto, hold, without_effect);
      return std::nullopt;
    }
    branch::BuiltCommit last = std::move(built.back());
    last.drained = without_effect;
    last.clean = true;
    last.before = made_;
    last.before.pop_back();
    last.read = {onto.id};
    for (const Commit& commit : own) {
      last.read.push_back(commit.id);
      last.read.insert(last.read.end(), commit.parents.begin(), commit.parents.end());
    }
    last.hooks = hooks_of(hold);
    last.within = [this, makers = std::move(makers_)](db::Connection& connection,
                                                      const Commit& published) {
      insert(connection, makers);
      result.head = published.id;
      result.commits.back().to = published.id;
    };
    return last;
  }

  Rebase result;

 private:
  /// The commits of the branch that `onto` lacks, the oldest first.
  std::vector<Commit> own_commits(const Commit& head, const Commit& onto) {
    const std::vector<Commit> bases =
        branch::best_common_ancestors(engine_, repository_.id, head, onto);
    if (bases.empty()) {
      throw Error(ErrorCode::kInvalidArgument, reason::kNoMergeBase,
                  str_cat("rebasing onto '", request_.onto, "': no common ancestor"));
    }
    std::vector<Commit> own;
    const auto is_base = [&](const Commit& commit) {
      return std::any_of(bases.begin(), bases.end(),
                         [&](const Commit& base) { return base.id == commit.id; });
    };
    for (Commit at = head; !is_base(at);
         at = engine_.commits.get(repository_.id, own.back().parents[0])) {
      // A merge may hold decisions about conflicts that neither of its sides has.
      if (at.parents.size() != 1) {
        throw Error(ErrorCode::kInvalidArgument, reason::kRebaseOfMerge,
                    str_cat("rebasing onto '", request_.onto, "': commit ", to_text(at.id),
                            " is a merge, which is not made again; merge the branch instead"));
      }
      if (own.size() == kRebaseCommitsMax) {
        throw Error(ErrorCode::kInvalidArgument, reason::kTooManyCommits,
                    str_cat("rebasing onto '", request_.onto, "': the branch has more than ",
                            kRebaseCommitsMax, " commits of its own; merge it instead"));
      }
      own.push_back(at);
    }
    std::reverse(own.begin(), own.end());
    return own;
  }

  /// Fills made_, makers_ and the result; what it returns is one item for each item of made_.
  std::vector<branch::BuiltCommit> apply(const std::vector<Commit>& own, const Commit& onto,
                                         branch::BranchHold& hold, meta::NodeWriter& nodes) {
    std::vector<branch::BuiltCommit> out;
    makers_.clear();
    Commit tip = onto;
    for (const Commit& commit : own) {
      hold.keep_alive();
      const Commit parent = engine_.commits.get(repository_.id, commit.parents[0]);
      tree::MergeInput input;
      input.base = parent.root;
      input.source = commit.root;
      input.destination = tip.root;
      input.resolve = [this](const MergeConflict&) { return resolution_of(request_.strategy); };
      input.conflicts_kept_max = kConflictsShownMax;
      const tree::MergeResult merged =
          tree::merge_trees(engine_.nodes, nodes, {repository_.salt}, input);
      if (merged.conflict_count > 0) throw_conflicts(commit, request_.onto, merged);
      // A commit that never changed anything was meant so.
      if (merged.result.root == tip.root && !(commit.root == parent.root)) {
        result.left_out.push_back(commit.id);
        continue;
      }
      nodes.flush();  // the next commit reads this tree
      out.push_back(describe(commit, tip, merged.result.root));
      tip = branch::commit_after(out.back(), std::span(&tip, 1), engine_.clock.now());
      made_.push_back(tip);
      result.commits.push_back({commit.id, tip.id});
    }
    return out;
  }

  branch::BuiltCommit describe(const Commit& commit, const Commit& tip, const TreeRoot& root) {
    branch::BuiltCommit built;
    built.root = root;
    built.parents = {tip.id};
    built.committer = commit.committer;
    built.message = commit.message;
    built.metadata = commit.metadata;
    // They describe the tree of the old commit, not the one that this makes.
    std::erase_if(built.metadata, [](const auto& pair) { return is_measured(pair.first); });
    built.metadata[kCherryPickOrigin] = to_text(commit.id);
    const std::set<std::string> makers =
        branch::makers_of(engine_, repository_.id, std::span(&commit.id, 1));
    built.makers.assign(makers.begin(), makers.end());
    makers_.push_back(built.makers);
    return built;
  }

  /// Inserts the commits below the one that is published.
  void insert(db::Connection& connection,
              const std::vector<std::vector<std::string>>& makers) const {
    std::vector<CommitId> ids;
    for (size_t i = 0; i + 1 < made_.size(); ++i) {
      meta::Commits::insert(connection, repository_.id, made_[i], {ActingUser::name(), makers[i]});
      ids.push_back(made_[i].id);
    }
    // An equal commit may have been there, on its way out.
    if (!meta::Commits::hold(connection, repository_.id, ids)) {
      throw Error(ErrorCode::kConflict, reason::kTooManyAttempts,
                  "commits were removed while the rebase ran, try again");
    }
  }

  branch::CommitHooks hooks_of(const branch::BranchHold& hold) const {
    branch::CommitHooks hooks{.before = HookEvent::kPreCherryPick,
                              .after = HookEvent::kPostCherryPick,
                              .branch = branch_.name.str()};
    if (branch::has_hooks(engine_, repository_)) {
      hooks.files = {.files = branch::action_files_of(engine_, hold.lease().root),
                     .ref = to_text(hold.lease().head)};
    }
    return hooks;
  }

  void move(const Commit& onto, branch::BranchHold& hold,
            const std::vector<int64_t>& without_effect) {
    branch::check_hook_files(engine_, repository_.name, hold.lease().root, onto.root);
    if (!engine_.branches.move_head(branch_.id, hold.lease(), onto, without_effect)) {
      branch::throw_taken_over("it was not moved");
    }
    hold.ended();
    result.head = onto.id;
  }

  branch::Engine& engine_;
  const Repository& repository_;
  const Branch& branch_;
  const RebaseRequest& request_;
  std::vector<Commit> made_;
  std::vector<std::vector<std::string>> makers_;  ///< for each of made_
};

}  // namespace

Rebase rebase_branch(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                     const RebaseRequest& request) {
  branch::check_writable(engine, repository, request.force);
  const Branch target = branch::get_branch(engine, repository, branch);
  const branch::BranchPermit permit = [&](const Branch& now) {
    branch::check_branch_action(engine, repository.id, now, BranchAction::kReset);
    branch::check_branch_action(engine, repository.id, now, BranchAction::kCommit);
  };
  permit(target);
  RebaseAttempt attempt(engine, repository, target, request);
  branch::build_and_publish(engine, repository, target, /*rotate=*/true, permit,
                            [&](branch::BranchHold& hold, meta::NodeWriter& nodes) {
                              return attempt.build(hold, nodes);
                            });
  return std::move(attempt.result);
}

}  // namespace tarn::versioning
