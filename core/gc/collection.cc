#include "core/gc/collection.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/branch/namespace_marker.h"
#include "core/db/pool.h"
#include "core/gc/candidate_store.h"
#include "core/gc/marking.h"
#include "core/gc/retention.h"
#include "core/gc/root_store.h"
#include "core/gc/store_listing.h"
#include "core/meta/commits.h"
#include "core/meta/part_lists.h"
#include "core/meta/references.h"
#include "core/meta/repositories.h"
#include "core/meta/writer.h"

namespace tarn::versioning {
namespace {

/// Longer than any step between two renewals, and than a store's or a database's answer takes.
constexpr std::chrono::minutes kLease{5};
constexpr std::chrono::seconds kRenewInterval{20};
constexpr std::chrono::seconds kTransactionsWait{60};
constexpr std::chrono::milliseconds kTransactionsPoll{20};
constexpr size_t kRowsPerStatement = 1'000;
constexpr uint32_t kNodesPerStatement = 10'000;
constexpr size_t kOwnAddressBytes = 13;

/// Ends a collection whose server stops; the next one starts over.
struct Stopped {};

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
             const std::stop_token& stop)
      : engine_(engine),
        claim_(claim),
        options_(options),
        stop_(stop),
        repository_(engine.repositories.get(claim.repository)),
        collections_(engine.pool),
        candidates_(engine.pool) {}

  void run() {
    while (candidates_.purge(claim_, kNodesPerStatement) > 0) progress();
    if (claim_.deleted) purge_repository();
    remove_dead_commits();
    expire_history();
    engine_.writer.heartbeat();  // objects stored here lately are judged too
    const meta::CollectionFloors floors = collections_.raise_floors(claim_);
    wait_for_transactions(floors);
    const std::vector<meta::KnownCandidate> rows = candidates_.known(claim_, options_.grace);
    const KnownCandidates known(rows);
    const Marked marked = mark(engine_, {.repository = claim_.repository,
                                         .deleted = claim_.deleted,
                                         .dying_lists = known.due_lists,
                                         .on_progress = [this] { progress(); }});
    find_candidates(floors, marked, known);
    check_owner();
    check_share();
    doom_objects(marked, known);
    remove_doomed_objects();
    remove_part_lists(marked, known);
    remove_nodes(floors, marked);
    if (claim_.deleted && counts_.stored_objects == 0 && !candidates_.any(claim_.repository)) {
      collections_.set_emptied(claim_);
    }
  }

  const CollectionCounts& counts() const { return counts_; }

 private:
  void progress() {
    if (stop_.stop_requested()) throw Stopped{};
    const auto now = std::chrono::steady_clock::now();
    if (now - renewed_ < kRenewInterval) return;
    renewed_ = now;
    if (!collections_.renew(claim_, kLease)) {
      throw Error(ErrorCode::kUnavailable, reason::kCollectionLost,
                  "collecting garbage: another server has taken it over");
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
      const auto dead = dead_commits(roots);
      if (dead.empty()) return int64_t{0};
      roots.lock_commits(claim_.repository, dead);
      const auto still = dead_commits(roots);
      std::vector<CommitId> both;
      std::set_intersection(dead.begin(), dead.end(), still.begin(), still.end(),
                            std::back_inserter(both));
      roots.remove_commits(claim_.repository, both);
      return static_cast<int64_t>(both.size());
    });
    if (counts_.removed_commits > 0) engine_.commits.forget_all();
  }

  /// Roots of a repository that was deleted meanwhile are put away; it may be restored. Throws
  /// not_found.
  void hold_repository(db::Connection& connection) const {
    if (!claim_.deleted) meta::Repositories::hold(connection, claim_.repository);
  }

  std::vector<CommitId> dead_commits(meta::Roots& roots) const {
    const History history = roots.history(claim_.repository, options_.ignored_root);
    return unreachable_commits(
        history, claim_.deleted ? std::chrono::seconds{0} : unreachable_kept(history, options_));
  }

  /// Likewise the trees of commits whose retention is over; their rows stay.
  void expire_history() {
    if (claim_.deleted) return;
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
      return roots.expire_commits(claim_.repository, both, "", "");
    });
    if (counts_.expired_commits > 0) engine_.commits.forget_all();
  }

  void find_candidates(const meta::CollectionFloors& floors, const Marked& marked,
                       const KnownCandidates& known) {
    Batches<meta::Candidate> found([&](const auto& batch) { candidates_.add(claim_, batch); });
    counts_.strangers =
        list_stored_objects(engine_.stores, repository_, [&](const ListedObject& object) {
          progress();
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
            found.add({key, static_cast<int64_t>(object.size_bytes)});
          }
        });
    for (const int64_t id : marked.unused_part_lists) {
      if (std::binary_search(known.lists.begin(), known.lists.end(), id)) continue;
      found.add({meta::candidate_address(PartListAddress{id}), 0});
    }
    found.flush();
  }

  void count_known(const meta::KnownCandidate& candidate) {
    (candidate.due ? counts_.due_objects : counts_.waiting_objects) += 1;
    (candidate.due ? counts_.due_bytes : counts_.waiting_bytes) += candidate.size_bytes;
  }

  /// A repository of another installation may have its objects in the same namespace.
  void check_owner() {
    if (counts_.due_objects == 0 && candidates_.doomed(claim_, 1).empty()) return;
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

  /// Objects that an interrupted collection had doomed.
  void remove_doomed_objects() {
    for (;;) {
      const auto left = candidates_.doomed(claim_, kRowsPerStatement);
      if (left.empty()) return;
      progress();
      remove(left);
    }
  }

  void remove(const std::vector<meta::Candidate>& doomed) {
    std::vector<std::string> removed;
    for (const meta::Candidate& candidate : doomed) {
      remove_stored_object(engine_.stores, repository_, own_address(candidate.address));
      removed.push_back(candidate.address);
      ++counts_.removed_objects;
      counts_.removed_bytes += candidate.size_bytes;
      pace();
    }
    if (!removed.empty()) candidates_.set_removed(claim_, removed);
  }

  void pace() {
    progress();
    if (options_.deletes_per_second == 0) return;
    if (++unpaced_ < options_.deletes_per_second / 10) return;
    unpaced_ = 0;
    pause(stop_, std::chrono::milliseconds(100));
  }

  void remove_part_lists(const Marked& marked, const KnownCandidates& known) {
    Batches<std::string> referenced([&](const auto& batch) { candidates_.forget(claim_, batch); });
    Batches<std::string> dead([&](const auto& batch) {
      std::vector<int64_t> ids;
      std::vector<std::string> keys;
      for (const meta::Candidate& candidate : candidates_.doom(claim_, batch)) {
        ids.push_back(list_id(candidate.address));
        keys.push_back(candidate.address);
      }
      counts_.removed_part_lists += candidates_.remove_part_lists(claim_, ids);
      candidates_.set_removed(claim_, keys);
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
      removal.remove(claim_, dead);
      counts_.removed_nodes += static_cast<int64_t>(dead.size());
    }
  }

  Engine& engine_;
  const meta::CollectionClaim& claim_;
  const CollectionOptions& options_;
  const std::stop_token& stop_;
  const Repository repository_;
  meta::Collections collections_;
  meta::Candidates candidates_;
  CollectionCounts counts_;
  uint32_t unpaced_ = 0;
  std::chrono::steady_clock::time_point renewed_ = std::chrono::steady_clock::now();
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
                                   {"commits", counts.removed_commits},
                                   {"expired_commits", counts.expired_commits},
                                   {"nodes", counts.removed_nodes}});
}

