// Exclusive hold of a branch for a verb: a queue in this process, a lease in the database across
// processes.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "core/base/lease.h"
#include "core/base/mutex.h"
#include "core/branch/engine.h"
#include "core/meta/branches.h"

namespace tarn::branch {

/// A lease not renewed for this long may be taken over: the work is then lost, never data.
inline std::chrono::milliseconds branch_lease() { return lease_time(); }
/// How long a verb waits for its turn before it answers that the branch is locked. Longer than the
/// lease, so that verbs outlast a server that was killed.
inline std::chrono::milliseconds branch_wait_max() { return branch_lease() + branch_lease() / 2; }

/// Turns per branch. Safe from any thread.
class BranchQueues {
 public:
  /// false: the deadline passed first, or the thread's work was cancelled.
  bool enter(BranchId branch, std::chrono::steady_clock::time_point deadline);
  void leave(BranchId branch);

  /// A lease that its holder may still have, although it is done: acquiring or releasing it failed.
  void abandon(BranchId branch, int64_t owner);
  /// Releases abandoned leases of one branch, or of all. A server calls it often, so that no branch
  /// stays locked longer than the database is unavailable.
  void release_abandoned(meta::Branches& branches, std::optional<BranchId> only = {});

 private:
  struct Waiter {
    CondVar turn;
  };
  Mutex mutex_;
  std::map<BranchId, std::deque<Waiter*>> queues_ TARN_GUARDED_BY(mutex_);  ///< front = the holder
  std::multimap<BranchId, int64_t> abandoned_ TARN_GUARDED_BY(mutex_);
};

/// Asks the rules whether a verb may change the branch; throws permission_denied.
using BranchPermit = std::function<void(const Branch&)>;

/// Holds from construction to destruction. One thread.
class BranchHold {
 public:
  /// `rotate`: seal what is staged. `branch`: as the rules permitted the verb; they are asked again
  /// with `permit` when others were set by the time the branch is held, and statements that change
  /// the branch compare the lease's settings with those of their own time. Without `permit` the
  /// verb obeys no rules. Throws: not_found (the branch; also if it has another name by now),
  /// conflict (reason "branch_locked"), what `permit` throws.
  BranchHold(Engine& engine, const Branch& branch, bool rotate, const BranchPermit& permit);
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
  void leave() noexcept;
  meta::Branches::Acquired ask(int64_t owner, bool rotate);

  Engine& engine_;
  const BranchId branch_;
  meta::BranchLease lease_;
  std::chrono::steady_clock::time_point renewed_;
  bool ended_ = false;
};

/// Throws conflict (reason "branch_locked") for a verb that lost the branch, or whose rules
/// changed, while it held it. `undone` says what did not happen: "it was not deleted".
[[noreturn]] void throw_taken_over(std::string_view undone);

}  // namespace tarn::branch
