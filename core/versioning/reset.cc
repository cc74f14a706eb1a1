#include "core/versioning/reset.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/branch/branch_hold.h"
#include "core/branch/hook_files.h"
#include "core/branch/hooks.h"
#include "core/branch/protection.h"
#include "core/branch/publish.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/stage.h"
#include "core/branch/staged_edits.h"
#include "core/meta/branches.h"
#include "core/meta/staging.h"

namespace tarn::versioning {
namespace {

[[noreturn]] void throw_taken_over() {
  throw Error(ErrorCode::kConflict, reason::kBranchLocked,
              "the branch was taken over by another operation, other rules were set, or files of "
              "hooks were staged, while this one ran: nothing was reset, try again");
}

struct Resettable {
  const Repository& repository;
  Branch branch;
};

Resettable resettable_branch(branch::Engine& engine, const Repository& repository,
                             const BranchName& branch, bool force) {
  branch::check_writable(engine, repository, force);
  Branch target = branch::get_branch(engine, repository, branch);
  branch::check_branch_action(engine, repository.id, target, BranchAction::kReset);
  return {repository, std::move(target)};
}

/// A branch that is held to drop the staged changes in [begin, end), by a user with permission for
/// these.
class ResetHold {
 public:
  ResetHold(branch::Engine& engine, const Resettable& target, const std::string& begin,
            const std::string& end)
      : guarded_(reaches_hook_files(begin, end) &&
                 !branch::may_change_hook_files(engine, target.repository.name)),
        hold_(engine, target.branch, /*rotate=*/guarded_,
              branch::permit_of(engine, target.repository.id, BranchAction::kReset)) {
    if (guarded_)
      branch::check_staged_hook_files(engine, target.repository.name, hold_.lease(), begin, end);
  }
  branch::BranchHold& hold() { return hold_; }
  const meta::BranchLease& lease() const { return hold_.lease(); }
  /// Below this prefix nothing may have been staged since the branch was held; "" = all may be
  /// dropped.
  std::string_view unless_prefix() const {
    return guarded_ ? kActionFilesPrefix : std::string_view();
  }

 private:
  static bool reaches_hook_files(const std::string& begin, const std::string& end) {
    return begin < prefix_end(kActionFilesPrefix) && (end.empty() || end > kActionFilesPrefix);
  }

  const bool guarded_;
  branch::BranchHold hold_;
};

/// Hides the staged changes of [begin, end) with one row, however many there are.
void reset_range(branch::Engine& engine, const Resettable& target, const std::string& begin,
                 const std::string& end) {
  ResetHold held(engine, target, begin, end);
  if (!engine.branches.add_range(target.branch.id, held.lease(), begin, end,
                                 meta::Branches::RangeKind::kReset, held.unless_prefix())) {
    throw_taken_over();
  }
  branch::fold_if_long(engine, target.branch.id, held.hold());
}

}  // namespace

void reset_branch(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                  bool force) {
  const Resettable target = resettable_branch(engine, repository, branch, force);
  ResetHold held(engine, target, "", "");
  if (!engine.branches.drop_staging(target.branch.id, held.lease(), held.unless_prefix())) {
    throw_taken_over();
  }
}

void reset_prefix(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                  std::string_view prefix, bool force) {
  const Resettable target = resettable_branch(engine, repository, branch, force);
  reset_range(engine, target, std::string(prefix), prefix_end(prefix));
}

void reset_object(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                  const Key& key, bool force) {
  const Resettable target = resettable_branch(engine, repository, branch, force);
  // Without the branch, which was there a moment ago, nothing was reset.
  const meta::BranchLookup seen = branch::lookup_branch(engine, repository.name, branch, key);
  if (seen.state.kind == meta::StagedState::Kind::kNone) return;
  // The range contains only this key: no string lies between it and the key followed by NUL.
  reset_range(engine, target, key.str(), key.str() + '\0');
}

void hard_reset_branch(branch::Engine& engine, const Repository& repository,
                       const BranchName& branch, std::string_view ref, bool force) {
  branch::check_writable(engine, repository, force);
  const Branch target = branch::get_branch(engine, repository, branch);
  const branch::BranchPermit permit = [&](const Branch& now) {
    branch::check_hard_reset(engine, repository.id, now);
  };
  permit(target);
  const Commit commit = branch::resolve_commit(engine, repository, ref);
  branch::BranchHold hold(engine, target, /*rotate=*/true, permit);
  const std::vector<int64_t> without_effect = branch::require_clean(engine, hold);
  branch::check_hook_files(engine, repository.name, hold.lease().root, commit.root);
  if (!engine.branches.move_head(target.id, hold.lease(), commit, without_effect)) {
    throw_taken_over();
  }
  hold.ended();
}

}  // namespace tarn::versioning
