#include "core/gc/collection.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/fault_point.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/branch/namespace_marker.h"
#include "core/db/pool.h"
#include "core/gc/candidate_store.h"
#include "core/gc/derived_store.h"
#include "core/gc/marking.h"
#include "core/gc/origins.h"
#include "core/gc/retention.h"
#include "core/gc/root_store.h"
#include "core/gc/store_listing.h"
#include "core/meta/commits.h"
#include "core/meta/part_lists.h"
#include "core/meta/quotas.h"
#include "core/meta/references.h"
#include "core/meta/repositories.h"
#include "core/meta/writer.h"

namespace tarn::versioning {
namespace {

/// Longer than any step between two renewals, and than a store's or a database's answer takes.
constexpr std::chrono::minutes kLease{5};
/// Of the lease and of the progress that is shown.
constexpr std::chrono::seconds kRenewInterval{2};
/// Work before a pause that `busy_percent` asks for.
constexpr std::chrono::milliseconds kBusyStretch{50};
constexpr size_t kFailuresNamedMax = 100;
constexpr std::chrono::seconds kTransactionsWait{60};
constexpr std::chrono::milliseconds kTransactionsPoll{20};
constexpr size_t kRowsPerStatement = 1'000;
constexpr uint32_t kNodesPerStatement = 10'000;
constexpr size_t kOwnAddressBytes = 13;
constexpr uint32_t kRunsLookedAt = 10;
constexpr int64_t kPlannedAges[] = {1, 7, 30, 90, 0};  ///< days; the last = older ones
/// Of metric files that no commit names: commits to come may have them.
constexpr std::chrono::seconds kReadingsKept = std::chrono::hours{24 * 7};

/// Ends a collection whose server stops; the next one starts over.
struct Stopped {};

/// Ends a collection that a user has cancelled.
struct Cancelled {};

/// Ends a collection that may not remove the objects that it found.
struct Refused {
  std::string message;
};

std::string own_key(const OwnAddress& address) { return meta::candidate_address(address); }

OwnAddress own_address(std::string_view key) {
  OwnAddress out;
  TARN_CHECK(key.size() == out.id.size());
  std::memcpy(out.id.data(), key.data(), key.size());
  return out;
}

int64_t list_id(std::string_view key) {
  WireReader in(key, "part list candidate");
  return static_cast<int64_t>(in.u64be());
}

/// Candidates by address, apart from part lists.
struct KnownCandidates {
  explicit KnownCandidates(const std::vector<meta::KnownCandidate>& rows) {
    for (const meta::KnownCandidate& row : rows) {
      if (row.address.size() == kOwnAddressBytes) {
        objects[row.address] = &row;
      } else if (row.due) {
        due_lists.push_back(list_id(row.address));
      }
      if (row.address.size() != kOwnAddressBytes) lists.push_back(list_id(row.address));
    }
    std::sort(lists.begin(), lists.end());
    std::sort(due_lists.begin(), due_lists.end());
  }
  std::map<std::string_view, const meta::KnownCandidate*> objects;
  std::vector<int64_t> lists;
  std::vector<int64_t> due_lists;
};

/// Addresses that leave in statements of kRowsPerStatement.
template <typename Item>
class Batches {
 public:
  using Send = std::function<void(const std::vector<Item>&)>;
  explicit Batches(Send send) : send_(std::move(send)) {}
  void add(Item item) {
    items_.push_back(std::move(item));
    if (items_.size() == kRowsPerStatement) flush();
  }
  void flush() {
    if (!items_.empty()) send_(items_);
    items_.clear();
  }

 private:
  Send send_;
  std::vector<Item> items_;
};

/// How long a commit stays that no root leads to.
std::chrono::seconds unreachable_kept(const History& history, const CollectionOptions& options) {
  if (!history.rules) return options.unreachable_kept;
  return std::chrono::hours{24} * history.rules->default_retention_days;
}

std::vector<CommitId> ids_of(const std::vector<ExpiringCommit>& commits) {
  std::vector<CommitId> out;
  for (const ExpiringCommit& commit : commits) out.push_back(commit.id);
  return out;
}

/// One collection, under a claim.
class Collection {
 public:
  Collection(Engine& engine, const meta::CollectionClaim& claim, const CollectionOptions& options,
             OwnIdentities& identities, const std::stop_token& stop)
      : engine_(engine),
        claim_(claim),
        options_(options),
        identities_(identities),
        stop_(stop),
        repository_(engine.repositories.get(claim.repository)),
        collections_(engine.pool),
        candidates_(engine.pool) {}

