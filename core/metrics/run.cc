#include "core/metrics/run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/glob.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/metrics/metric.h"
#include "core/model/pull_request.h"

namespace tarn {
namespace {

constexpr size_t kIdCharacters = 20;
constexpr size_t kExperimentBytesMax = 128;

void check_text(std::string_view field, std::string_view text, size_t bytes_max) {
  if (text.size() > bytes_max)
    throw_invalid(str_cat(field, ": is longer than ", bytes_max, " bytes"));
  if (text.find('\0') != std::string_view::npos || !is_utf8(text)) {
    throw_invalid(str_cat(field, ": must be UTF-8 without NUL"));
  }
}

void check_name(std::string_view field, std::string_view name, size_t bytes_max) {
  if (name.empty()) throw_invalid(str_cat(field, ": a name must not be empty"));
  check_text(str_cat(field, ": name \"", name.substr(0, bytes_max), "\""), name, bytes_max);
}

/// Text that lists show on one line.
void check_line(std::string_view field, std::string_view text, size_t bytes_max) {
  check_text(field, text, bytes_max);
  if (has_control(text)) throw_invalid(str_cat(field, ": must not have control characters"));
}

void check_count(std::string_view field, size_t count, size_t most) {
  if (count > most) throw_invalid(str_cat(field, ": may be at most ", most));
}

}  // namespace

std::string_view to_text(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kFinished:
      return "finished";
    case RunState::kFailed:
      return "failed";
    case RunState::kStale:
      return "stale";
  }
  return "";
}

RunState parse_run_state(std::string_view text) {
  for (const RunState state :
       {RunState::kRunning, RunState::kFinished, RunState::kFailed, RunState::kStale}) {
    if (to_text(state) == text) return state;
  }
  throw_invalid("state: must be running, finished, failed or stale");
}

std::string make_run_id(Instant now) { return make_pull_request_id(now); }

std::string parse_run_id(std::string_view text) {
  if (text.size() != kIdCharacters || !from_base32hex(text)) {
    throw_invalid("run id: must be 20 characters of 0-9 and a-v");
  }
  return std::string(text);
}

std::string parse_experiment_name(std::string_view text) {
  const bool legal = !text.empty() && text.size() <= kExperimentBytesMax &&
                     std::all_of(text.begin(), text.end(),
                                 [](char c) { return is_word(c) || c == '.' || c == '-'; });
  if (!legal) {
    throw_invalid(str_cat("experiment: must be 1 to ", kExperimentBytesMax,
                          " letters, digits, '.', '_' or '-'"));
  }
  return std::string(text);
}

void check_run_labels(const RunLabels& labels) {
  check_line("name", labels.name, kRunNameBytesMax);
  check_text("notes", labels.notes, kRunNotesBytesMax);
  check_count("tags", labels.tags.size(), kRunTagsMax);
  for (const std::string& tag : labels.tags) {
    if (tag.empty()) throw_invalid("tags: a tag must not be empty");
    check_line("tags", tag, kRunTagBytesMax);
  }
}

void check_run(const Run& run) {
  check_count("params", run.params.size(), kRunParamsMax);
  for (const auto& [name, value] : run.params) {
    check_name("params", name, kParamNameBytesMax);
    check_text(str_cat("params: value of \"", name, "\""), value, kParamValueBytesMax);
  }
  check_count("metrics", run.metrics.size(), kRunMetricsMax);
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const RunMetric& metric : run.metrics) {
    check_name("metrics", metric.name, kMetricNameBytesMax);
    check_text(str_cat("metrics: split of \"", metric.name, "\""), metric.split,
               kMetricNameBytesMax);
    if (!seen.emplace(metric.name, metric.split).second) {
      throw_invalid(str_cat("metrics: \"", metric.name, "\" is given twice"));
    }
  }
  check_count("artifacts", run.artifacts.size(), kRunArtifactsMax);
  for (const std::string& glob : run.artifacts) {
    check_text("artifacts", glob, kGlobBytesMax);
    const std::string problem = Glob::problem(glob);
    if (!problem.empty()) throw_invalid(str_cat("artifacts: \"", glob, "\": ", problem));
  }
  check_count("objects", run.objects.size(), kRunObjectsMax);
  check_text("source.git_sha", run.source.git_sha, kRunSourceBytesMax);
  check_text("source.ci_url", run.source.ci_url, kRunSourceBytesMax);
  check_text("source.user", run.source.user, kRunSourceBytesMax);
  check_run_labels(run.labels);
}

}  // namespace tarn
