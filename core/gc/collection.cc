#include "core/gc/collection.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/fault.h"
#include "core/base/fault_point.h"
#include "core/base/lease.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/engine.h"
#include "core/branch/namespace_marker.h"
#include "core/branch/store_owner.h"
#include "core/gc/batches.h"
#include "core/gc/candidate_store.h"
#include "core/gc/collection_ends.h"
#include "core/gc/collection_options.h"
#include "core/gc/collection_report.h"
#include "core/gc/collection_store.h"
#include "core/gc/derived_store.h"
#include "core/gc/history_removal.h"
#include "core/gc/known_candidates.h"
#include "core/gc/leased_progress.h"
#include "core/gc/marking.h"
#include "core/gc/origins.h"
#include "core/gc/space_release.h"
#include "core/gc/store_listing.h"
#include "core/meta/part_lists.h"
#include "core/meta/references.h"
#include "core/meta/repositories.h"
#include "core/meta/writer.h"
#include "core/model/repository.h"
#include "core/quotas/quotas.h"
#include "core/versioning/sstables.h"

namespace tarn::gc {
namespace {

// Removal of a repository's objects from its store, once their rows say that they are to go.

/// The removals of one collection, on its thread.
class ObjectRemoval {
 public:
  ObjectRemoval(branch::Engine& engine, const Repository& repository, const CollectionClaim& claim,
                const CollectionOptions& options, LeasedProgress& progress,
                CollectionReport& report, const std::stop_token& stop)
      : engine_(engine),
        repository_(repository),
        claim_(claim),
        options_(options),
        progress_(progress),
        report_(report),
        stop_(stop),
        candidates_(engine.pool) {}

  /// Dooms the candidates that are due and that nothing refers to.
  void doom_objects(const Marked& marked, const KnownCandidates& known);
  /// Objects that an earlier collection had doomed: it was interrupted, or the store had refused.
  void remove_doomed_objects();

 private:
  void remove(std::span<const Candidate> doomed);
  void remove_batch(std::span<const Candidate> batch);
  void note_removed();
  void pace(size_t removed, std::chrono::steady_clock::time_point begun);

