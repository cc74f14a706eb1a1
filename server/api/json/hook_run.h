// Bodies about runs of hooks.
#pragma once

#include <span>
#include <string>

#include "core/events/hook_runs.h"
#include "core/model/hook_run.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_hook_run(Writer& out, const HookRun& run);
std::string hook_run_body(const HookRun& run);
/// Clients know completed and failed alone: one that never started is failed, with "skipped".
void write_hook_step(Writer& out, const HookStep& step);

struct RunHooks {
  versioning::HandRun run;
  bool dry_run = false;
};
/// Throws invalid_argument.
RunHooks parse_run_hooks(const Value& body);
/// {"dry_run": true, "hooks": [...]}
std::string plan_body(std::span<const versioning::PlannedHook> plan);

}  // namespace tarn::api::json
