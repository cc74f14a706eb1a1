#include "server/api/json/run.h"

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/time.h"
#include "core/metrics/metric_globs.h"
#include "core/model/commit.h"
#include "server/api/json/values.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {
namespace {

constexpr size_t kBytesPerRun = 800;
constexpr size_t kBytesPerPoint = 60;

double number_of(const Value& value) {
  const auto number = parse_number(value.scalar_text());
  if (!number) value.fail("expected a number");
  return *number;
}

std::vector<RunMetric> metrics_of(const Value& metrics) {
  std::vector<RunMetric> out;
  if (metrics.is_array()) {
    for (const Value& metric : metrics.items()) {
      out.push_back(
          {metric.at("name").text(), number_of(metric.at("value")), metric.text_or_empty("split")});
    }
  } else {
    for (const auto& [name, value] : metrics.members()) out.push_back({name, number_of(value)});
  }
  return out;
}

std::map<std::string, std::string> params_of(const Value& body) {
  std::map<std::string, std::string> out;
  if (const auto params = body.find("params")) {
    for (const auto& [name, value] : params->members()) out[name] = value.scalar_text();
  }
  return out;
}

RunSource source_of(const Value& body) {
  const auto source = body.find("source");
  if (!source) return {};
  return {.git_sha = source->text_or_empty("git_sha"),
          .ci_url = source->text_or_empty("ci_url"),
          .user = source->text_or_empty("user")};
}

RunLabels labels_of(const Value& body) {
  runs::RunLabelsChange given = parse_run_labels(body);
  return {.name = std::move(given.name).value_or(""),
          .notes = std::move(given.notes).value_or(""),
          .tags = std::move(given.tags).value_or(std::set<std::string>())};
}

std::string commit_text(const CommitId& commit) {
  return commit == CommitId{} ? "" : to_text(commit);
}

/// A name would mean another commit once it has moved, whose bytes nobody measured.
CommitId measured_commit(const Value& body) {
  const auto commit = body.find("commit");
  if (body.find("ref").has_value() == commit.has_value()) {
    body.fail("expected either the field \"ref\" or the field \"commit\"");
  }
  const Value given = commit ? *commit : body.at("ref");
  if (const auto id = parse_commit_id(given.text())) return *id;
  throw Error(ErrorCode::kInvalidArgument, reason::kCommitIdNeeded,
              str_cat(commit ? "commit" : "ref",
                      ": a run names the commit that was measured by its whole id of 64 hex "
                      "digits; a branch, tag or alias may have moved since. tarn commit prints the "
                      "id (-o json: id), and tarn show REF that of another commit"));
}

void write_metric(Writer& out, const Metric& metric) {
  out.begin_object();
  out.text("name", metric.name);
  out.text("origin", metric.origin_text());
  out.text("source", metric.source);
  if (!metric.split.empty()) out.text("split", metric.split);
  out.real("value", metric.value);
  out.end_object();
}

void write_run_members(Writer& out, const Run& run) {
  out.key("artifacts");
  out.begin_array();
  for (const std::string& glob : run.artifacts) out.text(glob);
  out.end_array();
  out.text("branch", run.branch);
  out.text("commit_id", commit_text(run.commit));
  out.text("creation_date", to_rfc3339(run.created));
  out.text("experiment", run.experiment);
  out.text("id", run.id);
  out.key("metrics");
  out.begin_array();
  for (const RunMetric& metric : run.metrics) {
    out.begin_object();
    out.text("name", metric.name);
    if (!metric.split.empty()) out.text("split", metric.split);
    out.real("value", metric.value);
    out.end_object();
  }
  out.end_array();
  out.text("name", run.labels.name);
  out.text("notes", run.labels.notes);
  out.text("owner", run.owner);
  out.text_map("params", run.params);
  out.text("seen_date", to_rfc3339(run.seen));
  out.key("source");
  out.begin_object();
  out.text("ci_url", run.source.ci_url);
  out.text("git_sha", run.source.git_sha);
  out.text("user", run.source.user);
  out.end_object();
  out.text("state", to_text(run.state));
  out.texts("tags", {run.labels.tags.begin(), run.labels.tags.end()});
}

}  // namespace

runs::RunLabelsChange parse_run_labels(const Value& body) {
  runs::RunLabelsChange out{.name = body.find_text("name"), .notes = body.find_text("notes")};
  if (const auto tags = body.find("tags")) {
    const auto texts = tags->texts(kRunTagsMax);
    out.tags.emplace(texts.begin(), texts.end());
  }
  return out;
}

runs::RunStart parse_start_run(const Value& body) {
  return {.experiment = {},
          .branch = body.text_or_empty("branch"),
          .params = params_of(body),
          .source = source_of(body),
          .labels = labels_of(body),
          .owner = {},
          .idempotency_key = body.find_text("idempotency_key")};
}