  branch::Engine& engine_;
  const Repository& repository_;
  const CollectionClaim& claim_;
  const CollectionOptions& options_;
  LeasedProgress& progress_;
  CollectionReport& report_;
  const std::stop_token& stop_;
  Candidates candidates_;
  std::vector<Candidate> removed_;  ///< from the store, and not noted yet
};

/// Rows whose objects are removed between two transactions: those of one are hardly more work than
/// those of ten, and each waits for the disk of the database.
constexpr size_t kRowsDoomedAtOnce = 5'000;

/// A repository of another installation may have its objects in the same namespace. Called before
/// anything is removed. Throws CollectionRefused.
void check_namespace(branch::Engine& engine, const Repository& repository) {
  if (branch::owns_namespace(engine.stores, repository)) return;
  throw CollectionRefused{
      str_cat(repository.storage_namespace, "/_tarn/repository lacks the line ",
              branch::marker_digits(repository),
              ": the objects there may be those of another installation; if none uses "
              "them, write that line below the repository's name")};
}

void ObjectRemoval::doom_objects(const Marked& marked, const KnownCandidates& known) {
  Batches<std::string> referenced([&](const auto& batch) { candidates_.forget(claim_, batch); });
  Batches<std::string> dead(
      [&](const auto& batch) {
        progress_.progress();
        remove(candidates_.doom(claim_, batch));
      },
      kRowsDoomedAtOnce);
  for (const auto& [key, candidate] : known.objects) {
    if (marked.objects.contains(own_address(key))) {
      ++report_.counts.rescued_objects;
      referenced.add(std::string(key));
    } else if (candidate->due) {
      dead.add(std::string(key));
    }
  }
  referenced.flush();
  dead.flush();
}

void ObjectRemoval::remove_doomed_objects() {
  for (std::string after;;) {
    const auto left = candidates_.doomed(claim_, after, kRowsDoomedAtOnce);
    if (left.empty()) return;
    if (after.empty()) check_namespace(engine_, repository_);
    after = left.back().address;
    remove(left);
  }
}

void ObjectRemoval::remove(std::span<const Candidate> doomed) {
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
    if (options_.deletes_per_second > 0) note_removed();
    progress_.progress(static_cast<int64_t>(batch.size()));
    pace(batch.size(), begun);
  }
  note_removed();
}

void ObjectRemoval::remove_batch(std::span<const Candidate> batch) {
  // Removing takes hours where there is much.
  if (const auto why = engine_.owners.refusal(repository_)) throw CollectionRefused{*why};
  std::vector<OwnAddress> addresses;
  for (const Candidate& candidate : batch) {
    addresses.push_back(own_address(candidate.address));
  }
  std::set<std::string> kept;
  for (const UnremovedObject& object :
       remove_stored_objects(engine_.stores, repository_, addresses)) {
    if (!kept.insert(own_key(object.address)).second) continue;
    ++report_.counts.failed_objects;
    report_.note_failure(str_cat(relative_path(object.address), ": ", object.message));
  }
  fault_point("gc.batch_removed");
  for (const Candidate& candidate : batch) {
    if (!kept.contains(candidate.address)) removed_.push_back(candidate);
  }
}

// Rows that are not noted because the collection ends early are removed and counted by the next
// one.
void ObjectRemoval::note_removed() {
  if (removed_.empty()) return;
  std::vector<std::string> addresses;
  for (const Candidate& candidate : removed_) addresses.push_back(candidate.address);
  candidates_.set_removed(claim_, addresses);
  for (const Candidate& candidate : removed_) {
    ++report_.counts.removed_objects;
    report_.counts.removed_bytes += candidate.size_bytes;
    report_.removed.add(candidate.origin, candidate.size_bytes);
  }
  removed_.clear();
}

void ObjectRemoval::pace(size_t removed, std::chrono::steady_clock::time_point begun) {
  if (options_.deletes_per_second == 0) return;
  using std::chrono::milliseconds;
  const milliseconds due(static_cast<int64_t>(removed) * 1000 / options_.deletes_per_second);
  const auto taken =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
  if (taken < due) pause(stop_, due - taken);
}

// The steps of one collection, in their order.

/// Objects that a collection may remove whatever their share of the repository is.
constexpr int64_t kRemovedWithoutShare = 100;

/// One collection, under a claim. One thread at a time.
class CollectionSteps {
 public:
  CollectionSteps(branch::Engine& engine, const CollectionClaim& claim,
                  const CollectionOptions& options, const std::stop_token& stop);
  CollectionSteps(const CollectionSteps&) = delete;

  /// Throws what collection_ends.h has, and Error.
  void run();

  const CollectionReport& report() const { return report_; }
  CollectionOutcome outcome() const { return {report_.counts, report_.failures, report_.removed}; }
  /// Whether it has removed many rows whose space it has not given back.
  bool owes_space() const;

 private:
  /// Stores what was done until now.
  void begin_step(std::string_view step, int64_t total = 0);
  int64_t stored_before();
  void check_owner();
  void wait_for_transactions(const CollectionFloors& floors);
  void find_candidates(const CollectionFloors& floors, const Marked& marked,
                       const KnownCandidates& known);
  void count_known(const KnownCandidate& candidate);
  void check_share() const;
  void remove_derived_rows();
  void remove_stray_files(Instant written_before);
  void remove_unfinished();
  void release_space();
  int64_t removed_rows() const;
  void remove_part_lists(const Marked& marked, const KnownCandidates& known);
  void remove_nodes(const CollectionFloors& floors, const Marked& marked);

