#include <algorithm>
#include <array>
#include <string>

#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/branch/engine.h"
#include "core/jobs/jobs.h"
#include "core/jobs/operation_runner.h"
#include "core/objects/cache_warming.h"
#include "core/verify/verify_job.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/document.h"
#include "server/api/json/import.h"
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

namespace {

using verify::Finding;
using verify::FindingKind;
using verify::Severity;
using verify::VerifyReport;

// In the order of RepairMode.
constexpr std::array<std::string_view, 3> kRepairs = {"none", "plan", "apply"};
// In the order of ObjectMode.
constexpr std::array<std::string_view, 3> kModes = {"none", "sample", "all"};

void write_counts(json::Writer& out, const VerifyReport& report) {
  const auto count = [&out](std::string_view name, uint64_t value) {
    out.number(name, static_cast<int64_t>(value));
  };
  count("refs", report.refs);
  count("commits", report.commits);
  count("nodes", report.nodes);
  count("entries", report.entries);
  count("staged", report.staged);
  count("versions", report.versions);
  count("part_lists", report.part_lists);
  count("objects", report.objects);
  count("objects_checked", report.objects_checked);
  count("objects_compared", report.objects_compared);
  count("bytes_read", report.bytes_read);
}

void write_totals(json::Writer& out, const VerifyReport& report) {
  out.key("totals");
  out.begin_object();
  for (size_t kind = 0; kind < verify::kFindingKinds; ++kind) {
    if (report.totals[kind] == 0) continue;
    out.number(name_of(static_cast<FindingKind>(kind)), static_cast<int64_t>(report.totals[kind]));
  }
  out.end_object();
}

void write_finding(json::Writer& out, const Finding& finding) {
  out.begin_object();
  out.text("kind", name_of(finding.kind));
  out.text("severity", severity_of(finding.kind) == Severity::kError ? "error" : "warning");
  if (!finding.path.empty()) out.text("path", finding.path);
  if (!finding.after.empty()) out.text("after", finding.after);
  out.texts("refs", finding.refs);
  if (!finding.commit.empty()) out.text("commit", finding.commit);
  if (!finding.address.empty()) out.text("address", finding.address);
  out.text("expected", finding.expected);
  out.text("found", finding.found);
  out.end_object();
}

std::string verification_status_body(const verify::VerifyStatus& status) {
  const VerifyReport& report = status.report;
  json::Writer out;
  out.begin_object();
  out.text("id", status.id);
  out.text("state", name_of(status.state));
  out.text("update_time", to_rfc3339(status.updated));
  if (!status.options.ref.empty()) out.text("ref", status.options.ref);
  out.text("objects_mode", kModes[static_cast<size_t>(status.options.objects.mode)]);
  out.boolean("deep", status.options.objects.deep);
  out.key("examined");
  out.begin_object();
  write_counts(out, report);
  out.end_object();
  out.number("errors", static_cast<int64_t>(report.errors()));
  out.number("warnings", static_cast<int64_t>(report.warnings()));
  write_totals(out, report);
  out.key("findings");
  out.begin_array();
  for (const Finding& finding : report.findings) write_finding(out, finding);
  out.end_array();
  if (status.options.repair != verify::RepairMode::kNone) {
    out.text("repair", kRepairs[static_cast<size_t>(status.options.repair)]);
    out.key("repairs");
    out.begin_array();
    for (const Finding& repair : report.repairs) write_finding(out, repair);
    out.end_array();
  }
  if (!status.error.empty()) {
    out.key("error");
    out.begin_object();
    out.text("message", status.error);
    out.end_object();
  }
  out.end_object();
  return std::move(out).take();
}

}  // namespace

/// Verification options. Throws invalid_argument.
verify::RepositoryVerification parse_verification(const json::Value& body) {
  verify::RepositoryVerification out;
  out.ref = body.text_or_empty("ref");
  out.objects.deep = body.flag("deep");
  if (const auto mode = body.find("objects")) {
    const std::string word = mode->text();
    size_t index = 0;
    while (index < kModes.size() && kModes[index] != word) ++index;
    if (index == kModes.size()) mode->fail("must be none, sample or all");
    out.objects.mode = static_cast<verify::ObjectMode>(index);
  }
  if (const auto mode = body.find("repair")) {
    const std::string word = mode->text();
    const auto at = std::find(kRepairs.begin(), kRepairs.end(), word);
    if (at == kRepairs.end()) mode->fail("must be none, plan or apply");
    out.repair = static_cast<verify::RepairMode>(at - kRepairs.begin());
    if (out.repair != verify::RepairMode::kNone && !out.ref.empty())
      mode->fail("is of the whole repository, not of a ref");
  }
  if (out.objects.deep && out.objects.mode == verify::ObjectMode::kNone)
    body.at("objects").fail("must not be none with deep");
  return out;
}

http::Response start_verification(const Context& context, Call& call,
                                  verify::RepositoryVerification given) {
  return json_response(202, json::id_body(verify::start_verify(context.engine, call.repository(),
                                                               given, call.caller.user.name)));
}

http::Response get_verification(const Context& context, Call& call) {
  return json_response(200, verification_status_body(verify::verify_status(
                                context.engine, call.repository(), call.path("verification"))));
}

http::Response cancel_verification(const Context& context, Call& call) {
  verify::cancel_verify(context.engine, call.repository(), call.path("verification"));
  return empty_response(204);
}

http::Response warm_cache(const Context& context, Call& call) {
  const RepositoryName repository = call.repository();
  const objects::Warmed warmed = objects::warm_cache(
      context.engine, repository, call.path("ref"),
      {.prefix = std::string(call.parameter("prefix")),
       .after = std::string(call.parameter("after")),
       .allow = [&](std::string_view path) {
         call.require_permission(auth::Action::kReadObject,
                                 auth::object_arn(repository.str(), call.path("ref"), path));
       }});
  json::Writer out;
  out.begin_object();
  json::write_pagination(out, warmed.has_more, warmed.has_more ? warmed.next : "", 0);
  out.number("objects", static_cast<int64_t>(warmed.objects));
  out.number("copied", static_cast<int64_t>(warmed.copied));
  out.number("copied_bytes", static_cast<int64_t>(warmed.copied_bytes));
  out.number("present", static_cast<int64_t>(warmed.present));
  out.number("left_out", static_cast<int64_t>(warmed.left_out));
  out.number("missing", static_cast<int64_t>(warmed.missing));
  out.end_object();
  return json_response(200, std::move(out).take());
}

}  // namespace tarn::api
