#include "server/api/json/hook_run.h"

namespace tarn::api::json {

void write_hook_run(Writer& out, const HookRun& run) {
  out.begin_object();
  out.text("branch", run.branch);
  out.text("commit_id", run.commit ? to_text(*run.commit) : "");
  if (run.ended) out.text("end_time", to_rfc3339(*run.ended));
  if (!run.error.empty()) out.text("error", run.error);
  out.text("event_type", name_of(run.event));
  out.text("run_id", run.id);
  out.text("start_time", to_rfc3339(run.started));
  out.text("status", run.state == HookRunState::kCompleted ? "completed" : "failed");
  out.end_object();
}

std::string hook_run_body(const HookRun& run) {
  Writer out;
  write_hook_run(out, run);
  return std::move(out).take();
}

void write_hook_step(Writer& out, const HookStep& step) {
  out.begin_object();
  out.text("action", step.action);
  out.text("end_time", to_rfc3339(step.ended));
  out.text("hook_id", step.hook);
  out.text("hook_run_id", step.id);
  if (step.status == HookStatus::kSkipped) out.boolean("skipped", true);
  out.text("start_time", to_rfc3339(step.started));
  out.text("status", step.status == HookStatus::kCompleted ? "completed" : "failed");
  out.end_object();
}

RunHooks parse_run_hooks(const Value& body) {
  RunHooks out;
  out.run.ref = body.at("ref").text();
  const Value event = body.at("event");
  const auto known = parse_hook_event(event.text());
  if (!known) event.fail("must be an event such as pre-commit");
  out.run.event = *known;
  out.run.branch = body.text_or_empty("branch");
  out.run.tag = body.text_or_empty("tag");
  out.run.action = body.text_or_empty("action");
  out.dry_run = body.flag("dry_run");
  return out;
}

std::string plan_body(std::span<const versioning::PlannedHook> plan) {
  Writer out;
  out.begin_object();
  out.boolean("dry_run", true);
  out.key("hooks");
  out.begin_array();
  for (const versioning::PlannedHook& hook : plan) {
    out.begin_object();
    out.text("action", hook.action);
    out.text("file", hook.file);
    out.text("hook_id", hook.hook);
    out.text("if", hook.condition);
    out.text("ref", hook.ref);
    out.text("type", hook.type);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json
