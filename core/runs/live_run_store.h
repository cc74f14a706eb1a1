// Rows of runs that are written while they run: heartbeats, parameters and curves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/metrics/run.h"
#include "core/metrics/series.h"
#include "core/model/names.h"

namespace tarn::runs {

/// Points of one batch, of all its curves.
constexpr size_t kRunBatchPointsMax = 10'000;
/// Points of one curve of a run.
constexpr int64_t kRunCurvePointsMax = 1'000'000;
/// Points of one row. Each batch writes the last row of its curves again, so rows are short.
constexpr size_t kRunPiecePoints = 1024;

/// Parameters and points that a running run has not sent before.
struct RunBatch {
  std::map<std::string, std::string> params{};
  std::vector<Series> curves{};  ///< without splits; points in any order
};

/// A whole curve, or what it looks like with fewer points.
struct LiveCurve {
  int64_t points = 0;          ///< of the whole curve
  std::vector<Point> shown{};  ///< by step
};

/// The rows of one curve never overlap in their steps: a batch is merged into those that it meets.
/// Safe from any thread.
class LiveRunStore {
 public:
  explicit LiveRunStore(db::Pool& pool) : pool_(pool) {}

  enum class Outcome { kDone, kEnded, kForeign, kMissing };
  /// Moves the heartbeat by the database's clock and stores the batch: of one step the newest value
  /// counts, so a batch may come twice. Throws: invalid_argument (more than kRunMetricsMax curves,
  /// kRunParamsMax parameters or kRunCurvePointsMax points), precondition_failed (quota).
  Outcome write(RepositoryId repository, std::string_view id, std::string_view user,
                const RunBatch& batch, int64_t now_ms);
  /// Ends the run without a commit. A run that has ended so already stays.
  Outcome end(RepositoryId repository, std::string_view id, std::string_view user, RunState state);

  /// The curves of these runs, by run. A curve of more than `limit` points, at least 3, has the
  /// lowest and the highest point of each of (limit - 1) / 2 parts, and its last point.
  std::map<std::string, LiveCurve> curves(RepositoryId repository,
                                          const std::vector<std::string>& ids,
                                          std::string_view name, uint32_t limit);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::runs
