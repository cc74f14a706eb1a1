#include "core/runs/runs.h"

#include <charconv>

#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/runs/extraction.h"
#include "core/runs/live_runs.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/run.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerPoint = 60;

/// Index of the first point of the page.
size_t index_from(std::string_view after) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), index);
  if (!after.empty() && (error != std::errc() || end != after.data() + after.size() ||
                         index > runs::kCommitPointsMax)) {
    throw_invalid("argument after: must be the next_offset of a page");
  }
  return index;
}

http::Response list_named_runs(const Context& context, Call& call,
                               const std::vector<std::string>& ids) {
  for (const std::string_view other :
       {"experiment", "branch", "git_sha", "name", "tag", "state", "where", "order", "after"}) {
    if (call.parameter(other).empty()) continue;
    throw_invalid(str_cat("argument id: names the runs, leave ", other, " out"));
  }
  const auto texts = call.query.values("column");
  return json_response(
      200, json::run_list_body(runs::named_runs(
               context.engine, repository_of(context, call), ids,
               texts.empty() ? std::nullopt : std::optional(parse_run_columns(texts)))));
}

}  // namespace

http::Response record_run(const Context& context, Call& call, json::RecordRun given) {
  // The answer tells whether an object has these bytes.
  for (const auto& [path, digest] : given.objects) {
    call.require_permission(auth::Action::kReadObject,
                            auth::object_arn(call.path("repository"), to_text(given.commit), path));
  }
  const runs::RecordedRun recorded =
      runs::record_run(context.engine, repository_of(context, call),
                       {.experiment = call.path("experiment"),
                        .commit = given.commit,
                        .run = std::move(given.run),
                        .state = given.state,
                        .branch = std::move(given.branch),
                        .params = std::move(given.params),
                        .metrics = std::move(given.metrics),
                        .artifacts = std::move(given.artifacts),
                        .objects = std::move(given.objects),
                        .source = std::move(given.source),
                        .labels = std::move(given.labels),
                        .owner = call.caller.user.name,
                        .address = call.request.peer,
                        .idempotency_key = std::move(given.idempotency_key)});
  return json_response(recorded.made ? 201 : 200, json::run_body(recorded.run));
}

http::Response start_run(const Context& context, Call& call, runs::RunStart start) {
  start.experiment = call.path("experiment");
  start.owner = call.caller.user.name;
  const runs::RecordedRun started =
      runs::start_run(context.engine, repository_of(context, call), start);
  return json_response(started.made ? 201 : 200, json::run_body(started.run));
}

http::Response log_run_steps(const Context& context, Call& call, runs::RunBatch batch) {
  runs::write_run(context.engine, repository_of(context, call), parse_run_id(call.path("run")),
                  call.caller.user.name, batch);
  return empty_response(204);
}

http::Response end_run(const Context& context, Call& call, RunState state) {
  return json_response(200, json::run_body(runs::end_run(
                                context.engine, repository_of(context, call),
                                parse_run_id(call.path("run")), call.caller.user.name, state)));
}

http::Response update_run(const Context& context, Call& call, runs::RunLabelsChange change) {
  return json_response(
      200, json::run_body(runs::relabel_run(context.engine, repository_of(context, call),
                                            parse_run_id(call.path("run")),
                                            {.change = std::move(change),
                                             .user = call.caller.user.name,
                                             .address = call.request.peer})));
}

http::Response list_experiment_runs(const Context& context, Call& call) {
  if (const auto ids = call.query.values("id"); !ids.empty())
    return list_named_runs(context, call, ids);
  const auto tags = call.query.values("tag");
  runs::RunQuery query{.experiment = std::string(call.parameter("experiment")),
                       .branch = std::string(call.parameter("branch")),
                       .git_sha = std::string(call.parameter("git_sha")),
                       .name = std::string(call.parameter("name")),
                       .tags = {tags.begin(), tags.end()},
                       .state = std::nullopt,
                       .where = {},
                       .order = parse_run_order(call.parameter("order")),
                       .columns = std::nullopt,
                       .after = std::string(call.parameter("after")),
                       .limit = call.amount()};
  if (const auto state = call.parameter("state"); !state.empty()) {
    query.state = parse_run_state(state);
  }
  for (const std::string& text : call.query.values("where")) {
    query.where.push_back(parse_run_condition(text));
  }
  if (const auto columns = call.query.values("column"); !columns.empty()) {
    query.columns = parse_run_columns(columns);
  }
  return json_response(200, json::run_list_body(runs::list_runs(
                                context.engine, repository_of(context, call), query)));
}

http::Response list_run_columns(const Context& context, Call& call) {
  const auto columns = runs::run_columns(context.engine, repository_of(context, call));
  return json_response(200, json::run_columns_body(columns));
}

http::Response get_experiment_run(const Context& context, Call& call) {
  return json_response(200,
                       json::run_body(runs::get_run(context.engine, repository_of(context, call),
                                                    parse_run_id(call.path("run")))));
}

http::Response get_commit_metrics(const Context& context, Call& call) {
  return json_response(
      200, json::commit_facts_body(runs::ref_facts(
               context.engine, repository_of(context, call), call.path("commitId"),
               {.names = call.query.values("name"), .bare_names = call.query.values("bare")})));
}

http::Response get_metric_series(const Context& context, Call& call) {
  const auto page = runs::metric_series(context.engine, repository_of(context, call),
                                        call.path("commitId"), call.parameter("metric"),
                                        call.parameter("split"), call.parameter("source"),
                                        index_from(call.parameter("after")), call.amount());
  return json_response(200, json::list_of(page, kBytesPerPoint,
                                          [](json::Writer& out, const runs::SeriesPoint& item) {
                                            json::write_series_point(out, item.index, item.point);
                                          }));
}

http::Response list_metric_series(const Context& context, Call& call) {
  return json_response(200,
                       json::run_curves_body(runs::run_curves(
                           context.engine, repository_of(context, call), call.query.values("run"),
                           call.parameter("metric"), call.parameter("split"), call.amount())));
}

http::Response get_metric_files(const Context& context, Call& call) {
  const auto globs = runs::get_metric_globs(context.engine, repository_of(context, call));
  return json_response(200, json::metric_globs_body(globs.value));
}

http::Response set_metric_files(const Context& context, Call& call,
                                std::vector<std::string> globs) {
  runs::set_metric_globs(context.engine, repository_of(context, call), globs, {});
  return empty_response(204);
}
}  // namespace tarn::api
