#include "server/api/json/compare.h"

#include <charconv>

#include "core/base/str_cat.h"
#include "core/base/time.h"
#include "server/api/json/list.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {
namespace {

constexpr size_t kCandidateWordsMax = 1000;
constexpr size_t kBytesPerCell = 80;

promotion::MetricRule metric_of(const Value& value) {
  promotion::MetricRule rule{.name = value.at("name").text(),
                             .split = value.text_or_empty("split")};
  if (rule.name.empty() || rule.name.size() > kMetricNameBytesMax) {
    value.at("name").fail(str_cat("must have 1 to ", kMetricNameBytesMax, " bytes"));
  }
  if (const auto goal = value.find("goal")) {
    rule.goal = promotion::parse_metric_goal(goal->text());
    if (!rule.goal) goal->fail("must be max or min");
  }
  rule.primary = value.flag("primary");
  return rule;
}

size_t position_of(const Value& value) {
  const std::string text = value.text();
  size_t position = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  if (error != std::errc() || end != text.data() + text.size()) {
    value.fail("must be the next_offset of the page before");
  }
  return position;
}

std::string column_name(const promotion::MetricRule& rule) {
  return rule.split.empty() ? rule.name : str_cat(rule.name, "@", rule.split);
}

void write_values(Writer& out, const std::vector<promotion::MetricRule>& columns,
                  const std::vector<promotion::ComparedValue>& values) {
  out.key("metrics");
  out.begin_object();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].value) continue;
    out.named(column_name(columns[i]));
    out.begin_object();
    if (values[i].delta) out.real("delta", *values[i].delta);
    out.text("origin", values[i].origin);
    out.real("value", *values[i].value);
    out.end_object();
  }
  out.end_object();
}

void write_object_totals(Writer& out, std::string_view name,
                         const versioning::ObjectTotals& totals) {
  out.key(name);
  out.begin_object();
  out.number("bytes", static_cast<int64_t>(totals.bytes));
  out.number("objects", static_cast<int64_t>(totals.objects));
  out.end_object();
}

void write_object_changes(Writer& out, const promotion::ObjectChanges& changes) {
  out.key("objects");
  out.begin_object();
  write_object_totals(out, "added", changes.totals.added);
  write_object_totals(out, "changed", changes.totals.changed);
  out.boolean("complete", changes.complete);
  write_object_totals(out, "removed", changes.totals.removed);
  out.end_object();
}

void write_named(Writer& out, const branch::NamedCommit& named) {
  if (!named.branch.empty()) out.text("branch", named.branch);
  out.text("commit_id", to_text(named.commit.id));
  out.text("creation_date", to_rfc3339(named.commit.created));
  out.text("ref", named.ref);
}

void write_row(Writer& out, const std::vector<promotion::MetricRule>& columns,
               const promotion::CompareRow& row) {
  out.begin_object();
  if (row.ancestor) out.text("ancestor_commit_id", to_text(*row.ancestor));
  write_named(out, row.candidate);
  if (row.compared.rank) {
    out.boolean("dominated", row.compared.dominated);
    out.number("rank", static_cast<int64_t>(*row.compared.rank));
  }
  write_values(out, columns, row.compared.metrics);
  if (row.objects) write_object_changes(out, *row.objects);
  out.text_map("params", row.compared.params);
  out.texts("warnings", row.compared.warnings);
  out.end_object();
}

void write_columns(Writer& out, const std::vector<promotion::MetricRule>& columns) {
  out.key("metrics");
  out.begin_array();
  for (const promotion::MetricRule& column : columns) {
    out.begin_object();
    if (column.goal) out.text("goal", promotion::name_of(*column.goal));
    out.text("name", column.name);
    out.boolean("primary", column.primary);
    if (!column.split.empty()) out.text("split", column.split);
    out.end_object();
  }
  out.end_array();
}

}  // namespace

promotion::CompareQuestion parse_compare(const Value& body) {
  promotion::CompareQuestion out;
  const Value candidates = body.at("candidates");
  out.candidates = candidates.texts(kCandidateWordsMax);
  if (out.candidates.empty()) candidates.fail("must name a candidate");
  out.baseline = body.find_text("baseline");
  out.policy = body.find_text("policy");
  if (const auto metrics = body.find("metrics")) {
    for (const Value& metric : metrics->items()) out.metrics.push_back(metric_of(metric));
    if (out.metrics.size() > promotion::kComparedMetricsMax) {
      metrics->fail(str_cat("must be at most ", promotion::kComparedMetricsMax));
    }
  }
  if (const auto params = body.find("params")) {
    const auto shown = promotion::parse_params_shown(params->text());
    if (!shown) params->fail("must be changed, all or none");
    out.params = *shown;
  }
  if (const auto objects = body.find("objects")) out.objects = objects->boolean();
  if (const auto after = body.find("after")) out.after = position_of(*after);
  if (const auto amount = body.find_number("amount")) {
    out.limit = static_cast<uint32_t>(amount->integer(1, kPageItemsMax));
  }
  return out;
}

std::string compare_body(const promotion::CompareAnswer& answer, size_t after) {
  const std::vector<promotion::MetricRule>& columns = answer.comparison.metrics;
  Writer out(answer.rows.size() * (columns.size() + 8) * kBytesPerCell);
  out.begin_object();
  if (answer.baseline) {
    out.key("baseline");
    out.begin_object();
    write_named(out, *answer.baseline);
    write_values(out, columns, answer.comparison.baseline);
    out.text_map("params", answer.comparison.baseline_params);
    out.end_object();
  }
  out.number("candidates", static_cast<int64_t>(answer.candidates));
  write_columns(out, columns);
  write_pagination(out, answer.has_more,
                   answer.has_more ? std::to_string(after + answer.rows.size()) : std::string(),
                   answer.rows.size());
  out.key("results");
  out.begin_array();
  for (const promotion::CompareRow& row : answer.rows) write_row(out, columns, row);
  out.end_array();
  out.texts("warnings", answer.comparison.warnings);
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json
