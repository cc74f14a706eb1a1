// Steps of the model that several files of verbs share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/integration/pairs/scenario.h"

namespace tarn::pairs {

using Steps = std::vector<Step>;

inline const BranchName kWorkBranch(kWork);
inline constexpr const char* kDone = "done";
inline constexpr const char* kNotFound = "not_found";

/// One step that changes nothing.
Steps answer(const World& world, std::string text);

/// A change of the branch `name`, which must exist without a rule that protects it.
Steps on_branch(const World& world, const std::string& name,
                const std::function<std::string(World&, ModelBranch&)>& change);
Steps on_work(const World& world, const std::function<std::string(World&, ModelBranch&)>& change);

/// The result of a verb that made this commit.
std::string said(const ModelCommitPtr& commit);

/// Makes `tree` the branch's next commit; staged changes that are not part of it remain.
ModelCommitPtr advance(ModelBranch& branch, std::string committer, std::string message,
                       ModelTree tree, std::vector<ModelCommitPtr> more_parents = {});

/// Runs a worker once, with its own turns: servers in one program share the default ones, so one
/// would wait for the other that waits at a point.
bool run_import(testing::TestEngine& engine);
bool run_promotion(testing::TestEngine& engine);

/// Stages an object on the work branch, for verbs that include staged changes.
void stage_change(Scenario& s, Role role);

}  // namespace tarn::pairs