  void run() {
    begin_step("leftovers");
    check_database();
    while (candidates_.purge(claim_, kNodesPerStatement) > 0) progress();
    remove_doomed_objects();
    begin_step("commits");
    if (claim_.deleted) purge_repository();
    remove_dead_commits();
    expire_history();
    begin_step("transactions");
    engine_.writer.heartbeat();  // objects stored here lately are judged too
    const meta::CollectionFloors floors = collections_.raise_floors(claim_);
    wait_for_transactions(floors);
    const std::vector<meta::KnownCandidate> rows = candidates_.known(claim_, options_.grace);
    const KnownCandidates known(rows);
    begin_step("mark");
    const Marked marked = mark(engine_, {.repository = claim_.repository,
                                         .deleted = claim_.deleted,
                                         .dying_lists = known.due_lists,
                                         .on_progress = [this] { progress(1); }});
    begin_step("list", stored_before());
    find_candidates(floors, marked, known);
    if (counts_.due_objects > 0) check_owner();
    check_share();
    check_database();  // a copy may have taken the store over meanwhile
    begin_step("remove", counts_.due_objects);
    doom_objects(marked, known);
    begin_step("nodes");
    remove_part_lists(marked, known);
    remove_nodes(floors, marked);
    begin_step("unfinished");
    remove_unfinished();
    remove_derived_rows();
    if (claim_.deleted && counts_.stored_objects == 0 && !candidates_.any(claim_.repository)) {
      meta::DerivedRows(engine_.pool).remove_of_deleted(claim_);
      collections_.set_emptied(claim_);
    }
  }

  const CollectionCounts& counts() const { return counts_; }
  const std::vector<std::string>& failures() const { return failures_; }
  const GarbageGroups& removed() const { return removed_; }

 private:
  void begin_step(std::string_view step, int64_t total = 0) {
    progress_ = {step, 0, total};
    renew();
  }

  void progress(int64_t done = 0) {
    progress_.done += done;
    if (stop_.stop_requested()) throw Stopped{};
    const auto now = std::chrono::steady_clock::now();
    if (now - renewed_ >= kRenewInterval) renew();
    if (options_.busy_percent < 100 && now - rested_ >= kBusyStretch) rest(now - rested_);
  }

  void renew() {
    renewed_ = std::chrono::steady_clock::now();
    switch (collections_.renew(claim_, kLease, progress_)) {
      case meta::Collections::Renewal::kHeld:
        return;
      case meta::Collections::Renewal::kCancelled:
        throw Cancelled{};
      case meta::Collections::Renewal::kLost:
        throw Error(ErrorCode::kUnavailable, reason::kCollectionLost,
                    "collecting garbage: another server has taken it over");
    }
  }

  /// A pause in proportion to the work since the one before, which may have been one slow step.
  void rest(std::chrono::steady_clock::duration worked) {
    const int64_t percent = std::max<int64_t>(options_.busy_percent, 1);
    const auto due =
        std::chrono::ceil<std::chrono::milliseconds>(worked) * (100 - percent) / percent;
    pause(stop_, std::min(due, std::chrono::milliseconds(kRenewInterval)));
    rested_ = std::chrono::steady_clock::now();
  }

  /// Objects of the last collection that listed the store; 0 = there is none.
  int64_t stored_before() {
    for (const meta::CollectionRun& run : collections_.runs(claim_.repository, kRunsLookedAt)) {
      if (run.counts.stored_objects > 0) return run.counts.stored_objects;
    }
    return 0;
  }

  /// A copy of this database may use the same store.
  void check_database() {
    if (const auto why = claim_store(engine_.stores, repository_, engine_.pool, identities_)) {
      throw Refused{*why};
    }
  }

