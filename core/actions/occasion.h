// Events as JSON: for receivers of hooks and for rows of queued runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/branch/hooks.h"

namespace tarn::actions {

/// Hooks that hooks' own calls set off: each further turn is one deeper. Deeper ones are refused.
constexpr int kHookDepthMax = 4;

/// The event of a queued run. `depth`: nesting of the hooks that triggered it; 0 = none.
struct QueuedRun {
  branch::HookContext context;
  std::string ref;              ///< where the action files are
  std::string destination_ref;  ///< of a merge
  int depth = 0;
};
std::string to_json(const QueuedRun& run);
/// The commits that the run's refs name by their ids.
std::vector<CommitId> commits_of(const QueuedRun& run);
/// Throws data_loss.
QueuedRun queued_run_from(std::string_view json);

/// The part of an event that describes the hook itself.
struct HookIdentity {
  std::string action;
  std::string hook;
  std::string run;
  std::string step;
};

/// The body of a webhook: a JSON object.
std::string event_body(const branch::HookContext& context, const HookIdentity& identity);
/// The same with the ids of the run, for scripts.
std::string script_action(const branch::HookContext& context, const HookIdentity& identity,
                          std::string_view storage_namespace);

}  // namespace tarn::actions
