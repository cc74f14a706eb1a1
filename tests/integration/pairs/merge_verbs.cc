// Merges, and the pull requests that lead to them.
#include <algorithm>

#include "core/branch/settings.h"
#include "core/branch/stage.h"
#include "core/versioning/merge.h"
#include "core/versioning/pull_requests.h"
#include "core/versioning/rebase.h"
#include "tests/integration/pairs/model_steps.h"
#include "tests/integration/pairs/verbs.h"

namespace tarn::pairs {
namespace {

using testing::TestEngine;

/// Also permits a missing approval: a source that is deleted after it was resolved takes the
/// approvals of its head with it.
Steps or_unapproved(Steps steps, const World& world) {
  if (world.exists && world.approvals_wanted > 0 && !world.branches.contains(kSide)) {
    steps.push_back({"approval_required", world});
  }
  return steps;
}

enum class MergeKind { kPlain, kDirty, kSquash };

/// An approval counts while the source's head is the approved commit.
bool is_approved(const World& world, const World& seen) {
  if (world.approvals_wanted == 0) return true;
  return seen.branches.contains(kSide) &&
         std::any_of(world.pulls.begin(), world.pulls.end(), [](const auto& item) {
           return item.second.status == "open" && !item.second.approvals.empty();
         });
}

std::string merge_model(World& after, ModelBranch& branch, const World& seen, Role role,
                        MergeKind kind) {
  World from = seen;
  if (kind != MergeKind::kDirty && branch.dirty()) return "dirty_branch";
  const ModelBranch* source = from.branch(kSide);
  if (source == nullptr) return kNotFound;
  if (!is_approved(after, seen)) return "approval_required";
  const ModelCommitPtr base = merge_base(source->head, branch.head);
  const auto merged = merge_trees(base->tree, source->head->tree, branch.head->tree);
  if (!merged) return "conflicts";
  if (kind == MergeKind::kDirty) {
    for (const auto& [key, object] : branch.staged) {
      const auto was = branch.head->tree.find(key);
      const auto is = merged->find(key);
      const bool changes = (was == branch.head->tree.end()) != (is == merged->end()) ||
                           (is != merged->end() && was->second != is->second);
      if (changes) return "staged_overlap";
    }
  } else {
    branch.staged.clear();
  }
  if (source->head->tree == base->tree) return "no_changes";
  std::vector<ModelCommitPtr> parents;
  if (kind != MergeKind::kSquash && source->head != branch.head) parents.push_back(source->head);
  return said(advance(branch, name_of(role), "merge", *merged, parents));
}

Verb merge_verb(std::string name, MergeKind kind) {
  return {.name = std::move(name),
          .set_up = {},
          .act = [kind](Scenario& s, TestEngine& e, Role role) -> std::string {
            versioning::MergeRequest request;
            request.committer = name_of(role);
            request.message = "merge";
            request.squash = kind == MergeKind::kSquash;
            request.allow_dirty = kind == MergeKind::kDirty;
            const auto outcome =
                versioning::merge_into(*e, s.repository(e), kSide, kWorkBranch, request);
            const auto* commit = std::get_if<Commit>(&outcome);
            return commit == nullptr ? "conflicts" : to_text(commit->id);
          },
          .model =
              [kind](const World& w, const World& seen, Scenario&, Role role) {
                return or_unapproved(on_work(w,
                                             [&](World& after, ModelBranch& branch) {
                                               return merge_model(after, branch, seen, role, kind);
                                             }),
                                     w);
              },
          .reads_refs = true,
          .seals = true};
}

/// From kSide into kWork, whose rule requires the one approval that it has.
void open_pull(Scenario& s, Role) {
  if (!s.pull.empty()) return;
  constexpr db::Query kInsertUser{
      "test_pairs_insert_user",
      "INSERT INTO users (name, created_ms) VALUES ($1, 0) ON CONFLICT DO NOTHING"};
  for (const char* user : {"ann", "ben"}) {
    s.observer.pool.run(kInsertUser, {user}, db::Pool::Retry::kWrite);
  }
  BranchRule rule{.pattern = Glob(kWork)};
  rule.blocked_actions.emplace();
  rule.approvals = 1;
  branch::set_branch_rules(*s.observer, s.repository(s.observer), {rule}, {});
  s.pull = versioning::create_pull_request(*s.observer, s.repository(s.observer),
                                           {.title = "Title",
                                            .author = "ann",
                                            .source = BranchName(kSide),
                                            .destination = kWorkBranch})
               .id;
  versioning::approve_pull_request(
      *s.observer, s.repository(s.observer), s.pull, "ben",
      branch::get_branch(*s.observer, s.repository(s.observer), BranchName(kSide)).head);
}

Verb pull_merge_verb(std::string name, MergeKind kind) {
  return {.name = std::move(name),
          .set_up = open_pull,
          .act =
              [kind](Scenario& s, TestEngine& e, Role role) {
                versioning::MergeRequest request;
                request.committer = name_of(role);
                request.message = "merge";
                request.allow_dirty = kind == MergeKind::kDirty;
                const Repository repository = s.repository(e);
                const PullRequest pull = versioning::get_pull_request(*e, repository, s.pull);
                return to_text(versioning::merge_pull_request(*e, repository, pull, request).id);
              },
          .model = [kind](const World& w, const World& seen, Scenario& s, Role role) -> Steps {
            World probe = w;
            if (probe.branch(kWork) != nullptr && !w.branch_rules &&
                w.pulls.at(s.pull).status != "open") {
              // The approvals of the request no longer count either.
              return {{"pull_request_not_open", w}, {"approval_required", w}};
            }
            const auto merge = [&](World& after, ModelBranch& branch) -> std::string {
              ModelPull& pull = after.pulls.at(s.pull);
              std::string answer = merge_model(after, branch, seen, role, kind);
              if (answer == "conflicts") return "merge_conflict";
              if (!answer.starts_with(kCommitted)) return answer;
              pull.status = "merged";
              pull.merged = branch.head;
              return answer;
            };
            if (!w.branches.contains(kRenamed)) return or_unapproved(on_work(w, merge), w);
            // The request follows its branch. A merge that read it before the rename finds no
            // branch of the old name, and no request into it that is approved.
            Steps steps = or_unapproved(on_branch(w, kRenamed, merge), w);
            steps.push_back({kNotFound, w});
            steps.push_back({"approval_required", w});
            return steps;
          },
          .reads_refs = true,
          .seals = true};
}

Verb verb_withdraw() {
  return {.name = "approval withdraw",
          .set_up = open_pull,
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                versioning::withdraw_approval(*e, s.repository(e), s.pull, "ben");
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario& s, Role) -> Steps {
            World after = w;
            if (!w.exists || after.pulls.at(s.pull).approvals.erase("ben") == 0) {
              return answer(w, kNotFound);
            }
            return answer(after, kDone);
          }};
}

Verb verb_pull_close() {
  return {.name = "pull request close",
          .set_up = open_pull,
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                versioning::update_pull_request(*e, s.repository(e), s.pull,
                                                {.status = PullRequestStatus::kClosed});
                return kDone;
              },
          .model = [](const World& w, const World&, Scenario& s, Role) -> Steps {
            if (!w.exists) return answer(w, kNotFound);
            World after = w;
            ModelPull& pull = after.pulls.at(s.pull);
            if (pull.status == "merged") return answer(w, "pull_request_merged");
            pull.status = "closed";
            return answer(after, kDone);
          }};
}

