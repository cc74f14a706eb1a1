// Holding a branch for a verb: first come, first served in this process, a lease in the database
// across processes.
#pragma once

#include <chrono>
#include <deque>
#include <map>

#include "core/base/mutex.h"
#include "core/meta/branches.h"
#include "core/versioning/engine.h"

namespace tarn::versioning {

/// How long a verb waits for its turn before it answers that the branch is locked.
constexpr std::chrono::seconds kBranchWaitMax{30};
/// A lease not renewed for this long may be taken over: the work is then lost, never data.
constexpr std::chrono::seconds kBranchLease{30};

/// Turns per branch. Safe from any thread.
class BranchQueues {
 public:
  /// false: the deadline passed first, or the thread's work was cancelled.
  bool enter(BranchId branch, std::chrono::steady_clock::time_point deadline);
  void leave(BranchId branch);

 private:
  struct Waiter {
    CondVar turn;
  };
  Mutex mutex_;
  std::map<BranchId, std::deque<Waiter*>> queues_ TARN_GUARDED_BY(mutex_);  ///< front = the holder
};

/// Holds from construction to destruction. One thread.
class BranchHold {
 public:
  /// `rotate`: seal what is staged. Throws: not_found (the branch), conflict (reason
  /// "branch_locked").
  BranchHold(Engine& engine, BranchId branch, bool rotate);
  ~BranchHold();
  BranchHold(const BranchHold&) = delete;
  BranchHold& operator=(const BranchHold&) = delete;

  const meta::BranchLease& lease() const { return lease_; }
  /// Renews the lease when a third of it has passed; call it while working. Throws conflict when it
  /// was lost.
  void keep_alive();
  /// The verb ended the lease itself (publishing does).
  void ended() { ended_ = true; }

 private:
  void acquire(bool rotate, std::chrono::steady_clock::time_point deadline);

  Engine& engine_;
  const BranchId branch_;
  meta::BranchLease lease_;
  std::chrono::steady_clock::time_point renewed_;
  bool ended_ = false;
};

}  // namespace tarn::versioning
