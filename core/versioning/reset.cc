#include "core/versioning/reset.h"

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/meta/branches.h"
#include "core/meta/staging.h"
#include "core/versioning/branch_hold.h"
#include "core/versioning/fold.h"
#include "core/versioning/protection.h"
#include "core/versioning/publish.h"
#include "core/versioning/refs.h"
#include "core/versioning/repositories.h"

namespace tarn::versioning {
namespace {

[[noreturn]] void throw_taken_over() {
  throw Error(ErrorCode::kConflict, "branch_locked", "branch is currently locked, try again later");
}

Branch resettable_branch(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                         bool force) {
  const Repository repo = get_repository(engine, repository);
  check_writable(repo, force);
  Branch target = get_branch(engine, repository, branch);
  check_branch_action(engine, repo.id, target, BranchAction::kReset);
  return target;
}

/// Hides the staged changes of [begin, end) behind one row, however many there are.
void reset_range(Engine& engine, const Branch& branch, const std::string& begin,
                 const std::string& end) {
  BranchHold hold(engine, branch.id, /*rotate=*/false);
  if (!engine.branches.add_range(branch.id, hold.lease().owner, begin, end,
                                 meta::Branches::RangeKind::kReset)) {
    throw_taken_over();
  }
  fold_if_long(engine, branch.id, hold);
}

}  // namespace

void reset_branch(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                  bool force) {
  const Branch target = resettable_branch(engine, repository, branch, force);
  BranchHold hold(engine, target.id, /*rotate=*/false);
  if (!engine.branches.drop_staging(target.id, hold.lease().owner)) throw_taken_over();
}

void reset_prefix(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                  std::string_view prefix, bool force) {
  const Branch target = resettable_branch(engine, repository, branch, force);
  reset_range(engine, target, std::string(prefix), prefix_end(prefix));
}

void reset_object(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                  const Key& key, bool force) {
  const Branch target = resettable_branch(engine, repository, branch, force);
  const auto seen = engine.staging.lookup(repository, branch, key);
  if (!seen || seen->state.kind == meta::StagedState::Kind::kNone) return;
  // The range holds this key alone: no string lies between a key and the key with a NUL behind it.
  reset_range(engine, target, key.str(), key.str() + '\0');
}

void hard_reset_branch(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                       std::string_view ref, bool force) {
  const Repository repo = get_repository(engine, repository);
  check_writable(repo, force);
  const Branch target = get_branch(engine, repository, branch);
  check_hard_reset(engine, repo.id, target);
  const Commit commit = resolve_commit(engine, repository, ref);
  BranchHold hold(engine, target.id, /*rotate=*/true);
  const std::vector<int64_t> without_effect = require_clean(engine, hold);
  if ((!without_effect.empty() &&
       !engine.branches.drop_sealed(target.id, hold.lease().owner, without_effect)) ||
      !engine.branches.move_head(target.id, hold.lease(), commit)) {
    throw_taken_over();
  }
  hold.ended();
}

}  // namespace tarn::versioning
