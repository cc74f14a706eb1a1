// Runs: records of how a commit was made, and its measurements.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/metrics/metric.h"
#include "core/model/commit.h"

namespace tarn {

constexpr size_t kRunMetricsMax = 1000;
constexpr size_t kRunParamsMax = 1000;
constexpr size_t kRunArtifactsMax = 100;
constexpr size_t kRunObjectsMax = 1000;
constexpr size_t kParamNameBytesMax = 255;
constexpr size_t kParamValueBytesMax = 8 * 1024;
constexpr size_t kRunSourceBytesMax = 2 * 1024;  ///< of each member of RunSource
constexpr size_t kIdempotencyKeyBytesMax = 255;
constexpr size_t kRunNameBytesMax = 255;
constexpr size_t kRunNotesBytesMax = 16 * 1024;
constexpr size_t kRunTagsMax = 50;
constexpr size_t kRunTagBytesMax = 128;

/// The origin of a run as its recorder gives it; each may be "".
struct RunSource {
  std::string git_sha;
  std::string ci_url;
  std::string user;
};

struct RunMetric {
  std::string name;
  double value = 0;
  std::string split{};  ///< "" = none
};

/// Labels of a run, for people. They may change after it has ended, and decide nothing.
struct RunLabels {
  std::string name{};   ///< on one line; "" = none
  std::string notes{};  ///< "" = none
  std::set<std::string> tags{};
};

enum class RunState : uint8_t {
  kRunning,
  kFinished,
  kFailed,
  kStale,  ///< as kRunning, without a heartbeat for five minutes
};
std::string_view to_text(RunState state);
/// Throws invalid_argument unless it is "running", "finished", "failed" or "stale".
RunState parse_run_state(std::string_view text);

struct Run {
  std::string id;  ///< of later ones smaller in byte order
  std::string experiment;
  CommitId commit;     ///< {} = none: the run is running, or has ended without one
  std::string branch;  ///< the name when the run was recorded; "" = unknown
  std::map<std::string, std::string> params;
  std::vector<RunMetric> metrics;      ///< by name and split, each pair once
  std::vector<std::string> artifacts;  ///< globs over paths of the commit
  /// Objects that were measured, compared with the commit: raw SHA-256 by path. Empty in lists.
  std::map<std::string, std::string> objects{};
  RunSource source;
  RunLabels labels{};
  RunState state = RunState::kFinished;
  std::string owner;  ///< name of the user who recorded it
  Instant created{};
  Instant seen{};  ///< of the last heartbeat, or the end

  bool has_commit() const { return commit != CommitId{}; }
};

/// Limits of a list: this many metrics and this many parameters of the commit of a run.
constexpr size_t kListedCommitMetricsMax = 100;
/// The same of runs that a query names.
constexpr size_t kNamedCommitMetricsMax = 1000;

/// A run as lists show it: with values from the commit's metadata and files that the run itself
/// lacks, one value per name and split.
struct ListedRun {
  Run run;
  std::vector<Metric> commit_metrics{};  ///< by name and split
  std::map<std::string, std::string> commit_params{};
  bool complete = true;  ///< false: the commit has more of either than the limit
};

/// The same as make_pull_request_id.
std::string make_run_id(Instant now);
/// Throws invalid_argument unless it is such an id.
std::string parse_run_id(std::string_view text);
/// 1..128 of letters, digits, '.', '_' and '-'. Throws invalid_argument.
std::string parse_experiment_name(std::string_view text);

/// Throws invalid_argument naming the member: limits, control characters in names and tags.
void check_run_labels(const RunLabels& labels);
/// Throws invalid_argument naming the member: limits, names, globs, pairs given twice, labels.
void check_run(const Run& run);

}  // namespace tarn
