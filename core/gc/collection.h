// Garbage collection of a repository: removes what nothing refers to any more, in the server, with
// other servers running (docs/design/030-garbage-collection.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/branch/engine.h"
#include "core/gc/collection_options.h"
#include "core/gc/collection_store.h"
#include "core/gc/garbage.h"
#include "core/gc/store_owner.h"
#include "core/model/address.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// Objects that a collection may remove whatever their share of the repository is.
constexpr int64_t kRemovedWithoutShare = 100;

/// Carries out one collection if one is due; false: none is, or another server carries one out. The
/// collection ends as refused if the store belongs to another database than those of `identities`.
bool run_one_collection(Engine& engine, const CollectionOptions& options, OwnIdentities& identities,
                        const std::stop_token& stop);

struct PlannedObject {
  OwnAddress address;
  uint64_t size_bytes = 0;
  bool due = false;  ///< the next collection removes it; else the one after its grace
  GarbageOrigin origin{};
};

/// Objects of a plan by the age of their address, in days.
struct GarbageAge {
  int64_t days_max = 0;  ///< younger than this; 0 = all older ones
  GarbageSize size{};
};

struct CollectionPlan {
  CollectionCounts counts{};
  GarbageGroups groups{};
  std::vector<GarbageAge> ages{};
};

/// The figures of the collections to come if nothing changed. Changes nothing. `visit` (may be
/// empty) is called for each object.
CollectionPlan plan_collection(Engine& engine, const Repository& repository,
                               const CollectionOptions& options,
                               const std::function<void(const PlannedObject&)>& visit);

/// Makes a collection of the repository due now. `share_max`: percent that it may remove; 0 = the
/// server's setting. Throws invalid_argument (more than 100).
void request_collection(Engine& engine, const Repository& repository, std::string_view user,
                        uint32_t share_max);
/// Newest first, at most `limit`.
std::vector<meta::CollectionRun> list_collections(Engine& engine, const Repository& repository,
                                                  uint32_t limit);
/// Throws not_found (reason "collection_not_found").
meta::CollectionRun get_collection(Engine& engine, const Repository& repository, int64_t run);
/// Ends the running collection of the repository soon, and drops the request of one that has not
/// begun. What the running one has decided to remove goes with the next one. Throws not_found
/// (reason "collection_not_found"): there is neither.
void cancel_collection(Engine& engine, const Repository& repository, std::string_view user);
/// Makes this database the owner of the repository's store, whichever was.
void adopt_store(Engine& engine, const Repository& repository);
/// Whether one was asked for and has not begun.
bool is_collection_requested(Engine& engine, const Repository& repository);

}  // namespace tarn::versioning
