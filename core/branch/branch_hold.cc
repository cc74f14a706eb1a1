#include "core/branch/branch_hold.h"

#include <algorithm>
#include <thread>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/lease.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/wait_scope.h"

namespace tarn::branch {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// Initial pause before another attempt if another process holds the lease; doubles each time.
constexpr milliseconds kPollFirst{5};
constexpr milliseconds kPollMax{200};

[[noreturn]] void throw_locked() {
  throw Error(ErrorCode::kConflict, reason::kBranchLocked,
              "branch is currently locked, try again later");
}

}  // namespace

bool BranchQueues::enter(BranchId branch, SteadyClock::time_point deadline) {
  Waiter me;
  const WaitScope waits;
  MutexLock lock(mutex_);
  std::deque<Waiter*>& queue = queues_[branch];
  queue.push_back(&me);
  if (!me.turn.wait_until(lock, cancellation_token(), deadline,
                          [&] { return queue.front() == &me; })) {
    queue.erase(std::find(queue.begin(), queue.end(), &me));
    return false;
  }
  // The holder is represented by a null entry, because this stack frame ends.
  queue.front() = nullptr;
  return true;
}

void BranchQueues::leave(BranchId branch) {
  MutexLock lock(mutex_);
  const auto at = queues_.find(branch);
  at->second.pop_front();
  if (at->second.empty()) {
    queues_.erase(at);
  } else {
    at->second.front()->turn.notify_one();
  }
}

void BranchQueues::abandon(BranchId branch, int64_t owner) {
  MutexLock lock(mutex_);
  abandoned_.emplace(branch, owner);
}

void BranchQueues::release_abandoned(meta::Branches& branches, std::optional<BranchId> only) {
  std::multimap<BranchId, int64_t> taken;
  {
    MutexLock lock(mutex_);
    if (abandoned_.empty()) return;
    if (!only) {
      taken.swap(abandoned_);
    } else {
      const auto [first, last] = abandoned_.equal_range(*only);
      taken.insert(first, last);
      abandoned_.erase(first, last);
    }
  }
  // Owner ids are unique, so this cannot release a later lease.
  while (!taken.empty() && branches.release(taken.begin()->first, taken.begin()->second)) {
    taken.erase(taken.begin());
  }
  MutexLock lock(mutex_);
  abandoned_.merge(taken);
}

[[noreturn]] void throw_taken_over(std::string_view undone) {
  throw Error(ErrorCode::kConflict, reason::kBranchLocked,
              str_cat("the branch was taken over by another operation, or other rules were set, "
                      "while this one ran: ",
                      undone, ", try again"));
}

BranchHold::BranchHold(Engine& engine, const Branch& branch, bool rotate,
                       const BranchPermit& permit)
    : engine_(engine), branch_(branch.id) {
  const auto deadline = SteadyClock::now() + branch_wait_max();
  if (!engine_.queues.enter(branch_, deadline)) {
    throw_if_cancelled();
    throw_locked();
  }
  try {
    acquire(rotate, deadline);
  } catch (...) {
    engine_.queues.leave(branch_);
    throw;
  }
  if (lease_.name != branch.name.str()) {  // it was renamed since it was looked up
    leave();
    throw Error(ErrorCode::kNotFound, reason::kBranchNotFound, "branch not found");
  }
  if (!permit || lease_.settings_version == branch.settings_version) return;
  Branch held = branch;
  held.settings_version = lease_.settings_version;
  held.gate = lease_.gate;
  try {
    permit(held);
  } catch (...) {
    leave();
    throw;
  }
}

void BranchHold::acquire(bool rotate, SteadyClock::time_point deadline) {
  engine_.queues.release_abandoned(engine_.branches, branch_);
  const int64_t owner = new_lease_owner();
  milliseconds wait = kPollFirst;
  for (;;) {
    meta::Branches::Acquired got = ask(owner, rotate);
    switch (got.outcome) {
      case meta::Branches::Acquired::Outcome::kDone:
        lease_ = std::move(got.lease);
        renewed_ = SteadyClock::now();
        return;
      case meta::Branches::Acquired::Outcome::kBranchGone:
        throw Error(ErrorCode::kNotFound, reason::kBranchNotFound, "branch not found");
      case meta::Branches::Acquired::Outcome::kLeased:
        break;
    }
    throw_if_cancelled();
    if (SteadyClock::now() + wait > deadline) throw_locked();
    const WaitScope waits;
    std::this_thread::sleep_for(wait);
    wait = std::min(wait * 2, kPollMax);
  }
}

meta::Branches::Acquired BranchHold::ask(int64_t owner, bool rotate) {
  try {
    return engine_.branches.acquire(branch_, owner, branch_lease(), rotate);
  } catch (const db::DbError&) {
    engine_.queues.abandon(branch_, owner);  // the lease may have been granted
    throw;
  }
}

BranchHold::~BranchHold() { leave(); }

void BranchHold::leave() noexcept {
  if (!ended_ && !engine_.branches.release(branch_, lease_.owner)) {
    engine_.queues.abandon(branch_, lease_.owner);
  }
  engine_.queues.leave(branch_);
}

void BranchHold::keep_alive() {
  throw_if_cancelled();
  if (SteadyClock::now() - renewed_ < branch_lease() / 3) return;
  if (!engine_.branches.renew(branch_, lease_.owner, branch_lease())) {
    throw Error(ErrorCode::kConflict, reason::kBranchLocked,
                "the branch was taken over while this operation ran, try again");
  }
  renewed_ = SteadyClock::now();
}

}  // namespace tarn::branch
