#include "core/gc/collection.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/fault.h"
#include "core/base/lease.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/gc/collection_ends.h"
#include "core/gc/collection_report.h"
#include "core/gc/collection_steps.h"
#include "core/gc/collection_store.h"
#include "core/gc/leased_progress.h"
#include "core/meta/repositories.h"
#include "core/meta/writer.h"
#include "core/quotas/quotas.h"

namespace tarn::gc {
namespace {

void log_end(const CollectionClaim& claim, const Repository& repository, std::string_view state,
             const CollectionCounts& counts) {
  log::info("garbage_collection", {{"repository", repository.name.str()},
                                   {"run", claim.run},
                                   {"state", state},
                                   {"objects", counts.stored_objects},
                                   {"found", counts.found_objects},
                                   {"removed", counts.removed_objects},
                                   {"removed_bytes", counts.removed_bytes},
                                   {"not_removed", counts.failed_objects},
                                   {"commits", counts.removed_commits},
                                   {"expired_commits", counts.expired_commits},
                                   {"nodes", counts.removed_nodes}});
}

void count_run(std::string_view state, const CollectionCounts& counts) {
  collections_that_ended(state).add();
  static metrics::Counter& failed =
      metrics::counter("tarn_gc_failed_objects_total",
                       "Objects that a store did not remove when garbage collection asked for it.");
  failed.add(static_cast<double>(counts.failed_objects));
  static metrics::Counter& objects = metrics::counter(
      "tarn_gc_removed_objects_total", "Objects that garbage collection removed from stores");
  static metrics::Counter& bytes =
      metrics::counter("tarn_gc_removed_bytes_total", "Bytes of the objects that it removed");
  objects.add(static_cast<double>(counts.removed_objects));
  bytes.add(static_cast<double>(counts.removed_bytes));
}

/// Collections of this process that are running, for /metrics.
class Running {
 public:
  Running() {
    static std::atomic<int> number = 0;
    static const auto gauge =
        metrics::gauge("tarn_gc_running", "Garbage collections that this server carries out now.",
                       [] { return static_cast<double>(number.load()); });
    number_ = &number;
    ++*number_;
  }
  ~Running() { --*number_; }
  Running(const Running&) = delete;

 private:
  std::atomic<int>* number_;
};

/// Between attempts to give the lease up while the database is away.
constexpr std::chrono::seconds kAbandonPause{1};

/// After an error: without this, every server would wait until the lease has expired.
void abandon(Collections& collections, int64_t owner, const std::stop_token& stop) {
  const auto end = std::chrono::steady_clock::now() + kCollectionLease;
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) {
    try {
      return collections.abandon(owner);
    } catch (const Error& error) {
      log::debug("garbage_collection_lease", {{"error", error.message()}});
    }
    pause(stop, kAbandonPause);
  }
}

/// Carries the claimed collection out. Throws if its end could not be stored.
void carry_out(branch::Engine& engine, Collections& collections, const CollectionClaim& claim,
               const CollectionOptions& options, const CollectionSchedule& schedule,
               const std::stop_token& stop) {
  const Running running;
  CollectionSteps collection(engine, claim, options, stop);
  const CollectionReport& report = collection.report();
  std::string_view state = "done";
  std::string error;
  try {
    collection.run();
  } catch (const Stopped&) {
    state = "interrupted";
    error = "the server that ran it stopped";
  } catch (const Cancelled&) {
    state = "cancelled";
    error = "it was cancelled";
  } catch (const CollectionRefused& refusal) {
    state = "refused";
    error = refusal.message;
  } catch (const Error& failure) {
    if (failure.reason() == reason::kCollectionLost) return;
    state = "failed";
    error = failure.message();
    if (failure.reason() == reason::kDatabaseFull) {
      log::error("garbage_collection_failed", {{"run", claim.run}, {"error", error}});
      error = kDatabaseFullText;
    }
  }
  count_run(state, report.counts);
  log_end(claim, engine.repositories.get(claim.repository), state, report.counts);
  collections.finish(claim,
                     {.state = state,
                      .error = error,
                      .outcome = collection.outcome(),
                      .space_due = collection.owes_space()},
                     schedule);
  engine.quotas.make_due(claim.repository);
}

}  // namespace

metrics::Counter& collections_that_ended(std::string_view state) {
  return metrics::counter("tarn_gc_runs_total", "Garbage collections by how they ended.",
                          {"state", state});
}

bool run_one_collection(branch::Engine& engine, const CollectionOptions& options,
                        const std::stop_token& stop) {
  Collections collections(engine.pool);
  const CollectionSchedule schedule{options.interval, options.deleted_kept};
  std::optional<CollectionClaim> claim;
  if (collections.is_due(schedule)) {
    const auto owner = new_lease_owner();
    try {
      claim = collections.claim(owner, schedule, kCollectionLease);
      if (claim) carry_out(engine, collections, *claim, options, schedule, stop);
    } catch (const Error&) {
      abandon(collections, owner, stop);
      throw;
    }
  }
  if (!claim) {
    if (collections.is_waiting_for_floors(schedule)) engine.writer.heartbeat();
    return false;
  }
  engine.writer.heartbeat();  // the next one need not wait for this server's
  return true;
}

}  // namespace tarn::gc
