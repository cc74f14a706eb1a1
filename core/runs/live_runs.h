// Verbs on runs that are written while they run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/runs/live_run_store.h"
#include "core/runs/runs.h"

namespace tarn::runs {

constexpr int64_t kRunStepMax = int64_t{1} << 53;

struct RunStart {
  std::string experiment;
  std::string branch{};  ///< where it will commit; "" = not known
  std::map<std::string, std::string> params{};
  RunSource source{};
  RunLabels labels{};
  std::string owner;
  std::optional<std::string> idempotency_key{};  ///< of this owner and experiment
};
/// Starts a run, which has no commit yet, so no gate reads it; record_run with its id ends it on
/// one. The run that has the key already is returned as it is, so a job that begins again goes on
/// with it. Throws: invalid_argument (as check_run, the names, the key), not_found (repository),
/// permission_denied (read-only repository).
RecordedRun start_run(branch::Engine& engine, const Repository& repository, const RunStart& start);

/// Stores what a running run measured, and moves its heartbeat; an empty batch does that alone.
/// Throws: invalid_argument (names, more than kRunBatchPointsMax points, a value that is not
/// finite, a step that is not in 0..kRunStepMax, limits of a run), not_found (repository; reason
/// "run_not_found"), permission_denied (read-only repository; reason "not_run_owner"), conflict
/// (reason "run_ended").
void write_run(branch::Engine& engine, const Repository& repository, std::string_view id,
               std::string_view user, const RunBatch& batch);

/// Ends a run without a commit, as kFinished or kFailed; again is the same. Throws as write_run.
Run end_run(branch::Engine& engine, const Repository& repository, std::string_view id,
            std::string_view user, RunState state);

}  // namespace tarn::runs
