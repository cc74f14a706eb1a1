#include "core/gc/collection_plan.h"

#include <algorithm>
#include <utility>

#include "core/base/cancellation.h"
#include "core/db/pool.h"
#include "core/gc/candidate_store.h"
#include "core/gc/history_removal.h"
#include "core/gc/known_candidates.h"
#include "core/gc/marking.h"
#include "core/gc/origins.h"
#include "core/gc/retention.h"
#include "core/gc/root_store.h"
#include "core/gc/store_listing.h"
#include "core/meta/writer.h"

namespace tarn::gc {
namespace {

constexpr int64_t kPlannedAges[] = {1, 7, 30, 90, 0};  ///< days; the last = older ones

}  // namespace

CollectionPlan plan_collection(branch::Engine& engine, const Repository& repository,
                               const CollectionOptions& options,
                               const std::function<void(const PlannedObject&)>& visit) {
  engine.writer.heartbeat();
  const Instant settled = engine.writer.fresh_since();
  CollectionPlan plan;
  CollectionCounts& counts = plan.counts;
  for (const int64_t days : kPlannedAges) plan.ages.push_back({days, {}});
  std::vector<CommitId> gone;
  std::vector<RemovedCommit> described;
  {
    db::Pool::Lease lease = engine.pool.lease();
    lease->begin_snapshot();
    History history = Roots(*lease).history(repository.id);
    gone = unreachable_commits(history, unreachable_kept(history, options));
    counts.removed_commits = static_cast<int64_t>(gone.size());
    std::erase_if(history.commits, [&gone](const HistoryCommit& commit) {
      return std::binary_search(gone.begin(), gone.end(), commit.id);
    });
    for (const CommitId& id : ids_of(expiring_commits(history))) gone.push_back(id);
    counts.expired_commits = static_cast<int64_t>(gone.size()) - counts.removed_commits;
    described = Roots(*lease).describe(repository.id, gone);
    lease->commit();
  }
  const auto rows = Candidates(engine.pool).known(repository.id, options.grace);
  const KnownCandidates known(rows);
  // Every list that nothing refers to dies in time.
  const Marked marked =
      mark(engine,
           {.repository = repository.id, .without = gone, .all_lists_die = true, .on_progress = [] {
              throw_if_cancelled();
            }});
  counts.removed_part_lists = static_cast<int64_t>(marked.unused_part_lists.size());
  const Origins origins(engine, described, marked, [] { throw_if_cancelled(); });
  const Instant now = engine.clock.now();
  counts.strangers =
      list_stored_objects(engine.stores, repository, [&](const ListedObject& object) {
        throw_if_cancelled();
        ++counts.stored_objects;
        if (marked.objects.contains(object.address)) {
          ++counts.live_objects;
          return;
        }
        const auto at = known.objects.find(own_key(object.address));
        const bool due = at != known.objects.end() && at->second->due;
        if (at == known.objects.end() && created_at(object.address) >= settled) return;
        const auto bytes = static_cast<int64_t>(object.size_bytes);
        (due ? counts.due_objects : counts.waiting_objects) += 1;
        (due ? counts.due_bytes : counts.waiting_bytes) += bytes;
        const GarbageOrigin origin =
            at == known.objects.end() ? origins.of(object.address) : at->second->origin;
        plan.groups.add(origin, bytes);
        for (GarbageAge& age : plan.ages) {
          if (age.days_max != 0 &&
              now - created_at(object.address) >= std::chrono::hours{24} * age.days_max) {
            continue;
          }
          ++age.size.objects;
          age.size.bytes += bytes;
          break;
        }
        if (visit) visit({object.address, object.size_bytes, due, origin});
      });
  return plan;
}

}  // namespace tarn::gc
