// Rows of candidates of garbage collection: objects and part lists that nothing was found to refer
// to.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/gc/collection_store.h"
#include "core/gc/garbage.h"
#include "core/model/address.h"

namespace tarn::gc {

struct Candidate {
  std::string address;  ///< the form of candidate_address (core/meta/references.h)
  int64_t size_bytes = 0;
  GarbageOrigin origin{};
};

struct RemovedObject {
  RepositoryId repository{};
  OwnAddress address;
};

/// Numbers of the statements that removed something, in the order of their commits.
struct Removals {
  int64_t last = 0;
  int64_t purged = 0;  ///< rows of the removals up to this one may be gone
};

struct KnownCandidate : Candidate {
  bool due = false;  ///< found before the claim's fence, and its grace is over
};

/// Safe from any thread. What writes needs the lease of the claim, and throws unavailable without.
class Candidates {
 public:
  explicit Candidates(db::Pool& pool) : pool_(pool) {}

  /// The candidates that are not doomed, in the order of addresses.
  std::vector<KnownCandidate> known(const CollectionClaim& claim, std::chrono::seconds grace);
  /// The same as `known`, of a repository that this process does not collect: `due` by the grace
  /// alone.
  std::vector<KnownCandidate> known(RepositoryId repository, std::chrono::seconds grace);
  /// Known ones stay as they are.
  void add(const CollectionClaim& claim, std::span<const Candidate> found);
  /// They are referenced again.
  void forget(const CollectionClaim& claim, std::span<const std::string> addresses);
  /// Marks those that are still there: from then on nothing can refer to them. Returns them.
  std::vector<Candidate> doom(const CollectionClaim& claim, std::span<const std::string> addresses);
  /// Objects that earlier collections doomed and did not remove, with addresses greater than
  /// `after`, ascending, at most `limit`.
  std::vector<Candidate> doomed(const CollectionClaim& claim, std::string_view after,
                                uint32_t limit);
  Removals removals();
  /// The objects of the removals after `after`, up to `last`.
  std::vector<RemovedObject> removed_between(int64_t after, int64_t last);
  void set_removed(const CollectionClaim& claim, std::span<const std::string> addresses);
  /// Dooms the part lists that are still there, and deletes all that are doomed, in one
  /// transaction. Returns the number of lists that were deleted.
  int64_t remove_part_lists(const CollectionClaim& claim, std::span<const std::string> addresses);
  /// Deletes rows of removed objects that no operation can hold any more. Returns the number.
  int64_t purge(const CollectionClaim& claim, uint32_t limit);
  /// Whether any row is left.
  bool any(RepositoryId repository);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::gc
