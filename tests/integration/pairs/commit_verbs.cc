// Verbs that commit staged changes, or repeat or undo a commit.
#include "core/branch/stage.h"
#include "core/versioning/merge.h"
#include "core/versioning/revert.h"
#include "tests/integration/pairs/model_steps.h"
#include "tests/integration/pairs/verbs.h"

namespace tarn::pairs {
namespace {

using testing::TestEngine;

Verb verb_commit() {
  return {
      .name = "commit",
      .set_up = stage_change,
      .act =
          [](Scenario& s, TestEngine& e, Role role) {
            versioning::CommitRequest request;
            request.committer = name_of(role);
            request.message = "commit";
            return to_text(versioning::commit_branch(*e, s.repository(e), kWorkBranch, request).id);
          },
      .model =
          [](const World& w, const World&, Scenario&, Role role) {
            return on_work(w, [&](World&, ModelBranch& branch) -> std::string {
              const bool changed = branch.dirty();
              ModelTree tree = branch.visible();
              branch.staged.clear();
              if (!changed) return "no_changes";
              return said(advance(branch, name_of(role), "commit", std::move(tree)));
            });
          },
      .seals = true};
}

/// Applies the changes from `base` to `source` to the branch.
std::string transplant(ModelBranch& branch, const ModelTree& base, const ModelTree& source,
                       Role role, std::string message) {
  if (branch.dirty()) return "dirty_branch";
  const auto merged = merge_trees(base, source, branch.head->tree);
  if (!merged) return "merge_conflict";
  if (*merged == branch.head->tree) return "no_changes";
  branch.staged.clear();
  return said(advance(branch, name_of(role), std::move(message), *merged));
}

Verb verb_revert() {
  return {
      .name = "revert",
      .set_up = {},
      .act =
          [](Scenario& s, TestEngine& e, Role role) {
            versioning::RevertRequest request;
            request.committer = name_of(role);
            request.ref = to_text(s.second);
            request.overrides.message = "revert";
            return to_text(versioning::revert_branch(*e, s.repository(e), kWorkBranch, request).id);
          },
      .model =
          [](const World& w, const World&, Scenario& s, Role role) {
            return on_work(w, [&](World&, ModelBranch& branch) {
              return transplant(branch, s.commit(s.second)->tree, s.commit(s.first)->tree, role,
                                "revert");
            });
          },
      .seals = true};
}

Verb verb_cherry_pick() {
  return {
      .name = "cherry-pick",
      .set_up = {},
      .act =
          [](Scenario& s, TestEngine& e, Role role) {
            versioning::CherryPickRequest request;
            request.committer = name_of(role);
            request.ref = to_text(s.aside);
            return to_text(versioning::cherry_pick(*e, s.repository(e), kWorkBranch, request).id);
          },
      .model =
          [](const World& w, const World&, Scenario& s, Role role) {
            return on_work(w, [&](World&, ModelBranch& branch) {
              return transplant(branch, s.commit(s.second)->tree, s.commit(s.aside)->tree, role,
                                "aside");
            });
          },
      .seals = true};
}

}  // namespace

std::vector<Verb> commit_verbs() { return {verb_commit(), verb_revert(), verb_cherry_pick()}; }

}  // namespace tarn::pairs
