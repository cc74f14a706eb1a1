// The objects that a write refers to although an earlier operation stored them: garbage collection
// may be about to remove them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/model/address.h"
#include "core/model/names.h"

namespace tarn::meta {

struct StoredPart;

/// One thread at a time.
class References {
 public:
  /// `fresh_since`: Writer::fresh_since(); own objects from then on are no candidates.
  explicit References(Instant fresh_since) : fresh_since_(fresh_since) {}

  void add(const Address& address);
  void add(const StoredPart& part);
  bool empty() const { return addresses_.empty(); }

  /// Called in the transaction that refers to them, after it has written the reference: they are
  /// candidates of garbage collection no more. Throws unavailable (reason "being_collected"): one
  /// is being removed, so the caller's source no longer refers to it.
  void rescue(db::Connection& connection, RepositoryId repository) const;
  void rescue(db::Connection& connection, BranchId branch) const;

 private:
  void add(int32_t owner, std::string address);
  void add_own(int32_t owner, const OwnAddress& address);

  Instant fresh_since_;
  std::vector<int32_t> owners_;  ///< 0: the repository that is written to
  std::vector<std::string> addresses_;
};

/// The forms of the table gc_candidates.
std::string candidate_address(const OwnAddress& address);
std::string candidate_address(const PartListAddress& address);

}  // namespace tarn::meta