  /// The roots are read when no transaction is left that began before the floors were read.
  void wait_for_transactions(const meta::CollectionFloors& floors) {
    const auto end = std::chrono::steady_clock::now() + kTransactionsWait;
    while (!collections_.are_settled(floors)) {
      progress();
      if (std::chrono::steady_clock::now() > end) {
        throw Error(ErrorCode::kUnavailable,
                    str_cat("collecting garbage: a transaction in the database's cluster has been "
                            "writing for longer than ",
                            kTransactionsWait.count(), " seconds; see pg_stat_activity"));
      }
      pause(stop_, kTransactionsPoll);
    }
  }

  /// From then on it cannot be restored.
  void purge_repository() {
    const bool purged = engine_.pool.transaction([&](db::Connection& connection) {
      meta::Collections::hold(connection, claim_);
      return meta::Repositories::purge(connection, claim_.repository, options_.deleted_kept);
    });
    if (purged) return;
    throw Error(ErrorCode::kUnavailable,
                "collecting garbage: the repository was restored meanwhile");
  }

  /// The rows of commits go first: from then on nothing can be made of their trees. They are locked
  /// before the roots are read again, so a ref that was made meanwhile is seen.
  void remove_dead_commits() {
    counts_.removed_commits = engine_.pool.transaction([&](db::Connection& connection) {
      meta::Collections::hold(connection, claim_);
      hold_repository(connection);
      meta::Roots roots(connection);
      const History history = roots.history(claim_.repository, options_.ignored_root);
      const auto dead = unreachable_commits(history, kept(history));
      removed_commits_.clear();
      if (dead.empty()) {
        roots.forget_deleted_branches(claim_.repository, kept(history));
        return int64_t{0};
      }
      roots.lock_commits(claim_.repository, dead);
      History later = roots.history(claim_.repository, options_.ignored_root);
      // Commits that are not locked may become roots at any moment: their ancestors stay.
      for (const HistoryCommit& commit : later.commits) {
        if (!std::binary_search(dead.begin(), dead.end(), commit.id)) {
          later.named.push_back(commit.id);
        }
      }
      const auto still = unreachable_commits(later, kept(later));
      std::vector<CommitId> both;
      std::set_intersection(dead.begin(), dead.end(), still.begin(), still.end(),
                            std::back_inserter(both));
      if (!claim_.deleted) removed_commits_ = roots.describe(claim_.repository, both);
      roots.remove_commits(claim_.repository, both);
      roots.forget_deleted_branches(claim_.repository, kept(later));
      return static_cast<int64_t>(both.size());
    });
    if (counts_.removed_commits > 0) engine_.commits.forget_all();
  }

  /// Roots of a repository that was deleted meanwhile are put away; it may be restored. Throws
  /// not_found.
  void hold_repository(db::Connection& connection) const {
    if (!claim_.deleted) meta::Repositories::hold(connection, claim_.repository);
  }

  /// How long a commit stays that no root leads to.
  std::chrono::seconds kept(const History& history) const {
    return claim_.deleted ? std::chrono::seconds{0} : unreachable_kept(history, options_);
  }

  /// Likewise the trees of commits whose retention is over; their rows stay.
  void expire_history() {
    if (claim_.deleted) return;
    std::vector<meta::RemovedCommit> described;
    counts_.expired_commits = engine_.pool.transaction([&](db::Connection& connection) {
      meta::Collections::hold(connection, claim_);
      hold_repository(connection);  // and its rules
      meta::Roots roots(connection);
      const auto first = expiring_commits(roots.history(claim_.repository, options_.ignored_root));
      if (first.empty()) return int64_t{0};
      roots.lock_commits(claim_.repository, ids_of(first));
      auto both = expiring_commits(roots.history(claim_.repository, options_.ignored_root));
      std::erase_if(both, [&first](const ExpiringCommit& commit) {
        return !std::binary_search(
            first.begin(), first.end(), commit,
            [](const ExpiringCommit& a, const ExpiringCommit& b) { return a.id < b.id; });
      });
      described = roots.describe(claim_.repository, ids_of(both));
      return roots.expire_commits(claim_.repository, both, "", "");
    });
    // Their objects are reported as those of commits, too.
    removed_commits_.insert(removed_commits_.end(), described.begin(), described.end());
    if (counts_.expired_commits > 0) engine_.commits.forget_all();
  }

