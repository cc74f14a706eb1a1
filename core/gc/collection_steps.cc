// The steps of one collection, in an order in which a crash after any of them loses nothing.
//
//   leftovers     objects that an earlier collection had doomed and did not remove any more
//   commits       commits that no root reaches; history that retention has expired
//   transactions  floors are raised: the oldest node and object address that any server may still
//                 publish. Then it waits until no older transaction runs
//   mark          what the roots reach, read in one snapshot
//   list          the store. An object below the floor that is not marked becomes a candidate, or
//                 is due if an earlier collection, a grace before, found it too
//   remove        due objects: first a row "doomed" for each, which every transaction that wants
//                 the object again takes away or fails on, then the file
//   nodes         part lists and nodes of trees that nothing refers to
//   unfinished    files of uploads that never ended; rows and files that were derived
//   space         space of the database
//
// The owner of the store is asked at the beginning and before each removal: a copy of the database
// must remove nothing. A collection that would remove too large a share stops and says so. If
// its server dies, the lease ends (LeasedProgress), and another server begins with the first step.
#include "core/gc/collection_steps.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/namespace_marker.h"
#include "core/branch/store_owner.h"
#include "core/gc/batches.h"
#include "core/gc/collection_ends.h"
#include "core/gc/derived_store.h"
#include "core/gc/origins.h"
#include "core/gc/space_release.h"
#include "core/gc/store_listing.h"
#include "core/meta/part_lists.h"
#include "core/meta/references.h"
#include "core/meta/repositories.h"
#include "core/meta/writer.h"
#include "core/versioning/sstables.h"

namespace tarn::gc {
namespace {

constexpr std::chrono::seconds kTransactionsWait{60};
constexpr std::chrono::milliseconds kTransactionsPoll{20};
constexpr uint32_t kNodesPerStatement = 10'000;
constexpr uint32_t kRunsLookedAt = 10;
constexpr std::string_view kObjectsFolder = "data";
/// Space of fewer removed rows is left to autovacuum.
constexpr int64_t kRowsWorthVacuum = 1'000;
/// How long metric files are kept that no commit names: commits to come may have them.
constexpr std::chrono::seconds kReadingsKept = std::chrono::hours{24 * 7};

}  // namespace

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

}  // namespace tarn::gc