  branch::Engine& engine_;
  const CollectionClaim& claim_;
  const CollectionOptions& options_;
  const std::stop_token& stop_;
  const Repository repository_;
  Collections collections_;
  Candidates candidates_;
  CollectionReport report_;
  CollectionCounts& counts_ = report_.counts;
  int64_t purged_candidates_ = 0;
  bool space_released_ = false;
  LeasedProgress progress_;
  HistoryRemoval history_;
  ObjectRemoval objects_;
};

constexpr std::chrono::seconds kTransactionsWait{60};
constexpr std::chrono::milliseconds kTransactionsPoll{20};
constexpr uint32_t kNodesPerStatement = 10'000;
constexpr uint32_t kRunsLookedAt = 10;
constexpr std::string_view kObjectsFolder = "data";

/// Space of fewer removed rows is left to autovacuum.
constexpr int64_t kRowsWorthVacuum = 1'000;

/// How long metric files are kept that no commit names: commits to come may have them.
constexpr std::chrono::seconds kReadingsKept = std::chrono::hours{24 * 7};

CollectionSteps::CollectionSteps(branch::Engine& engine, const CollectionClaim& claim,
                                 const CollectionOptions& options, const std::stop_token& stop)
    : engine_(engine),
      claim_(claim),
      options_(options),
      stop_(stop),
      repository_(engine.repositories.get(claim.repository)),
      collections_(engine.pool),
      candidates_(engine.pool),
      progress_(collections_, claim, options, stop),
      history_(engine, claim, options, report_.counts),
      objects_(engine, repository_, claim, options, progress_, report_, stop) {}

void CollectionSteps::run() {
  const LeasedProgress::Renewing renewing(progress_);
  progress_.begin_step("leftovers");
  if (const auto why = engine_.owners.refusal_to_collect(repository_)) {
    throw CollectionRefused{*why};
  }
  while (const int64_t rows = candidates_.purge(claim_, kNodesPerStatement)) {
    purged_candidates_ += rows;
    progress_.progress();
  }
  objects_.remove_doomed_objects();
  begin_step("commits");
  if (claim_.deleted) history_.purge_repository();
  history_.remove_dead_commits();
  history_.expire_history();
  begin_step("transactions");
  engine_.writer.heartbeat();  // objects stored here lately are judged too
  const CollectionFloors floors = collections_.raise_floors(claim_);
  wait_for_transactions(floors);
  const std::vector<KnownCandidate> rows = candidates_.known(claim_, options_.grace);
  const KnownCandidates known(rows);
  begin_step("mark");
  const Marked marked = mark(engine_, {.repository = claim_.repository,
                                       .deleted = claim_.deleted,
                                       .dying_lists = known.due_lists,
                                       .on_progress = [this] { progress_.progress(1); }});
  begin_step("list", stored_before());
  find_candidates(floors, marked, known);
  if (counts_.due_objects > 0) check_namespace(engine_, repository_);
  check_share();
  check_owner();  // a copy may have taken the store over meanwhile
  begin_step("remove", counts_.due_objects);
  objects_.doom_objects(marked, known);
  begin_step("nodes");
  check_owner();  // of files of nodes
  remove_part_lists(marked, known);
  remove_nodes(floors, marked);
  begin_step("unfinished");
  check_owner();
  remove_unfinished();
  remove_derived_rows();
  if (claim_.deleted && counts_.stored_objects == 0 && !candidates_.any(claim_.repository)) {
    DerivedRows(engine_.pool).remove_of_deleted(claim_);
    collections_.set_emptied(claim_);
  }
  begin_step("space");
  release_space();
}

void CollectionSteps::begin_step(std::string_view step, int64_t total) {
  collections_.store_outcome(claim_, outcome());
  progress_.begin_step(step, total);
}

/// Objects of the last collection that listed the store; 0 = there is none.
int64_t CollectionSteps::stored_before() {
  for (const CollectionRun& run : collections_.runs(claim_.repository, kRunsLookedAt)) {
    if (run.counts.stored_objects > 0) return run.counts.stored_objects;
  }
  return 0;
}

/// A copy of this database may use the same store, or take it over while this runs.
void CollectionSteps::check_owner() {
  if (const auto why = engine_.owners.refusal(repository_)) throw CollectionRefused{*why};
}

/// The roots are read when no transaction is left that began before the floors were read.
void CollectionSteps::wait_for_transactions(const CollectionFloors& floors) {
  const auto end = std::chrono::steady_clock::now() + kTransactionsWait;
  while (!collections_.are_settled(floors)) {
    progress_.progress();
    if (std::chrono::steady_clock::now() > end) {
      throw Error(ErrorCode::kUnavailable,
                  str_cat("collecting garbage: a transaction in the database's cluster has been "
                          "writing for longer than ",
                          kTransactionsWait.count(), " seconds; see pg_stat_activity"));
    }
    pause(stop_, kTransactionsPoll);
  }
}

void CollectionSteps::find_candidates(const CollectionFloors& floors, const Marked& marked,
                                      const KnownCandidates& known) {
  const Origins origins(engine_, history_.removed(), marked, [this] { progress_.progress(); });
  Batches<Candidate> found([&](const auto& batch) { candidates_.add(claim_, batch); });
  counts_.strangers =
      list_stored_objects(engine_.stores, repository_, [&](const ListedObject& object) {
        progress_.progress(1);
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

void CollectionSteps::count_known(const KnownCandidate& candidate) {
  (candidate.due ? counts_.due_objects : counts_.waiting_objects) += 1;
  (candidate.due ? counts_.due_bytes : counts_.waiting_bytes) += candidate.size_bytes;
}

void CollectionSteps::check_share() const {
  const int64_t share =
      claim_.share_max > 0 ? claim_.share_max : static_cast<int64_t>(options_.share_max);
  if (claim_.deleted || counts_.due_objects <= kRemovedWithoutShare ||
      counts_.due_objects * 100 <= counts_.stored_objects * share) {
    return;
  }
  throw CollectionRefused{
      str_cat("it would remove ", counts_.due_objects, " of ", counts_.stored_objects,
              " objects, more than ", share,
              " percent; look at the plan, and permit more with --yes-delete PERCENT")};
}

void CollectionSteps::remove_derived_rows() {
  DerivedRows rows(engine_.pool);
  const uint32_t limit = kRowsPerStatement;
  while (rows.remove_readings(claim_, kReadingsKept, limit) == limit) progress_.progress();
  for (Nid after = 0; rows.remove_stray_summaries(claim_, after, kNodesPerStatement);) {
    progress_.progress();
  }
  // A file that stays here is a stray one from now on.
  remove_derived_files(engine_.stores, repository_, rows.remove_stray_sstables(claim_));
  rows.remove_dead_writers(claim_);
}

/// The right to list unfinished uploads may be missing; all else is done by then.
void CollectionSteps::remove_unfinished() {
  if (!branch::owns_namespace(engine_.stores, repository_)) return;
  // By both clocks, since the store dates its files by its own.
  const Instant before =
      std::min(engine_.clock.now(), SystemClock().now()) - options_.unfinished_kept;
  try {
    for (const std::string_view folder : {kObjectsFolder, versioning::kSstablesFolder}) {
      counts_.removed_unfinished +=
          remove_unfinished_files(engine_.stores, repository_, folder, before);
    }
  } catch (const Error& error) {
    report_.note_failure(str_cat("removing what unfinished uploads left: ", error.message()));
  }
  remove_stray_files(claim_.deleted ? Instant::max() : before);
}

/// Files of SSTables that no row names: of servers that died, of requests that wrote the same one,
/// of nodes that were removed meanwhile, and of deleted repositories. They are listed before the
/// rows are read, since a file gets its row after it was written.
void CollectionSteps::remove_stray_files(Instant written_before) {
  std::vector<std::string> files =
      list_files(engine_.stores, repository_, versioning::kSstablesFolder, written_before);
  if (files.empty()) return;
  const std::set<std::string> named = DerivedRows(engine_.pool).sstable_files(claim_.repository);
  std::erase_if(files, [&named](const std::string& file) { return named.contains(file); });
  remove_derived_files(engine_.stores, repository_, files);
}

/// All else is done by then: what fails here is left to autovacuum and to the next collection.
void CollectionSteps::release_space() {
  SpaceRelease space(
      engine_.pool, claim_, [this] { progress_.progress(1); }, stop_);
  try {
    if (removed_rows() < kRowsWorthVacuum && !space.is_wanted()) return;
    if (!space.run()) return;
    space_released_ = true;
    collections_.set_space_released(claim_);
  } catch (const Error& error) {
    if (error.reason() == reason::kCollectionLost) throw;
    log::warn("garbage_collection_space", {{"error", error.message()}});
  }
}

int64_t CollectionSteps::removed_rows() const {
  return purged_candidates_ + counts_.removed_commits + counts_.expired_commits +
         counts_.removed_nodes;
}

bool CollectionSteps::owes_space() const {
  return removed_rows() >= kRowsWorthVacuum && !space_released_;
}

void CollectionSteps::remove_part_lists(const Marked& marked, const KnownCandidates& known) {
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

void CollectionSteps::remove_nodes(const CollectionFloors& floors, const Marked& marked) {
  NodeRemoval removal(engine_.pool);
  for (Nid after = 0;;) {
    progress_.progress();
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