  void find_candidates(const meta::CollectionFloors& floors, const Marked& marked,
                       const KnownCandidates& known) {
    const Origins origins(engine_, removed_commits_, marked, [this] { progress(); });
    Batches<meta::Candidate> found([&](const auto& batch) { candidates_.add(claim_, batch); });
    counts_.strangers =
        list_stored_objects(engine_.stores, repository_, [&](const ListedObject& object) {
          progress(1);
          ++counts_.stored_objects;
          if (marked.objects.contains(object.address)) {
            ++counts_.live_objects;
            return;
          }
          const std::string key = own_key(object.address);
          const auto at = known.objects.find(key);
          if (at != known.objects.end()) {
            count_known(*at->second);
          } else if (created_at(object.address) < floors.address) {
            ++counts_.found_objects;
            counts_.found_bytes += static_cast<int64_t>(object.size_bytes);
            const GarbageOrigin origin = claim_.deleted
                                             ? GarbageOrigin{GarbageReason::kRepository, ""}
                                             : origins.of(object.address);
            found.add({key, static_cast<int64_t>(object.size_bytes), origin});
          }
        });
    for (const int64_t id : marked.unused_part_lists) {
      if (std::binary_search(known.lists.begin(), known.lists.end(), id)) continue;
      found.add({meta::candidate_address(PartListAddress{id}), 0, {}});
    }
    found.flush();
  }

  void count_known(const meta::KnownCandidate& candidate) {
    (candidate.due ? counts_.due_objects : counts_.waiting_objects) += 1;
    (candidate.due ? counts_.due_bytes : counts_.waiting_bytes) += candidate.size_bytes;
  }

  /// A repository of another installation may have its objects in the same namespace. Called before
  /// anything is removed.
  void check_owner() const {
    if (owns_namespace(engine_.stores, repository_)) return;
    throw Refused{str_cat(repository_.storage_namespace, "/_tarn/repository lacks the line ",
                          marker_digits(repository_),
                          ": the objects there may be those of another installation; if none uses "
                          "them, write that line below the repository's name")};
  }

  void check_share() const {
    const int64_t share =
        claim_.share_max > 0 ? claim_.share_max : static_cast<int64_t>(options_.share_max);
    if (claim_.deleted || counts_.due_objects <= kRemovedWithoutShare ||
        counts_.due_objects * 100 <= counts_.stored_objects * share) {
      return;
    }
    throw Refused{str_cat("it would remove ", counts_.due_objects, " of ", counts_.stored_objects,
                          " objects, more than ", share,
                          " percent; look at the plan, and permit more with --yes-delete PERCENT")};
  }

  void doom_objects(const Marked& marked, const KnownCandidates& known) {
    Batches<std::string> referenced([&](const auto& batch) { candidates_.forget(claim_, batch); });
    Batches<std::string> dead([&](const auto& batch) {
      progress();
      remove(candidates_.doom(claim_, batch));
    });
    for (const auto& [key, candidate] : known.objects) {
      if (marked.objects.contains(own_address(key))) {
        ++counts_.rescued_objects;
        referenced.add(std::string(key));
      } else if (candidate->due) {
        dead.add(std::string(key));
      }
    }
    referenced.flush();
    dead.flush();
  }

  /// Objects that an earlier collection had doomed: it was interrupted, or the store had refused.
  void remove_doomed_objects() {
    for (std::string after;;) {
      const auto left = candidates_.doomed(claim_, after, kRowsPerStatement);
      if (left.empty()) return;
      if (after.empty()) check_owner();
      after = left.back().address;
      remove(left);
    }
  }

  void remove(std::span<const meta::Candidate> doomed) {
    // A tenth of a second's at a time, so that a pace of few is even.
    const size_t at_once =
        options_.deletes_per_second == 0
            ? blob::kRemovedAtOnceMax
            : std::clamp<size_t>(options_.deletes_per_second / 10, 1, blob::kRemovedAtOnceMax);
    while (!doomed.empty()) {
      const auto batch = doomed.first(std::min(at_once, doomed.size()));
      doomed = doomed.subspan(batch.size());
      const auto begun = std::chrono::steady_clock::now();
      remove_batch(batch);
      pace(batch.size(), begun);
    }
  }