bool is_in_history(const ModelCommitPtr& commit, const ModelCommitPtr& of) {
  return merge_base(commit, of) == commit;
}

/// The commits of `head` that `onto` lacks, the oldest first; empty: one of them is a merge.
std::vector<ModelCommitPtr> own_line(const ModelCommitPtr& head, const ModelCommitPtr& onto) {
  std::vector<ModelCommitPtr> own;
  for (ModelCommitPtr at = head; !is_in_history(at, onto); at = at->parents[0]) {
    if (at->parents.size() != 1) return {};
    own.insert(own.begin(), at);
  }
  return own;
}

std::string rebase_model(ModelBranch& branch, const World& seen) {
  World from = seen;
  if (branch.dirty()) return "dirty_branch";
  const ModelBranch* side = from.branch(kSide);
  if (side == nullptr) return kNotFound;
  if (is_in_history(side->head, branch.head)) return said(branch.head);
  ModelCommitPtr tip = side->head;
  if (!is_in_history(branch.head, tip)) {
    const std::vector<ModelCommitPtr> own = own_line(branch.head, tip);
    if (own.empty()) return "rebase_of_merge";
    for (const ModelCommitPtr& commit : own) {
      const ModelTree& parent = commit->parents[0]->tree;
      const auto tree = merge_trees(parent, commit->tree, tip->tree);
      if (!tree) return "merge_conflict";
      if (*tree == tip->tree && commit->tree != parent) continue;
      tip = commit_of(commit->committer, commit->message, *tree, {tip});
    }
  }
  branch.head = tip;
  branch.staged.clear();
  return said(tip);
}

/// Makes the commits of the work branch again on the side branch.
Verb verb_rebase() {
  return {.name = "rebase",
          .set_up =
              [](Scenario& s, Role role) {
                s.observer.put(s.repo, kWork, "own/" + name_of(role), "own");
                s.observer.commit(s.repo, kWork, "own " + name_of(role));
              },
          .act =
              [](Scenario& s, TestEngine& e, Role) {
                const auto done =
                    versioning::rebase_branch(*e, s.repository(e), kWorkBranch, {.onto = kSide});
                return to_text(done.head);
              },
          .model =
              [](const World& w, const World& seen, Scenario&, Role) {
                return on_work(
                    w, [&](World&, ModelBranch& branch) { return rebase_model(branch, seen); });
              },
          .reads_refs = true,
          .seals = true};
}

}  // namespace

std::vector<Verb> merge_verbs() {
  return {merge_verb("merge", MergeKind::kPlain),
          merge_verb("merge allow dirty", MergeKind::kDirty),
          merge_verb("squash merge", MergeKind::kSquash),
          pull_merge_verb("pull request merge", MergeKind::kPlain),
          pull_merge_verb("pull request merge allow dirty", MergeKind::kDirty),
          verb_withdraw(),
          verb_pull_close(),
          verb_rebase()};
}

}  // namespace tarn::pairs
