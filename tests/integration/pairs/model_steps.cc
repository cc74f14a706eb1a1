#include "tests/integration/pairs/model_steps.h"

#include "core/base/owner_turns.h"
#include "core/imports/import.h"
#include "core/promotion/promotion_run.h"
#include "tests/integration/pairs/verbs.h"

namespace tarn::pairs {
namespace {

constexpr const char* kProtected = "protected_branch";

}  // namespace

Steps answer(const World& world, std::string text) { return {{std::move(text), world}}; }

Steps on_branch(const World& world, const std::string& name,
                const std::function<std::string(World&, ModelBranch&)>& change) {
  World after = world;
  ModelBranch* branch = after.branch(name);
  if (branch == nullptr) return answer(world, kNotFound);
  if (world.branch_rules && name == kWork) return answer(world, kProtected);
  std::string said = change(after, *branch);
  return {{std::move(said), std::move(after)}};
}

Steps on_work(const World& world, const std::function<std::string(World&, ModelBranch&)>& change) {
  return on_branch(world, kWork, change);
}

std::string said(const ModelCommitPtr& commit) { return kCommitted + render(commit); }

ModelCommitPtr advance(ModelBranch& branch, std::string committer, std::string message,
                       ModelTree tree, std::vector<ModelCommitPtr> more_parents) {
  std::vector<ModelCommitPtr> parents = {branch.head};
  parents.insert(parents.end(), more_parents.begin(), more_parents.end());
  branch.head =
      commit_of(std::move(committer), std::move(message), std::move(tree), std::move(parents));
  return branch.head;
}

void stage_change(Scenario& s, Role) { s.observer.put(s.repo, kWork, kKey, "staged before"); }

bool run_import(testing::TestEngine& engine) {
  OwnerTurns turns(1);
  return imports::run_one_import(*engine, {}, turns);
}

bool run_promotion(testing::TestEngine& engine) {
  OwnerTurns turns(1);
  return promotion::run_one_promotion(*engine, {}, turns);
}

}  // namespace tarn::pairs
