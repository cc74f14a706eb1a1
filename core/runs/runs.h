// Verbs on runs: recording and listing.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/expected_objects.h"
#include "core/metrics/run.h"
#include "core/metrics/run_query.h"
#include "core/model/page.h"
#include "core/model/repository.h"
#include "core/runs/extraction_store.h"
#include "core/runs/run_store.h"

namespace tarn::runs {

/// Branches that one glob may match.
constexpr uint32_t kRunBranchesMax = 10'000;
/// Runs and commits whose names run_columns has: the newest.
constexpr uint32_t kColumnRunsMax = 10'000;
constexpr uint32_t kColumnCommitsMax = 1'000;
constexpr uint32_t kRunColumnsListedMax = 2'000;

struct RunRecording {
  std::string experiment;
  CommitId commit;    ///< never a name, which may have moved since it was measured
  std::string run{};  ///< id of a run of start_run, which ends on the commit; "" = a new one
  RunState state = RunState::kFinished;  ///< or kFailed: then its values count for no gate
  /// Where the commit was made, as who records it says; it may be gone. "" = the branch whose head
  /// the commit is, if it is that of exactly one.
  std::string branch{};
  std::map<std::string, std::string> params{};
  std::vector<RunMetric> metrics{};
  std::vector<std::string> artifacts{};
  branch::ExpectedObjects objects{};  ///< at most kRunObjectsMax
  RunSource source{};
  RunLabels labels{};
  std::string owner;
  std::string address{};                         ///< IP that the request came from; "" = unknown
  std::optional<std::string> idempotency_key{};  ///< of this owner and experiment
};
struct RecordedRun {
  Run run;
  bool made = true;  ///< else the same request under the same key had made it before
};
/// Runs are never deleted, and only their labels change. Throws: invalid_argument (as check_run,
/// the experiment's name, the key, a branch that lacks the commit), not_found (repository, commit),
/// permission_denied (read-only repository; reason "not_author": who has not made the commit needs
/// fs:CreateRun on every branch), conflict (reason "idempotency_key_reused": the key has a run of
/// another request; as check_objects: the commit has other objects than were measured; reason
/// "run_ended"). Of a started run labels and key are ignored, and what it has already stays unless
/// it is given again; not_found (reason "run_not_found") and permission_denied (reason
/// "not_run_owner") are of that too.
RecordedRun record_run(branch::Engine& engine, const Repository& repository,
                       const RunRecording& recording);

/// Throws invalid_argument.
void check_idempotency_key(const std::optional<std::string>& key);
/// Stores a run that was checked, once for its key. Throws as record_run.
RecordedRun create_run(branch::Engine& engine, const Repository& repository, Run run,
                       const std::optional<std::string>& key, std::string_view branch);

struct RunRelabelling {
  RunLabelsChange change;
  std::string user;
  std::string address{};  ///< as in RunRecording
};
/// Changes name, notes and tags of a run, of which no gate knows. Throws: invalid_argument (as
/// check_run_labels), not_found (repository; reason "run_not_found"), permission_denied (read-only
/// repository; reason "not_run_owner": who did not record the run needs fs:CreateRun on every
/// branch).
Run relabel_run(branch::Engine& engine, const Repository& repository, std::string_view id,
                const RunRelabelling& relabelling);

/// Throws: not_found (repository; reason "run_not_found").
Run get_run(branch::Engine& engine, const Repository& repository, std::string_view id);

struct RunQuery {
  std::string experiment{};  ///< "" = any
  std::string branch{};      ///< a glob; "" = any
  std::string git_sha{};     ///< "" = any
  std::string name{};        ///< as in RunFilter
  std::set<std::string> tags{};
  std::optional<RunState> state{};  ///< absent = any
  std::vector<RunCondition> where{};
  RunOrder order{};
  std::optional<RunColumns> columns{};  ///< absent = all metrics and parameters
  std::string after{};                  ///< id of the page before's last run
  uint32_t limit = 100;                 ///< 1..kPageItemsMax
};
struct RunList {
  Page<ListedRun> page;
  std::vector<std::string> warnings{};  ///< what does not count or is not shown
};
/// Conditions, order and answer know what the commits' metadata and files say, as RunCondition
/// says. Commits that the background has not read are read here, up to kReadAheadCommitsMax and
/// kReadAheadTimeMax; a warning names the rest. Throws: invalid_argument (more than
/// kRunConditionsMax conditions, a bad glob or one that matches more than kRunBranchesMax branches,
/// an `after` that is no run), not_found (repository).
RunList list_runs(branch::Engine& engine, const Repository& repository, const RunQuery& query);

/// The runs with these ids, each once, in that order, with up to kNamedCommitMetricsMax metrics and
/// parameters of their commits, as ref_facts has them; a warning names those that are not there.
/// Commits that the background has not read are read here, as in list_runs. Throws:
/// invalid_argument (more than kNamedRunsMax, a bad id), not_found (repository).
RunList named_runs(branch::Engine& engine, const Repository& repository,
                   const std::vector<std::string>& ids, const std::optional<RunColumns>& columns);

/// "metrics.NAME", "metrics.NAME@SPLIT" and "params.NAME" in byte order, kRunColumnsListedMax at
/// most: the names that list_runs may be asked for. Throws: not_found (repository).
std::vector<std::string> run_columns(branch::Engine& engine, const Repository& repository);

/// The curve of a run, or its beginning in a file of the run's commit.
struct RunCurve {
  std::string run;
  CommitId commit;
  Page<SeriesPoint> points;
  bool sampled = false;  ///< the points are those that LiveRunStore::curves shows of more
};
/// The curve of the metric that each of these runs wrote while it ran, with at most `limit` points,
/// at least 3. Of runs that wrote none the first `limit` points of the newest file of the commit
/// that has a curve of it; metric_series has the others. Runs that are not there and those without
/// a curve are absent. Throws: invalid_argument (more than kNamedCurvesMax, a bad id), not_found
/// (repository), unavailable (store).
std::vector<RunCurve> run_curves(branch::Engine& engine, const Repository& repository,
                                 const std::vector<std::string>& ids, std::string_view name,
                                 std::string_view split, uint32_t limit);

}  // namespace tarn::runs