  void remove_batch(std::span<const meta::Candidate> batch) {
    std::vector<OwnAddress> addresses;
    for (const meta::Candidate& candidate : batch) {
      addresses.push_back(own_address(candidate.address));
    }
    std::set<std::string> kept;
    for (const UnremovedObject& object :
         remove_stored_objects(engine_.stores, repository_, addresses)) {
      if (!kept.insert(own_key(object.address)).second) continue;
      ++counts_.failed_objects;
      note_failure(str_cat(relative_path(object.address), ": ", object.message));
    }
    fault_point("gc.batch_removed");
    std::vector<std::string> removed;
    for (const meta::Candidate& candidate : batch) {
      if (kept.contains(candidate.address)) continue;
      removed.push_back(candidate.address);
      ++counts_.removed_objects;
      counts_.removed_bytes += candidate.size_bytes;
      removed_.add(candidate.origin, candidate.size_bytes);
    }
    if (!removed.empty()) candidates_.set_removed(claim_, removed);
    progress(static_cast<int64_t>(batch.size()));
  }

  void note_failure(std::string failure) {
    if (failures_.size() < kFailuresNamedMax) failures_.push_back(std::move(failure));
  }

  void pace(size_t removed, std::chrono::steady_clock::time_point begun) {
    if (options_.deletes_per_second == 0) return;
    using std::chrono::milliseconds;
    const milliseconds due(static_cast<int64_t>(removed) * 1000 / options_.deletes_per_second);
    const auto taken =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
    if (taken < due) pause(stop_, due - taken);
  }

  void remove_derived_rows() {
    meta::DerivedRows rows(engine_.pool);
    const uint32_t limit = kRowsPerStatement;
    while (rows.remove_readings(claim_, kReadingsKept, limit) == limit) progress();
    rows.remove_dead_writers(claim_);
  }

  /// The right to list unfinished uploads may be missing; all else is done by then.
  void remove_unfinished() {
    if (!owns_namespace(engine_.stores, repository_)) return;
    try {
      counts_.removed_unfinished = remove_unfinished_objects(
          engine_.stores, repository_, engine_.clock.now() - options_.unfinished_kept);
    } catch (const Error& error) {
      note_failure(str_cat("removing what unfinished uploads left: ", error.message()));
    }
  }

  void remove_part_lists(const Marked& marked, const KnownCandidates& known) {
    Batches<std::string> referenced([&](const auto& batch) { candidates_.forget(claim_, batch); });
    Batches<std::string> dead([&](const auto& batch) {
      counts_.removed_part_lists += candidates_.remove_part_lists(claim_, batch);
    });
    for (const int64_t id : known.lists) {
      const std::string key = meta::candidate_address(PartListAddress{id});
      const bool unused =
          std::binary_search(marked.unused_part_lists.begin(), marked.unused_part_lists.end(), id);
      if (!unused && !claim_.deleted) {
        referenced.add(key);
      } else if (std::binary_search(known.due_lists.begin(), known.due_lists.end(), id)) {
        dead.add(key);
      }
    }
    referenced.flush();
    dead.flush();
    if (counts_.removed_part_lists > 0) engine_.part_lists.forget_all();
  }

  void remove_nodes(const meta::CollectionFloors& floors, const Marked& marked) {
    meta::NodeRemoval removal(engine_.pool);
    for (Nid after = 0;;) {
      progress();
      const auto nids = removal.page(claim_.repository, after, floors.nid, kNodesPerStatement);
      if (nids.empty()) return;
      after = nids.back();
      std::vector<Nid> dead;
      for (const Nid nid : nids) {
        if (!marked.nodes.contains(nid)) dead.push_back(nid);
      }
      if (dead.empty()) continue;
      // Before the rows: a file that is missing is written again, and one without a row would stay.
      remove_derived_files(engine_.stores, repository_, removal.files(claim_.repository, dead));
      removal.remove(claim_, dead);
      counts_.removed_nodes += static_cast<int64_t>(dead.size());
    }
  }

