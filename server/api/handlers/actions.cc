#include "core/base/str_cat.h"
#include "core/events/hook_runs.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/hook_run.h"
#include "server/api/json/list.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerRun = 300;

}  // namespace

http::Response list_runs(const Context& context, Call& call) {
  const Page<HookRun> page =
      versioning::list_hook_runs(context.engine, call.repository(),
                                 {.branch = std::string(call.parameter("branch")),
                                  .commit = std::string(call.parameter("commit")),
                                  .after = std::string(call.parameter("after")),
                                  .limit = call.amount()});
  return json_response(200, json::list_of(page, kBytesPerRun, json::write_hook_run));
}

http::Response get_run(const Context& context, Call& call) {
  return json_response(200, json::hook_run_body(versioning::get_hook_run(
                                context.engine, call.repository(), call.path("run_id"))));
}

http::Response list_run_hooks(const Context& context, Call& call) {
  const Page<HookStep> page =
      versioning::list_hook_steps(context.engine, call.repository(), call.path("run_id"),
                                  call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerRun, json::write_hook_step));
}

http::Response get_hook_output(const Context& context, Call& call) {
  const std::string& step = call.path("hook_run_id");
  http::Response response;
  response.body =
      versioning::get_hook_output(context.engine, call.repository(), call.path("run_id"), step);
  response.headers.add("Content-Type", "application/octet-stream");
  // The id is one of ours, or there would be no output.
  response.headers.add("Content-Disposition", str_cat("attachment; filename=", step, ".log"));
  return response;
}

http::Response run_hooks(const Context& context, Call& call, json::RunHooks given) {
  if (given.dry_run) {
    return json_response(
        200, json::plan_body(versioning::plan_hooks(context.engine, call.repository(), given.run)));
  }
  return json_response(201, json::hook_run_body(versioning::run_hooks(
                                context.engine, call.repository(), given.run)));
}
JsonHandler run_hooks() { return json_handler<json::parse_run_hooks, run_hooks>; }

}  // namespace tarn::api
