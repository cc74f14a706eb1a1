#include "server/jobs/background.h"

#include "core/accounting/quotas.h"
#include "core/accounting/usage_history.h"
#include "core/branch/change_index.h"
#include "core/branch/cleanup.h"
#include "core/branch/hooks.h"
#include "core/branch/refs.h"
#include "core/branch/store_owner.h"
#include "core/gc/collection.h"
#include "core/gc/removed_copies.h"
#include "core/imports/import.h"
#include "core/imports/refs_dump.h"
#include "core/objects/lifecycle.h"
#include "core/promotion/promotion_run.h"
#include "core/runs/extraction.h"
#include "core/verify/verify_job.h"
#include "server/assembly/assembly.h"
#include "server/jobs/open_queues.h"

namespace tarn::jobs {
namespace {

using namespace std::chrono_literals;

/// Between the first runs of two loops. All at once, each would have a connection of its own, and
/// the database would prepare their statements on as many.
constexpr std::chrono::milliseconds kStartPause = 10ms;
/// Between two looks at all queues, which wake idle loops: the shortest pause of any of them.
constexpr std::chrono::milliseconds kLookPause = promotion::kPromotionPoll;
/// Maximum delay before a server notices a queued import.
constexpr std::chrono::milliseconds kImportPoll = 250ms;
constexpr std::chrono::milliseconds kRefsTaskPoll = 250ms;
constexpr std::chrono::milliseconds kVerifyPoll = 250ms;
/// Maximum delay before a server notices hooks to run after a change.
constexpr std::chrono::milliseconds kHookPoll = 250ms;
constexpr std::chrono::milliseconds kDeliveryPoll = 1s;
constexpr std::chrono::milliseconds kSweepInterval = 60s;
/// Promotions that one server advances concurrently.
constexpr uint32_t kPromotionWorkers = 4;
/// Commits whose metrics one server reads concurrently, at most one per user, so that users do not
/// wait for each other.
constexpr uint32_t kExtractionWorkers = 2;
/// Short, because users wait for promotions: the server retries soon after the database is back.
constexpr std::chrono::milliseconds kPromotionFailurePause = 3s;
/// Maximum delay before an expired branch is deleted.
constexpr std::chrono::milliseconds kExpiryPoll = 5s;
/// Maximum delay before a server notices new rules for the cleanup of branches.
constexpr std::chrono::milliseconds kCleanupPoll = 10s;
/// Maximum delay before a server notices new lifecycle rules.
constexpr std::chrono::milliseconds kLifecyclePoll = 1s;
/// Maximum delay before a server notices that a collection was asked for.
constexpr std::chrono::milliseconds kCollectionPoll = 1s;
/// Maximum delay before a server notices that the identity of its database has changed, and the
/// repositories whose stores it then asks at a time.
constexpr std::chrono::milliseconds kOwnerPoll = 2s;
constexpr uint32_t kOwnersPerLook = 100;
/// Maximum delay before a server notices a quota that must be counted again.
constexpr std::chrono::milliseconds kRecountPoll = 2s;
/// Maximum delay, after midnight UTC, before a server measures repositories.
constexpr std::chrono::milliseconds kUsagePoll = 60s;
/// Maximum delay before a server reads the metrics of a commit.
constexpr std::chrono::milliseconds kExtractionPoll = 500ms;

}  // namespace

std::vector<std::unique_ptr<Worker>> start_background(server::Assembly& assembly,
                                                      const http::Outbound& outbound,
                                                      const BackgroundOptions& options) {
  // Alerts see the first increase only of series that were there before.
  gc::collections_that_ended("failed");
  deliveries_with("dead");
  std::vector<std::unique_ptr<Worker>> workers;
  const auto add = [&](WorkerOptions of, Worker::Run run) {
    of.delay = kStartPause * uint32_t(workers.size());
    workers.push_back(std::make_unique<Worker>(std::move(of), std::move(run)));
  };
  const auto start = [&](const char* name, std::chrono::milliseconds interval, Worker::Run run) {
    add({.name = name, .interval = interval}, std::move(run));
  };
  const auto queues = std::make_shared<OpenQueues>(assembly.engine().pool);
  const auto start_for = [&](Queue queue, WorkerOptions of, Worker::Run run) {
    of.await = [queues, queue](const std::stop_token& stop) { queues->await(queue, stop); };
    add(std::move(of), std::move(run));
  };
  const auto start_several = [&](Queue queue, uint32_t count, WorkerOptions of,
                                 const Worker::Run& run) {
    of.lookouts = std::make_shared<Lookouts>(of.interval);
    for (uint32_t i = 0; i < count; ++i) start_for(queue, of, run);
  };
  start("heartbeat", options.heartbeat_interval,
        [&assembly, measure_clock = options.measure_clock](std::stop_token) {
          assembly.heartbeat();
          if (measure_clock) measure_clock();
          return false;
        });
  add({.name = "queues", .interval = kLookPause, .failure_pause_max = kPromotionFailurePause},
      [queues](std::stop_token) {
        queues->look();
        return false;
      });
  start("database", server::kLookInterval, [&assembly](std::stop_token) {
    assembly.look_at_database();
    return false;
  });
  if (options.mark_database) {
    start("mark", options.mark_interval, [mark = options.mark_database](std::stop_token) {
      mark();
      return false;
    });
  }
  start("sweep", kSweepInterval, [&assembly](std::stop_token) { return assembly.sweep(); });
  start("expiry", kExpiryPoll, [&assembly](std::stop_token) {
    return branch::delete_one_expired_branch(assembly.engine());
  });
  start("branch_cleanup", kCleanupPoll, [&assembly](std::stop_token stop) {
    return branch::clean_up_one_repository(assembly.engine(), std::move(stop));
  });
  start("change_index", branch::kChangeFillPause, [&assembly](std::stop_token stop) {
    branch::fill_change_index(assembly.engine(), std::move(stop));
    return false;  // so that it pauses after each batch
  });
  start("lifecycle", kLifecyclePoll, [&assembly](std::stop_token stop) {
    return objects::run_one_lifecycle_scan(assembly.engine(), stop);
  });
  const auto copies = std::make_shared<gc::RemovedCopies>(options.copies);
  // Before requests make any: the first look removes all copies of a directory without a mark.
  copies->forget(assembly.engine());
  start("gc_copies", kCollectionPoll, [&assembly, copies](std::stop_token) {
    copies->forget(assembly.engine());
    return false;
  });
  // New servers wait for a server that lived through a failover: it tries soon after the database
  // is back.
  add({.name = "store_owners", .interval = kOwnerPoll, .failure_pause_max = kOwnerPoll},
      [&assembly](std::stop_token) {
        branch::Engine& engine = assembly.engine();
        return engine.owners.watch(engine.repositories, kOwnersPerLook);
      });
  start("gc", kCollectionPoll, [&assembly, collection = options.collection](std::stop_token stop) {
    return gc::run_one_collection(assembly.engine(), collection, stop);
  });
  start("usage", kUsagePoll, [&assembly](std::stop_token stop) {
    return accounting::measure_usage_of_today(assembly.engine(), stop);
  });
  // Writes then find the rows of quotas in memory.
  start("quotas", accounting::kQuotaRefreshInterval, [&assembly](std::stop_token) {
    accounting::refresh_quotas(assembly.engine());
    return false;
  });
  start("quota_recount", kRecountPoll, [&assembly](std::stop_token stop) {
    return accounting::recount_one_due(assembly.engine(), std::move(stop));
  });
  const auto import_turns = std::make_shared<OwnerTurns>(options.import_workers);
  start_several(Queue::kJobs, options.import_workers, {.name = "import", .interval = kImportPoll},
                [&assembly, import_turns](std::stop_token stop) {
                  return imports::run_one_import(assembly.engine(), stop, *import_turns);
                });
  const auto promotion_turns = std::make_shared<OwnerTurns>(kPromotionWorkers);
  start_several(Queue::kPromotions, kPromotionWorkers,
                {.name = "promotions",
                 .interval = promotion::kPromotionPoll,
                 .failure_pause_max = kPromotionFailurePause},
                [&assembly, promotion_turns](std::stop_token stop) {
                  return promotion::run_one_promotion(assembly.engine(), stop, *promotion_turns);
                });
  start_for(Queue::kMoves, {.name = "moves", .interval = promotion::kPromotionPoll},
            [&assembly](std::stop_token) {
              promotion::note_branch_moves(assembly.engine());
              return false;
            });
  start("champions", promotion::kChampionPoll, [&assembly](std::stop_token) {
    promotion::tell_expired_champions(assembly.engine());
    return false;
  });
  start_for(Queue::kJobs, {.name = "refs", .interval = kRefsTaskPoll},
            [&assembly](std::stop_token stop) {
              return imports::run_one_refs_task(assembly.engine(), stop);
            });
  start_for(Queue::kJobs, {.name = "verify", .interval = kVerifyPoll},
            [&assembly, limits = options.verify](std::stop_token stop) {
              return verify::run_one_verify(assembly.engine(), limits, std::move(stop));
            });
  const auto extraction_turns = std::make_shared<OwnerTurns>(kExtractionWorkers);
  start_several(Queue::kExtractions, kExtractionWorkers,
                {.name = "extraction", .interval = kExtractionPoll},
                [&assembly, extraction_turns](std::stop_token stop) {
                  return runs::run_one_extraction(assembly.engine(), stop, *extraction_turns);
                });
  start_several(Queue::kHooks, branch::kHookWorkers, {.name = "hooks", .interval = kHookPoll},
                [&assembly](std::stop_token stop) {
                  branch::Hooks* hooks = assembly.engine().hooks;
                  return hooks != nullptr && hooks->run_queued(std::move(stop));
                });
  start("hook_sweep", kSweepInterval, [&assembly](std::stop_token) {
    branch::Hooks* hooks = assembly.engine().hooks;
    return hooks != nullptr && hooks->sweep();
  });
  start_several(Queue::kDeliveries, options.deliveries.workers,
                {.name = "webhooks", .interval = kDeliveryPoll},
                [&assembly, &outbound, deliveries = options.deliveries](std::stop_token stop) {
                  return deliver_one(assembly.engine(), outbound, deliveries, stop);
                });
  return workers;
}

}  // namespace tarn::jobs