void count_removed(const CollectionCounts& counts) {
  static metrics::Counter& objects = metrics::counter(
      "tarn_gc_removed_objects_total", "Objects that garbage collection removed from stores");
  static metrics::Counter& bytes =
      metrics::counter("tarn_gc_removed_bytes_total", "Bytes of the objects that it removed");
  objects.add(static_cast<double>(counts.removed_objects));
  bytes.add(static_cast<double>(counts.removed_bytes));
}

}  // namespace

bool run_one_collection(Engine& engine, const CollectionOptions& options,
                        const std::stop_token& stop) {
  meta::Collections collections(engine.pool);
  const meta::CollectionSchedule schedule{options.interval, options.deleted_kept};
  const auto claim = collections.claim(schedule, kLease);
  if (!claim) return false;
  Collection collection(engine, *claim, options, stop);
  std::string_view state = "done";
  std::string error;
  try {
    collection.run();
  } catch (const Stopped&) {
    state = "interrupted";
    error = "the server that ran it stopped";
  } catch (const Refused& refusal) {
    state = "refused";
    error = refusal.message;
  } catch (const Error& failure) {
    if (failure.reason() == reason::kCollectionLost) return true;
    state = "failed";
    error = failure.message();
  }
  count_removed(collection.counts());
  log_end(*claim, engine.repositories.get(claim->repository), state, collection.counts());
  collections.finish(*claim, state, error, collection.counts(), schedule);
  engine.writer.heartbeat();  // the next one need not wait for this server's
  return true;
}

CollectionCounts plan_collection(Engine& engine, const Repository& repository,
                                 const CollectionOptions& options,
                                 const std::function<void(const PlannedObject&)>& visit) {
  engine.writer.heartbeat();
  const Instant settled = engine.writer.fresh_since();
  CollectionCounts counts;
  std::vector<CommitId> gone;
  {
    db::Pool::Lease lease = engine.pool.lease();
    lease->begin_snapshot();
    History history = meta::Roots(*lease).history(repository.id);
    lease->commit();
    gone = unreachable_commits(history, unreachable_kept(history, options));
    counts.removed_commits = static_cast<int64_t>(gone.size());
    std::erase_if(history.commits, [&gone](const HistoryCommit& commit) {
      return std::binary_search(gone.begin(), gone.end(), commit.id);
    });
    for (const CommitId& id : ids_of(expiring_commits(history))) gone.push_back(id);
    counts.expired_commits = static_cast<int64_t>(gone.size()) - counts.removed_commits;
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
        if (visit) visit({object.address, object.size_bytes, due});
      });
  return counts;
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

bool is_collection_requested(Engine& engine, const Repository& repository) {
  return meta::Collections(engine.pool).requested(repository.id);
}

}  // namespace tarn::versioning
