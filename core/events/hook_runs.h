// Verbs on runs of hooks: listing them, and running hooks by hand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/hooks.h"
#include "core/events/hook_run_store.h"
#include "core/model/repository.h"

namespace tarn::events {

// All throw not_found "repository not found" or, with a run, "not found".

/// `branch` or `commit` (a ref) or neither. Throws invalid_argument for both.
struct RunListing {
  std::string branch{};
  std::string commit{};
  std::string after{};
  uint32_t limit = 100;
  bool running = false;  ///< runs too that have not ended
};
/// The newest first.
Page<HookRun> list_hook_runs(branch::Engine& engine, const Repository& repository,
                             const RunListing& listing);
/// One that has ended; with `running` any.
HookRun get_hook_run(branch::Engine& engine, const Repository& repository, const std::string& id,
                     bool running = false);
/// The steps of such a run. Steps that have not begun are not listed.
Page<HookStep> list_hook_steps(branch::Engine& engine, const Repository& repository,
                               const std::string& run, std::string_view after, uint32_t limit,
                               bool running = false);
/// The output so far of a step that runs: at most kLiveOutputInterval older than the hook's, or
/// more if it is long.
std::string get_hook_output(branch::Engine& engine, const Repository& repository,
                            const std::string& run, const std::string& step);

/// An event that did not happen.
struct HandRun {
  std::string ref;  ///< where the action files are; of a merge the source
  HookEvent event{};
  std::string branch{};  ///< of the event; "" = the ref's, when it is one; of a merge needed
  std::string tag{};     ///< of an event about a tag
  std::string action{};  ///< only this one; "" = every one that waits for the event
};
/// Also throws: invalid_argument (missing parameters of the event; action files; reason
/// "hooks_off": hooks are disabled on this server), not_found (the ref, the branch, reason
/// "action_not_found"), permission_denied (read-only repository). Failed hooks are a result, not an
/// error.
HookRun run_hooks(branch::Engine& engine, const Repository& repository, const HandRun& given);
/// A dry run: the hooks that would run. Throws as run_hooks.
std::vector<branch::PlannedHook> plan_hooks(branch::Engine& engine, const Repository& repository,
                                            const HandRun& given);

}  // namespace tarn::events
