// Rows of garbage collections: the lease, which repository is due, the runs and their reports.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/gc/collection_counts.h"
#include "core/gc/garbage.h"
#include "core/model/names.h"

namespace tarn::gc {

/// How often a collection is repeated that was asked for and failed. The pauses take half an hour
/// together.
constexpr int64_t kCollectionRetriesMax = 5;

/// A collection that this process carries out.
struct CollectionClaim {
  int64_t owner = 0;  ///< of the lease
  RepositoryId repository{};
  bool deleted = false;  ///< the repository was deleted: nothing of it is a root
  int64_t run = 0;
  int64_t fenced_run = 0;  ///< operations that began before this run ended have ended
  std::string actor;       ///< "" = by schedule
  int32_t share_max = 0;   ///< percent; 0 = the server's setting
};

struct CollectionRun {
  int64_t run = 0;
  std::string state;  ///< running, done, refused, failed, interrupted, cancelled
  std::string actor;
  Instant started{};
  std::optional<Instant> ended{};
  std::string error;
  CollectionCounts counts{};
  std::string step;  ///< of a running one
  Instant step_started{};
  int64_t step_done = 0;
  int64_t step_total = 0;  ///< an estimate; 0 = unknown
  std::string cancelled_by;
  std::vector<std::string> failures;  ///< the first ones: path and message
  std::map<GarbageOrigin, GarbageSize> removed;
};

struct CollectionProgress {
  std::string_view step;
  int64_t done = 0;
  int64_t total = 0;  ///< 0 = unknown
};

/// The work of a collection so far, for its report.
struct CollectionOutcome {
  const CollectionCounts& counts;
  const std::vector<std::string>& failures;
  const GarbageGroups& removed;
};

struct CollectionEnd {
  std::string_view state;
  std::string_view error;
  CollectionOutcome outcome;
  bool space_due = false;  ///< it did not give the space of removed rows back
};

struct CollectionSchedule {
  std::chrono::seconds interval{};  ///< between collections of a repository; 0 = on request only
  std::chrono::seconds deleted_kept{};  ///< how long a deleted repository keeps its objects
};

/// A collection that was asked for and has not begun.
struct CollectionRequest {
  std::optional<Instant> retry{};  ///< the one before failed, and this one begins then
  int64_t retries_left = 0;        ///< if it fails
};

/// The oldest addresses that an operation may still publish.
struct CollectionFloors {
  Instant address{};
  int64_t nid = 0;
  int64_t transaction = 0;  ///< the newest when they were read
};

/// Safe from any thread.
class Collections {
 public:
  explicit Collections(db::Pool& pool) : pool_(pool) {}

  /// Whether claim() may find one.
  bool is_due(const CollectionSchedule& schedule);
  /// The repository that has waited longest; nullopt: none is due, or another collection runs.
  /// `owner`: a number that nobody else has, given up by abandon() if this throws.
  std::optional<CollectionClaim> claim(int64_t owner, const CollectionSchedule& schedule,
                                       std::chrono::milliseconds lease);
  /// Lets any server take the lease at once, and carry out again what its owner began. Changes
  /// nothing if the owner does not have it.
  void abandon(int64_t owner);
  /// Whether one is due as soon as the floors of all servers have risen: then each server helps by
  /// a heartbeat.
  bool is_waiting_for_floors(const CollectionSchedule& schedule);
  enum class Renewal { kHeld, kCancelled, kLost };
  /// Tells the progress too. kLost: nothing may be changed any more.
  Renewal renew(const CollectionClaim& claim, std::chrono::milliseconds lease,
                const CollectionProgress& progress);
  /// Throws unavailable unless the lease is held; then it is, until the transaction ends.
  static void hold(db::Connection& connection, const CollectionClaim& claim);
  /// Stores what the run has done, for its report if its server dies.
  void store_outcome(const CollectionClaim& claim, const CollectionOutcome& outcome);
  /// The space of rows that earlier collections removed was given back.
  void set_space_released(const CollectionClaim& claim);
  /// From now on no server makes older addresses.
  CollectionFloors raise_floors(const CollectionClaim& claim);
  /// Whether every transaction has ended that had begun to write when the floors were read: one of
  /// a server that was paused since may still commit.
  bool are_settled(const CollectionFloors& floors);
  /// Ends the run and gives the lease up. The next one is due after `interval`, but soon after one
  /// that was interrupted, and after a pause that doubles with each that has failed. One that was
  /// asked for is asked for again if it was interrupted, or has failed kCollectionRetriesMax times
  /// at most.
  void finish(const CollectionClaim& claim, const CollectionEnd& end,
              const CollectionSchedule& schedule);
  /// A deleted repository of which nothing is left is not collected again.
  void set_emptied(const CollectionClaim& claim);

  /// Makes the repository due now.
  void request(RepositoryId repository, std::string_view actor, int32_t share_max);
  /// Asks the running one to end, and drops the request of one that has not begun. false: there was
  /// neither.
  bool cancel(RepositoryId repository, std::string_view actor);
  /// Newest first.
  std::vector<CollectionRun> runs(RepositoryId repository, uint32_t limit);
  std::optional<CollectionRun> find(RepositoryId repository, int64_t run);
  /// nullopt: none was asked for that has not begun.
  std::optional<CollectionRequest> requested(RepositoryId repository);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::gc
