// JSON bodies of runs and metrics of commits.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/metrics/commit_facts.h"
#include "core/metrics/run.h"
#include "core/metrics/series.h"
#include "core/runs/live_runs.h"
#include "core/runs/runs.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

struct RecordRun {
  CommitId commit;
  std::string run{};
  RunState state = RunState::kFinished;
  std::string branch{};
  std::map<std::string, std::string> params;
  std::vector<RunMetric> metrics;
  std::vector<std::string> artifacts;
  branch::ExpectedObjects objects;
  RunSource source;
  RunLabels labels;
  std::optional<std::string> idempotency_key;
};
/// {"commit" or "ref": a commit id, "run", "state", "branch", "params": {name: string, number or
/// boolean}, "metrics": {name: number} or [{"name", "value", "split"}], "artifacts": [glob],
/// "objects":
/// [{"path", "sha256"}], "source": {"git_sha", "ci_url", "user"}, "name", "notes", "tags": [text],
/// "idempotency_key"}. Numbers may
/// be strings, the only form of NaN and Infinity. Throws invalid_argument (reason
/// "commit_id_needed": the ref is a name).
RecordRun parse_record_run(const Value& body);

/// {"branch", "params", "source", "name", "notes", "tags", "idempotency_key"}; owner and experiment
/// are absent.
runs::RunStart parse_start_run(const Value& body);
/// {"params": {name: string, number or boolean}, "steps": [{"step", "metrics": {name: number}}]}
runs::RunBatch parse_run_steps(const Value& body);
/// {"state": "finished" or "failed"}
RunState parse_end_run(const Value& body);

/// {"name", "notes", "tags": [text]}; what is absent stays.
runs::RunLabelsChange parse_run_labels(const Value& body);

std::string run_body(const Run& run);
/// Runs, with "commit_metrics", "commit_params" and "warnings".
std::string run_list_body(const runs::RunList& list);
/// {"columns": [...]}
std::string run_columns_body(const std::vector<std::string>& columns);

std::string commit_facts_body(const CommitFacts& facts);
/// One point of a series; `index` starts at 0.
void write_series_point(Writer& out, size_t index, const Point& point);

/// {"results": [{"run", "commit_id", "points": [...], "has_more", "next_offset", "sampled"}]}
std::string run_curves_body(const std::vector<runs::RunCurve>& curves);

/// {"globs": [...]}
std::string metric_globs_body(const std::vector<std::string>& globs);
std::vector<std::string> parse_metric_globs(const Value& body);

}  // namespace tarn::api::json
