#include "server/assembly/assembly.h"

#include <chrono>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/branch/alias_store.h"
#include "core/branch/branch_hold.h"
#include "core/branch/pull_request_store.h"
#include "core/branch/store_owner.h"
#include "core/events/webhooks.h"
#include "core/jobs/jobs.h"
#include "core/jobs/operations.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/meta/object_versions.h"
#include "core/meta/part_lists.h"
#include "core/meta/read_leases.h"
#include "core/meta/repositories.h"
#include "core/meta/repository_settings.h"
#include "core/meta/staging.h"
#include "core/meta/tags.h"
#include "core/meta/writer.h"
#include "core/objects/lifecycle_scans.h"
#include "core/objects/range_summaries.h"
#include "core/objects/uploads.h"
#include "core/promotion/promotions.h"
#include "core/quotas/quotas.h"
#include "core/versioning/sstables.h"

namespace tarn::server {
namespace {

// Longer than any request that read the token before it was retired and may still read its rows.
constexpr std::chrono::minutes kRetiredGrace{10};
static_assert(kHeartbeatInterval * 3 <= meta::kWriterTtl, "two heartbeats may be missed");
// Estimated ratio of the size of ranges to that of their summaries.
constexpr size_t kNodesPerSummaryBytes = 8;
constexpr uint32_t kSweepRowsMax = 10'000;
// Clients expect the status of ended imports to be available for a day.
constexpr std::chrono::hours kEndedJobsKept{24};

}  // namespace

struct Assembly::Parts {
  Parts(db::Pool& pool, blob::Stores& stores, const Clock& clock, AssemblyOptions options)
      : writer(pool, clock),
        repositories(pool),
        settings(pool),
        branches(pool, options.branches_per_user_max),
        tags(pool),
        aliases(pool),
        commits(pool),
        nodes(pool, options.node_cache_bytes),
        summaries(pool, options.node_cache_bytes / kNodesPerSummaryBytes),
        staging(pool, writer),
        read_leases(pool, staging, options.read_leases),
        uploads(pool, clock, options.multipart_lifetime, options.multipart_open_max),
        part_lists(pool, writer),
        jobs(pool, clock),
        pull_requests(pool),
        versions(pool),
        lifecycle_scans(pool),
        sstables(pool),
        quotas(pool),
        owners(pool, stores, std::move(options.owners)),
        engine{clock,
               pool,
               stores,
               repositories,
               settings,
               branches,
               tags,
               aliases,
               commits,
               nodes,
               summaries,
               staging,
               read_leases,
               uploads,
               part_lists,
               jobs,
               pull_requests,
               versions,
               lifecycle_scans,
               sstables,
               quotas,
               writer,
               owners,
               queues,
               waiters,
               std::move(options.link_key)} {
    writer.register_process();
    read_leases.start();
  }

  meta::Writer writer;
  meta::Repositories repositories;
  meta::RepositorySettings settings;
  meta::Branches branches;
  meta::Tags tags;
  branch::AliasStore aliases;
  meta::Commits commits;
  meta::NodeStore nodes;
  objects::RangeSummaries summaries;
  meta::Staging staging;
  meta::ReadLeases read_leases;
  objects::Uploads uploads;
  meta::PartLists part_lists;
  jobs::Jobs jobs;
  branch::PullRequestStore pull_requests;
  meta::ObjectVersions versions;
  objects::LifecycleScans lifecycle_scans;
  versioning::Sstables sstables;
  quotas::Quotas quotas;
  branch::StoreOwners owners;
  branch::BranchQueues queues;
  WaiterLimit waiters{promotion::kPromotionWaitersMax};
  branch::Engine engine;
};

Assembly::Assembly(db::Pool& pool, blob::Stores& stores, const Clock& clock,
                   AssemblyOptions options)
    : parts_(std::make_unique<Parts>(pool, stores, clock, std::move(options))) {}

Assembly::~Assembly() {
  try {
    parts_->writer.unregister();
  } catch (const Error& error) {
    log::debug("writer row left to expire", {{"error", error.message()}});
  }
}

branch::Engine& Assembly::engine() { return parts_->engine; }

void Assembly::heartbeat() {
  parts_->writer.heartbeat();
  if (parts_->commits.forget_removed()) parts_->part_lists.forget_all();
}

void Assembly::look_at_database() {
  parts_->engine.pool.probe();
  parts_->writer.raise_all_fences();
  parts_->queues.release_abandoned(parts_->branches);
}

bool Assembly::sweep() {
  const bool more_uploads = parts_->uploads.sweep() == objects::kSweptUploadsMax;
  parts_->jobs.sweep(kEndedJobsKept);
  jobs::Operations(parts_->engine.pool, parts_->engine.clock).sweep(kEndedJobsKept);
  const bool more_deliveries = events::sweep_outbox(parts_->engine);
  const bool more_versions = parts_->versions.sweep(kSweepRowsMax) == kSweepRowsMax;
  return parts_->staging.sweep_retired(kRetiredGrace, kSweepRowsMax) > 0 || more_uploads ||
         more_versions || more_deliveries;
}

}  // namespace tarn::server