runs::RunBatch parse_run_steps(const Value& body) {
  runs::RunBatch out{.params = params_of(body)};
  const auto steps = body.find("steps");
  if (!steps) return out;
  std::map<std::string, std::vector<Point>> curves;
  for (const Value& item : steps->items()) {
    const int64_t step = item.at("step").integer(0, runs::kRunStepMax);
    for (const auto& [name, value] : item.at("metrics").members()) {
      curves[name].push_back({step, value.number()});
    }
  }
  for (auto& [name, points] : curves) out.curves.push_back({.name = name, .points = points});
  return out;
}

RunState parse_end_run(const Value& body) {
  const Value given = body.at("state");
  const std::string text = given.text();
  for (const RunState state : {RunState::kFinished, RunState::kFailed}) {
    if (to_text(state) == text) return state;
  }
  given.fail("expected \"finished\" or \"failed\"");
}

RecordRun parse_record_run(const Value& body) {
  RecordRun out;
  out.commit = measured_commit(body);
  out.branch = body.text_or_empty("branch");
  out.run = body.text_or_empty("run");
  if (body.find("state")) out.state = parse_end_run(body);
  out.params = params_of(body);
  if (const auto metrics = body.find("metrics")) {
    out.metrics = metrics_of(*metrics);
  }
  if (const auto artifacts = body.find("artifacts")) {
    out.artifacts = artifacts->texts(kRunArtifactsMax);
  }
  if (const auto objects = body.find("objects")) {
    out.objects = parse_expected_objects(*objects, kRunObjectsMax);
  }
  out.source = source_of(body);
  out.labels = labels_of(body);
  out.idempotency_key = body.find_text("idempotency_key");
  return out;
}

std::string run_body(const Run& run) {
  Writer out;
  out.begin_object();
  write_run_members(out, run);
  out.key("objects");
  out.begin_array();
  for (const auto& [path, digest] : run.objects) {
    out.begin_object();
    out.text("path", path);
    out.text("sha256", to_hex(digest));
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

std::string run_columns_body(const std::vector<std::string>& columns) {
  Writer out;
  out.begin_object();
  out.texts("columns", columns);
  out.end_object();
  return std::move(out).take();
}

std::string run_list_body(const runs::RunList& list) {
  Writer out(0);
  out.begin_object();
  write_page(out, list.page, kBytesPerRun, [](Writer& to, const ListedRun& listed) {
    to.begin_object();
    write_run_members(to, listed.run);
    to.key("commit_metrics");
    to.begin_array();
    for (const Metric& metric : listed.commit_metrics) write_metric(to, metric);
    to.end_array();
    to.text_map("commit_params", listed.commit_params);
    to.end_object();
  });
  out.texts("warnings", list.warnings);
  out.end_object();
  return std::move(out).take();
}

std::string commit_facts_body(const CommitFacts& facts) {
  Writer out;
  out.begin_object();
  out.text("commit_id", to_text(facts.commit));
  out.key("metrics");
  out.begin_array();
  for (const Metric& metric : facts.metrics) write_metric(out, metric);
  out.end_array();
  out.text_map("params", facts.params);
  out.key("warnings");
  out.begin_array();
  for (const std::string& warning : facts.warnings) out.text(warning);
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

void write_series_point(Writer& out, size_t index, const Point& point) {
  out.begin_object();
  out.number("index", static_cast<int64_t>(index));
  out.number("step", point.step);
  out.real("value", point.value);
  out.end_object();
}

std::string run_curves_body(const std::vector<runs::RunCurve>& curves) {
  size_t points = 0;
  for (const runs::RunCurve& curve : curves) points += curve.points.items.size();
  Writer out(points * kBytesPerPoint + curves.size() * kBytesPerRun);
  out.begin_object();
  out.key("results");
  out.begin_array();
  for (const runs::RunCurve& curve : curves) {
    out.begin_object();
    out.text("commit_id", commit_text(curve.commit));
    out.boolean("has_more", curve.points.has_more);
    out.text("next_offset", curve.points.next);
    out.key("points");
    out.begin_array();
    for (const runs::SeriesPoint& item : curve.points.items) {
      write_series_point(out, item.index, item.point);
    }
    out.end_array();
    out.text("run", curve.run);
    out.boolean("sampled", curve.sampled);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

std::string metric_globs_body(const std::vector<std::string>& globs) {
  Writer out;
  out.begin_object();
  out.key("globs");
  out.begin_array();
  for (const std::string& glob : globs) out.text(glob);
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

std::vector<std::string> parse_metric_globs(const Value& body) {
  std::vector<std::string> globs = body.at("globs").texts(kMetricGlobsMax);
  check_metric_globs(globs);
  return globs;
}

}  // namespace tarn::api::json
