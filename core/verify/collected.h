// The findings of a running verification.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/model/commit.h"
#include "core/verify/finding.h"

namespace tarn::verify {

/// The tree in which an examined thing was met: an index into the roots of the verification, or a
/// branch whose staged row refers to it.
struct Origin {
  uint32_t root = kNoRoot;
  std::string branch{};  ///< of a staged row

  static constexpr uint32_t kNoRoot = UINT32_MAX;
};

/// A finding with the facts that lead from it to the refs that show it.
struct CollectedFinding {
  Finding finding;
  Origin origin;
  Nid nid = 0;          ///< of a node
  std::string address;  ///< of an object or part list: the bytes of encode_address
};

/// Counts every finding and keeps the first kFindingsListedMax. Safe from any thread.
class Collected {
 public:
  void add(CollectedFinding found) {
    MutexLock lock(mutex_);
    ++totals_[static_cast<size_t>(found.finding.kind)];
    if (kept_.size() < kFindingsListedMax) kept_.push_back(std::move(found));
  }
  std::array<uint64_t, kFindingKinds> totals() const {
    MutexLock lock(mutex_);
    return totals_;
  }
  std::vector<CollectedFinding> take() {
    MutexLock lock(mutex_);
    return std::exchange(kept_, {});
  }

 private:
  mutable Mutex mutex_;
  std::array<uint64_t, kFindingKinds> totals_ TARN_GUARDED_BY(mutex_){};
  std::vector<CollectedFinding> kept_ TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn::verify
