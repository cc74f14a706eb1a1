#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/branch/engine.h"
#include "core/jobs/jobs.h"
#include "core/jobs/operation_runner.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/operation.h"
#include "server/api/json/writer.h"
#include "server/api/preference.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerOperation = 400;
constexpr size_t kBytesPerJob = 300;

[[noreturn]] void throw_no_operation() {
  throw Error(ErrorCode::kNotFound, reason::kOperationNotFound, "operation not found");
}

}  // namespace

http::Response list_operations(const Context& context, Call& call) {
  const auto page =
      context.operations.list(call.caller.user.name, call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerOperation, json::write_operation));
}

http::Response list_jobs(const Context& context, Call& call) {
  const bool everyone = call.flag("everyone");
  if (everyone) call.require_permission(auth::Action::kListUsers, "*");
  const auto owner =
      everyone ? std::nullopt : std::optional<std::string_view>(call.caller.user.name);
  const auto page = context.engine.jobs.list(owner, call.parameter("after"), call.amount());
  const auto write = [&](json::Writer& out, const jobs::ListedJob& job) {
    // The repository's name is that of today, which may have changed since its owner could read it.
    const bool is_readable =
        job.repository.empty() ||
        call.allows(auth::Action::kReadRepository, auth::repository_arn(job.repository));
    json::write_job(out, job, is_readable);
  };
  return json_response(200, json::list_of(page, kBytesPerJob, write));
}

http::Response get_operation(const Context& context, Call& call) {
  const auto wait = preferred_wait(call.request).value_or(std::chrono::seconds{0});
  const auto found =
      context.operations.wait_for(call.caller.user.name, call.path("operation"), wait);
  if (!found) throw_no_operation();
  return json_response(200, json::operation_body(*found));
}

http::Response cancel_operation(const Context& context, Call& call) {
  const std::string& owner = call.caller.user.name;
  const std::string& id = call.path("operation");
  const bool asked = context.operations.request_cancel(owner, id);
  const auto found = context.operations.wait_for(owner, id, {});
  if (!found) throw_no_operation();
  if (!asked) throw Error(ErrorCode::kConflict, reason::kOperationEnded, "the operation has ended");
  return json_response(202, json::operation_body(*found));
}

}  // namespace tarn::api
