// Results of reading commits' metadata and files, and the queue of commits to read.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/metrics/commit_facts.h"
#include "core/metrics/measurements.h"
#include "core/metrics/series.h"
#include "core/model/names.h"
#include "core/model/page.h"

namespace tarn::runs {

/// A commit that waits to be read.
struct QueuedExtraction {
  RepositoryId repository{};
  CommitId commit;
  int attempts = 0;     ///< with this one
  std::string owner{};  ///< who made the commit; "" = not known
};

struct SeriesPoint {
  size_t index = 0;  ///< in its series, from 0
  Point point;
};

/// Every commit is queued by the statement that inserts it. Safe from any thread.
class ExtractionStore {
 public:
  explicit ExtractionStore(db::Pool& pool) : pool_(pool) {}

  /// Leases the oldest free one of the owner with the fewest leased commits; none of `owners_not`.
  std::optional<QueuedExtraction> take(std::chrono::milliseconds ttl,
                                       const std::vector<std::string>& owners_not = {});
  /// Takes a queued commit off the queue, with why it could not be read as a warning.
  void fail(const QueuedExtraction& extraction, std::string_view why);

  /// The commits that were read under the rules with this hash.
  std::set<CommitId> done(RepositoryId repository, std::span<const CommitId> commits,
                          std::string_view rules_hash);
  /// Replaces what was read before, unless that was under the same rules: of several who read one
  /// commit one stores. false: it was there.
  bool store(RepositoryId repository, const CommitId& commit, std::string_view rules_hash,
             const Measurements& read);

  /// One for each commit, in that order; of the named metrics, or of all when none is named, with
  /// these parameters of each run.
  std::vector<CommitFacts> facts(RepositoryId repository, std::span<const CommitId> commits,
                                 std::span<const std::string> names,
                                 const std::vector<std::string>& run_params = {});

  /// Points of one curve from number `start` on. `source` "" = of the newest file that has one.
  Page<SeriesPoint> series(RepositoryId repository, const CommitId& commit, std::string_view name,
                           std::string_view split, std::string_view source, size_t start,
                           uint32_t limit);
  /// The first points of the curve of each of these commits that has one, as series(); `limit` is
  /// below kPointsPerPiece.
  std::map<CommitId, Page<SeriesPoint>> first_points(RepositoryId repository,
                                                     std::span<const CommitId> commits,
                                                     std::string_view name, std::string_view split,
                                                     uint32_t limit);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::runs
