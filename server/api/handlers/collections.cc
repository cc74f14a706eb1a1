// Garbage collection: plans, runs, holds.
#include <charconv>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/hooks.h"
#include "core/branch/store_owner.h"
#include "core/gc/collection_plan.h"
#include "core/gc/collection_requests.h"
#include "core/gc/early_expiry.h"
#include "core/gc/holds.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/values.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

/// Lines of one list of planned objects, about 100 bytes each.
constexpr size_t kPlannedObjectsMax = 100'000;
constexpr size_t kBytesPerCollection = 600;
constexpr size_t kBytesPerHold = 400;
constexpr size_t kBytesPerExpiry = 400;

void write_counts(json::Writer& out, const gc::CollectionCounts& counts) {
  out.number("stored_objects", counts.stored_objects);
  out.number("live_objects", counts.live_objects);
  out.number("waiting_objects", counts.waiting_objects);
  out.number("waiting_bytes", counts.waiting_bytes);
  out.number("due_objects", counts.due_objects);
  out.number("due_bytes", counts.due_bytes);
  out.number("strangers", counts.strangers);
}

void write_groups(json::Writer& out, std::string_view name,
                  const std::map<gc::GarbageOrigin, gc::GarbageSize>& groups) {
  out.key(name);
  out.begin_array();
  for (const auto& [origin, size] : groups) {
    out.begin_object();
    out.text("reason", gc::name_of(origin.reason));
    if (!origin.branch.empty()) out.text("branch", origin.branch);
    out.number("objects", size.objects);
    out.number("bytes", size.bytes);
    out.end_object();
  }
  out.end_array();
}

/// The rate and the time left, as far as the step can tell.
void write_progress(json::Writer& out, const gc::CollectionRun& run, Instant now) {
  out.key("progress");
  out.begin_object();
  out.text("step", run.step);
  out.text("start_date", to_rfc3339(run.step_started));
  out.number("done", run.step_done);
  if (run.step_total > 0) out.number("total", run.step_total);
  const int64_t taken_ms = to_millis(now) - to_millis(run.step_started);
  const int64_t rate = taken_ms > 0 ? run.step_done * 1000 / taken_ms : 0;
  if (rate > 0) {
    out.number("rate_per_second", rate);
    if (run.step_total >= run.step_done) {
      out.number("seconds_left", (run.step_total - run.step_done) / rate);
    }
  }
  out.end_object();
}

void write_run(json::Writer& out, const gc::CollectionRun& run, Instant now) {
  out.begin_object();
  out.number("run", run.run);
  out.text("state", run.state);
  if (!run.actor.empty()) out.text("actor", run.actor);
  out.text("start_date", to_rfc3339(run.started));
  if (run.ended) out.text("end_date", to_rfc3339(*run.ended));
  if (!run.error.empty()) out.text("error", run.error);
  if (!run.cancelled_by.empty()) out.text("cancelled_by", run.cancelled_by);
  if (run.state == "running" && !run.step.empty()) write_progress(out, run, now);
  write_counts(out, run.counts);
  out.number("found_objects", run.counts.found_objects);
  out.number("found_bytes", run.counts.found_bytes);
  out.number("removed_objects", run.counts.removed_objects);
  out.number("removed_bytes", run.counts.removed_bytes);
  out.number("rescued_objects", run.counts.rescued_objects);
  out.number("removed_commits", run.counts.removed_commits);
  out.number("removed_nodes", run.counts.removed_nodes);
  out.number("removed_part_lists", run.counts.removed_part_lists);
  out.number("expired_commits", run.counts.expired_commits);
  out.number("removed_unfinished", run.counts.removed_unfinished);
  out.number("failed_objects", run.counts.failed_objects);
  out.texts("failures", run.failures);
  write_groups(out, "removed", run.removed);
  out.end_object();
}

void write_hold(json::Writer& out, const gc::Hold& hold) {
  out.begin_object();
  out.text("id", hold.id);
  out.text("commit_id", to_text(hold.commit));
  if (!hold.path.empty()) out.text("path", hold.path);
  out.text("reason", hold.reason);
  out.text("actor", hold.actor);
  out.text("creation_date", to_rfc3339(hold.created));
  if (hold.until) out.text("until", to_rfc3339(*hold.until));
  out.end_object();
}

void write_expiry(json::Writer& out, const gc::Expiry& expiry) {
  out.begin_object();
  out.text("id", std::to_string(expiry.number));
  out.text("commit_id", to_text(expiry.commit));
  out.text("rule", expiry.rule);
  if (!expiry.actor.empty()) out.text("actor", expiry.actor);
  if (!expiry.reason.empty()) out.text("reason", expiry.reason);
  out.text("date", to_rfc3339(expiry.at));
  out.end_object();
}

}  // namespace

HoldBody parse_hold(const json::Value& body) {
  HoldBody out{.ref = body.at("ref").text(), .reason = body.at("reason").text()};
  if (const auto path = body.find("path")) out.path = path->text();
  if (const auto until = body.find("until")) out.until = json::parse_deadline(*until);
  return out;
}

RunRequest parse_run_request(const json::Value& body) {
  RunRequest out;
  if (const auto percent = body.find_number("yes_delete")) {
    const int64_t given = percent->integer();
    if (given < 1 || given > 100) percent->fail("must be 1 to 100, a percentage");
    out.share_max = static_cast<uint32_t>(given);
  }
  if (const auto adopt = body.find("adopt")) out.adopt = adopt->boolean();
  return out;
}

