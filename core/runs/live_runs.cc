#include "core/runs/live_runs.h"

#include <cmath>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/branch/repositories.h"
#include "core/model/names.h"

namespace tarn::runs {
namespace {

void check_batch(const RunBatch& batch) {
  Run values{};
  values.params = batch.params;
  size_t points = 0;
  for (const Series& series : batch.curves) {
    values.metrics.push_back({series.name, 0});
    points += series.points.size();
    for (const Point& point : series.points) {
      if (!std::isfinite(point.value)) {
        throw_invalid(str_cat("steps: \"", series.name, "\" at step ", point.step,
                              ": must be a finite number"));
      }
      if (point.step < 0 || point.step > kRunStepMax) {
        throw_invalid(str_cat("steps: step ", point.step, ": must be 0 to ", kRunStepMax));
      }
    }
  }
  if (points > kRunBatchPointsMax) {
    throw_invalid(str_cat("steps: may have at most ", kRunBatchPointsMax, " values"));
  }
  check_run(values);
}

void check(LiveRunStore::Outcome outcome, std::string_view id) {
  using enum LiveRunStore::Outcome;
  switch (outcome) {
    case kDone:
      return;
    case kEnded:
      throw Error(ErrorCode::kConflict, reason::kRunEnded,
                  str_cat("run ", id, ": has ended, start another one"));
    case kForeign:
      throw Error(ErrorCode::kPermissionDenied, reason::kNotRunOwner,
                  str_cat("run ", id, ": another user started it"));
    case kMissing:
      throw Error(ErrorCode::kNotFound, reason::kRunNotFound, str_cat("run ", id, ": not found"));
  }
}

}  // namespace

RecordedRun start_run(branch::Engine& engine, const Repository& repository, const RunStart& start) {
  check_idempotency_key(start.idempotency_key);
  const Instant now = engine.clock.now();
  Run run{.id = make_run_id(now),
          .experiment = parse_experiment_name(start.experiment),
          .commit = {},
          .branch = start.branch.empty() ? "" : parse_branch_name(start.branch).str(),
          .params = start.params,
          .metrics = {},
          .artifacts = {},
          .source = start.source,
          .labels = start.labels,
          .state = RunState::kRunning,
          .owner = start.owner,
          .created = now,
          .seen = now};
  check_run(run);
  branch::check_writable(engine, repository, /*force=*/false);
  return create_run(engine, repository, std::move(run), start.idempotency_key, start.branch);
}

void write_run(branch::Engine& engine, const Repository& repository, std::string_view id,
               std::string_view user, const RunBatch& batch) {
  check_batch(batch);
  branch::check_writable(engine, repository, /*force=*/false);
  check(LiveRunStore(engine.pool)
            .write(repository.id, id, user, batch, to_millis(engine.clock.now())),
        id);
}

Run end_run(branch::Engine& engine, const Repository& repository, std::string_view id,
            std::string_view user, RunState state) {
  branch::check_writable(engine, repository, /*force=*/false);
  check(LiveRunStore(engine.pool).end(repository.id, id, user, state), id);
  return get_run(engine, repository, id);
}

}  // namespace tarn::runs