  Engine& engine_;
  const meta::CollectionClaim& claim_;
  const CollectionOptions& options_;
  OwnIdentities& identities_;
  const std::stop_token& stop_;
  const Repository repository_;
  meta::Collections collections_;
  meta::Candidates candidates_;
  CollectionCounts counts_;
  std::vector<std::string> failures_;
  GarbageGroups removed_;
  std::vector<meta::RemovedCommit> removed_commits_;
  meta::CollectionProgress progress_;
  std::chrono::steady_clock::time_point renewed_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point rested_ = renewed_;
};

void log_end(const meta::CollectionClaim& claim, const Repository& repository,
             std::string_view state, const CollectionCounts& counts) {
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
  metrics::counter("tarn_gc_runs_total", "Garbage collections by how they ended.", {"state", state})
      .add();
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

}  // namespace

bool run_one_collection(Engine& engine, const CollectionOptions& options, OwnIdentities& identities,
                        const std::stop_token& stop) {
  meta::Collections collections(engine.pool);
  const meta::CollectionSchedule schedule{options.interval, options.deleted_kept};
  const auto claim = collections.claim(schedule, kLease);
  if (!claim) {
    if (collections.is_waiting_for_floors(schedule)) engine.writer.heartbeat();
    return false;
  }
  const Running running;
  Collection collection(engine, *claim, options, identities, stop);
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
  } catch (const Refused& refusal) {
    state = "refused";
    error = refusal.message;
  } catch (const Error& failure) {
    if (failure.reason() == reason::kCollectionLost) return true;
    state = "failed";
    error = failure.message();
  }
  count_run(state, collection.counts());
  log_end(*claim, engine.repositories.get(claim->repository), state, collection.counts());
  collections.finish(
      *claim, {state, error, collection.counts(), collection.failures(), collection.removed()},
      schedule);
  engine.quotas.make_due(claim->repository);
  engine.writer.heartbeat();  // the next one need not wait for this server's
  return true;
}

CollectionPlan plan_collection(Engine& engine, const Repository& repository,
                               const CollectionOptions& options,
                               const std::function<void(const PlannedObject&)>& visit) {
  engine.writer.heartbeat();
  const Instant settled = engine.writer.fresh_since();
  CollectionPlan plan;
  CollectionCounts& counts = plan.counts;
  for (const int64_t days : kPlannedAges) plan.ages.push_back({days, {}});
  std::vector<CommitId> gone;
  std::vector<meta::RemovedCommit> described;
  {
    db::Pool::Lease lease = engine.pool.lease();
    lease->begin_snapshot();
    History history = meta::Roots(*lease).history(repository.id);
    gone = unreachable_commits(history, unreachable_kept(history, options));
    counts.removed_commits = static_cast<int64_t>(gone.size());
    std::erase_if(history.commits, [&gone](const HistoryCommit& commit) {
      return std::binary_search(gone.begin(), gone.end(), commit.id);
    });
    for (const CommitId& id : ids_of(expiring_commits(history))) gone.push_back(id);
    counts.expired_commits = static_cast<int64_t>(gone.size()) - counts.removed_commits;
    described = meta::Roots(*lease).describe(repository.id, gone);
    lease->commit();
  }
  const auto rows = meta::Candidates(engine.pool).known(repository.id, options.grace);
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

void request_collection(Engine& engine, const Repository& repository, std::string_view user,
                        uint32_t share_max) {
  if (share_max > 100) {
    throw Error(ErrorCode::kInvalidArgument,
                str_cat("collecting garbage: ", share_max, " is no percentage"));
  }
  meta::Collections(engine.pool).request(repository.id, user, static_cast<int32_t>(share_max));
}

std::vector<meta::CollectionRun> list_collections(Engine& engine, const Repository& repository,
                                                  uint32_t limit) {
  return meta::Collections(engine.pool).runs(repository.id, limit);
}

meta::CollectionRun get_collection(Engine& engine, const Repository& repository, int64_t run) {
  if (auto found = meta::Collections(engine.pool).find(repository.id, run)) {
    return std::move(*found);
  }
  throw Error(ErrorCode::kNotFound, reason::kCollectionNotFound,
              str_cat("garbage collection ", run, " of the repository: not found"));
}

void cancel_collection(Engine& engine, const Repository& repository, std::string_view user) {
  if (meta::Collections(engine.pool).cancel(repository.id, user)) return;
  throw Error(ErrorCode::kNotFound, reason::kCollectionNotFound,
              "cancelling garbage collection: none of the repository runs or was asked for");
}

void adopt_store(Engine& engine, const Repository& repository) {
  adopt_store(engine.stores, repository, engine.pool);
}

bool is_collection_requested(Engine& engine, const Repository& repository) {
  return meta::Collections(engine.pool).requested(repository.id);
}

}  // namespace tarn::versioning
