#include "server/api/json/operation.h"

#include <string_view>

#include "core/base/time.h"

namespace tarn::api::json {
namespace {

std::string_view state_of(const Operation& operation) {
  switch (operation.state) {
    case OperationState::kRunning:
      return operation.cancel_requested ? "cancelling" : "running";
    case OperationState::kDone:
      return "done";
    case OperationState::kFailed:
      return "failed";
    case OperationState::kLost:
      return "lost";
    case OperationState::kCancelled:
      return "cancelled";
  }
  return "failed";
}

constexpr std::string_view kLostBody =
    R"({"message":"the server that ran this operation stopped: look whether it took effect and repeat it if not",)"
    R"("code":"operation_lost"})";

}  // namespace

void write_operation(Writer& out, const Operation& operation) {
  const bool lost = operation.state == OperationState::kLost;
  const std::string_view body = lost ? kLostBody : operation.body;
  out.begin_object();
  out.text("id", operation.id);
  out.text("operation", operation.name);
  out.text("target", operation.target);
  out.text("state", state_of(operation));
  out.text("created", to_rfc3339(operation.created));
  out.text("updated", to_rfc3339(operation.updated));
  if (operation.state != OperationState::kRunning)
    out.number("status", lost ? 503 : operation.status);
  if (!body.empty()) out.document("result", body);
  out.end_object();
}

std::string operation_body(const Operation& operation) {
  Writer out(512 + operation.body.size());
  write_operation(out, operation);
  return std::move(out).take();
}

void write_job(Writer& out, const jobs::ListedJob& job, bool is_readable) {
  out.begin_object();
  out.text("id", job.id);
  out.text("kind", job.kind);
  if (!is_readable) out.boolean("hidden", true);
  if (is_readable && !job.repository.empty()) out.text("repository", job.repository);
  if (is_readable && !job.branch.empty()) out.text("branch", job.branch);
  out.text("state", name_of(job.state));
  out.number("progress", job.progress);
  if (is_readable && !job.error.empty()) out.text("error", job.error);
  out.text("user", job.owner);
  out.text("created", to_rfc3339(job.created));
  out.text("updated", to_rfc3339(job.updated));
  out.end_object();
}

}  // namespace tarn::api::json