ExpiryBody parse_expiry(const json::Value& body) {
  return {.ref = body.at("ref").text(), .reason = body.at("reason").text()};
}

http::Response plan_collection(const Context& context, Call& call) {
  const gc::CollectionPlan plan =
      gc::plan_collection(context.engine, repository_of(context, call), context.collection, {});
  const gc::CollectionCounts& counts = plan.counts;
  json::Writer out;
  out.begin_object();
  write_counts(out, counts);
  out.number("commits", counts.removed_commits);
  out.number("part_lists", counts.removed_part_lists);
  out.number("expiring_commits", counts.expired_commits);
  out.number("grace_seconds", context.collection.grace.count());
  write_groups(out, "groups", plan.groups.sizes());
  out.key("ages");
  out.begin_array();
  for (const gc::GarbageAge& age : plan.ages) {
    out.begin_object();
    if (age.days_max > 0) out.number("days_max", age.days_max);
    out.number("objects", age.size.objects);
    out.number("bytes", age.size.bytes);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return json_response(200, std::move(out).take());
}

http::Response list_planned_objects(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  std::string lines;
  size_t listed = 0;
  gc::plan_collection(context.engine, repository, context.collection,
                      [&](const gc::PlannedObject& object) {
                        if (++listed > kPlannedObjectsMax) return;
                        json::Writer line;
                        line.begin_object();
                        line.text("path", relative_path(object.address));
                        line.number("size_bytes", static_cast<int64_t>(object.size_bytes));
                        line.text("creation_date", to_rfc3339(created_at(object.address)));
                        line.boolean("due", object.due);
                        line.text("reason", gc::name_of(object.origin.reason));
                        if (!object.origin.branch.empty()) {
                          line.text("branch", object.origin.branch);
                        }
                        line.end_object();
                        lines += std::move(line).take();
                      });
  http::Response response = text_response(200, std::move(lines));
  response.headers.set("Content-Type", "application/x-ndjson");
  response.headers.add("X-Tarn-Objects", std::to_string(listed));
  return response;
}

http::Response list_collections(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  const auto runs = gc::list_collections(context.engine, repository, call.amount());
  json::Writer out(runs.size() * kBytesPerCollection);
  out.begin_object();
  const auto request = gc::requested_collection(context.engine, repository);
  out.boolean("requested", request.has_value());
  if (request && request->retry) {
    out.text("retry_date", to_rfc3339(*request->retry));
    out.number("retries_left", request->retries_left);
  }
  json::write_pagination(out, false, "", runs.size());
  out.key("results");
  out.begin_array();
  for (const gc::CollectionRun& run : runs) write_run(out, run, context.clock.now());
  out.end_array();
  out.end_object();
  return json_response(200, std::move(out).take());
}

http::Response get_collection(const Context& context, Call& call) {
  const std::string_view given = call.path("run");
  int64_t number = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
  if (error != std::errc() || end != given.data() + given.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                str_cat("garbage collection \"", given, "\": is no number"));
  }
  json::Writer out(kBytesPerCollection);
  write_run(out, gc::get_collection(context.engine, repository_of(context, call), number),
            context.clock.now());
  return json_response(200, std::move(out).take());
}

http::Response cancel_collection(const Context& context, Call& call) {
  gc::cancel_collection(context.engine, repository_of(context, call), call.caller.user.name);
  return empty_response(202);
}

http::Response request_collection(const Context& context, Call& call, RunRequest given) {
  const Repository repository = repository_of(context, call);
  if (given.adopt) context.engine.owners.adopt(repository);
  gc::request_collection(context.engine, repository, call.caller.user.name, given.share_max);
  return empty_response(202);
}

http::Response list_expiries(const Context& context, Call& call) {
  const auto page = gc::list_expiries(context.engine, repository_of(context, call),
                                      call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerExpiry, write_expiry));
}

http::Response expire_commit(const Context& context, Call& call, ExpiryBody given) {
  const gc::EarlyExpiryOutcome outcome =
      gc::expire_commit(context.engine, repository_of(context, call),
                        {.ref = given.ref, .reason = given.reason, .actor = call.caller.user.name});
  json::Writer out;
  out.begin_object();
  out.text("commit_id", to_text(outcome.commit));
  out.number("objects", static_cast<int64_t>(outcome.objects));
  out.number("freed_objects", static_cast<int64_t>(outcome.freed_objects));
  out.number("freed_bytes", static_cast<int64_t>(outcome.freed_bytes));
  out.key("shown_by");
  out.begin_array();
  for (const std::string& branch : outcome.shown_by) out.text(branch);
  out.end_array();
  out.end_object();
  return json_response(200, std::move(out).take());
}

http::Response add_hold(const Context& context, Call& call, HoldBody given) {
  gc::HoldRequest request{
      .ref = given.ref, .path = given.path, .reason = given.reason, .actor = call.caller.user.name};
  if (given.until) request.until = given.until->from(context.engine.clock.now());
  json::Writer out;
  write_hold(out, gc::add_hold(context.engine, repository_of(context, call), request));
  return json_response(201, std::move(out).take());
}

http::Response list_holds(const Context& context, Call& call) {
  const auto page = gc::list_holds(context.engine, repository_of(context, call),
                                   call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerHold, write_hold));
}

http::Response remove_hold(const Context& context, Call& call) {
  gc::remove_hold(context.engine, repository_of(context, call), call.path("hold"),
                  call.caller.user.name);
  return empty_response(204);
}

}  // namespace tarn::api
