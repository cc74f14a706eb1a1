#include <span>

#include "core/base/str_cat.h"
#include "core/events/hook_runs.h"
#include "core/model/hook_run.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

using json::Value;
using json::Writer;

constexpr size_t kBytesPerRun = 300;

/// Clients of lakeFS know only completed and failed; the others are shown when they are asked for.
std::string_view status_of(HookRunState state) {
  switch (state) {
    case HookRunState::kQueued:
      return "queued";
    case HookRunState::kRunning:
      return "running";
    case HookRunState::kCompleted:
      return "completed";
    case HookRunState::kFailed:
      return "failed";
  }
  check_failed("HookRunState", __FILE__, __LINE__);
}

/// A step that never started is failed, with "skipped".
std::string_view status_of(HookStatus status) {
  if (status == HookStatus::kRunning) return "running";
  return status == HookStatus::kCompleted ? "completed" : "failed";
}

void write_hook_run(Writer& out, const HookRun& run) {
  out.begin_object();
  out.text("branch", run.branch);
  out.text("commit_id", run.commit ? to_text(*run.commit) : "");
  if (run.ended) out.text("end_time", to_rfc3339(*run.ended));
  if (!run.error.empty()) out.text("error", run.error);
  out.text("event_type", name_of(run.event));
  out.text("run_id", run.id);
  out.text("start_time", to_rfc3339(run.started));
  out.text("status", status_of(run.state));
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
  if (step.ended) out.text("end_time", to_rfc3339(*step.ended));
  out.text("hook_id", step.hook);
  out.text("hook_run_id", step.id);
  if (step.status == HookStatus::kSkipped) out.boolean("skipped", true);
  out.text("start_time", to_rfc3339(step.started));
  out.text("status", status_of(step.status));
  out.end_object();
}

/// {"dry_run": true, "hooks": [...]}
std::string plan_body(std::span<const branch::PlannedHook> plan) {
  Writer out;
  out.begin_object();
  out.boolean("dry_run", true);
  out.key("hooks");
  out.begin_array();
  for (const branch::PlannedHook& hook : plan) {
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

}  // namespace

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

http::Response list_runs(const Context& context, Call& call) {
  const Page<HookRun> page =
      events::list_hook_runs(context.engine, repository_of(context, call),
                             {.branch = std::string(call.parameter("branch")),
                              .commit = std::string(call.parameter("commit")),
                              .after = std::string(call.parameter("after")),
                              .limit = call.amount(),
                              .running = call.flag("running")});
  return json_response(200, json::list_of(page, kBytesPerRun, write_hook_run));
}

http::Response get_run(const Context& context, Call& call) {
  return json_response(
      200, hook_run_body(events::get_hook_run(context.engine, repository_of(context, call),
                                              call.path("run_id"), call.flag("running"))));
}

http::Response list_run_hooks(const Context& context, Call& call) {
  const Page<HookStep> page =
      events::list_hook_steps(context.engine, repository_of(context, call), call.path("run_id"),
                              call.parameter("after"), call.amount(), call.flag("running"));
  return json_response(200, json::list_of(page, kBytesPerRun, write_hook_step));
}

http::Response get_hook_output(const Context& context, Call& call) {
  const std::string& step = call.path("hook_run_id");
  http::Response response;
  response.body = events::get_hook_output(context.engine, repository_of(context, call),
                                          call.path("run_id"), step);
  response.headers.add("Content-Type", "application/octet-stream");
  // The header needs no escaping: output exists only for ids of our own.
  response.headers.add("Content-Disposition", str_cat("attachment; filename=", step, ".log"));
  return response;
}

http::Response run_hooks(const Context& context, Call& call, RunHooks given) {
  if (given.dry_run) {
    return json_response(200, plan_body(events::plan_hooks(
                                  context.engine, repository_of(context, call), given.run)));
  }
  return json_response(201, hook_run_body(events::run_hooks(
                                context.engine, repository_of(context, call), given.run)));
}
}  // namespace tarn::api
