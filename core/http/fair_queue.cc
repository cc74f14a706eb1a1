#include "core/http/fair_queue.h"

#include <algorithm>
#include <utility>

#include "core/http/probe.h"

namespace tarn::http {

FairQueue::Share& FairQueue::find_or_add(std::string_view name) {
  const auto at = shares_.find(name);
  if (at != shares_.end()) {
    Share& share = *at->second;
    if (share.idle) idle_.erase(*std::exchange(share.idle, std::nullopt));
    return share;
  }
  auto share = std::make_unique<Share>();
  share->name = name;
  share->turn = ++turns_;
  Share& added = *share;
  shares_.emplace(added.name, std::move(share));
  Probe::instance().active_shares.fetch_add(1, std::memory_order_relaxed);
  return added;
}

/// Must be called before the number of shares is used.
void FairQueue::forget_idle(SteadyTime now) {
  while (!idle_.empty() && idle_.front()->idle_since + limits_.active_for <= now) {
    Share* oldest = idle_.front();
    idle_.pop_front();
    shares_.erase(shares_.find(oldest->name));
    Probe::instance().active_shares.fetch_sub(1, std::memory_order_relaxed);
  }
}

/// A share without requests is remembered for a short time only.
void FairQueue::settle(Share& share, SteadyTime now) {
  if (share.running > 0 || !share.waiting.empty() || share.idle) return;
  share.idle_since = now;
  share.idle = idle_.insert(idle_.end(), &share);
}

bool FairQueue::may_start(const Share& share) const {
  const bool alone = shares_.size() - shares_.count("") <= 1;
  const uint32_t allowance = alone ? limits_.alone_max : limits_.contended_max;
  const uint32_t free = limits_.threads - running_;
  return share.running < std::min(allowance, free);
}

void FairQueue::set_running(Share& share, uint32_t running) {
  const bool ranked = queued_.erase(rank_of(share)) > 0;
  share.turn = ++turns_;
  running_ += running - share.running;
  Probe::instance().running_requests.fetch_add(int64_t{running} - int64_t{share.running},
                                               std::memory_order_relaxed);
  share.running = running;
  if (ranked) queued_.insert(rank_of(share));
}

FairQueue::~FairQueue() {
  Probe& probe = Probe::instance();
  probe.active_shares.fetch_sub(static_cast<int64_t>(shares_.size()), std::memory_order_relaxed);
  probe.queued_requests.fetch_sub(waiting_, std::memory_order_relaxed);
  probe.running_requests.fetch_sub(running_, std::memory_order_relaxed);
}

void FairQueue::count_waiting(int64_t change) {
  waiting_.fetch_add(change, std::memory_order_relaxed);
  Probe::instance().queued_requests.fetch_add(change, std::memory_order_relaxed);
}

FairQueue::Share* FairQueue::start(std::string_view name, SteadyTime now) {
  MutexLock lock(mutex_);
  Share& share = find_or_add(name);
  forget_idle(now);
  if (!share.waiting.empty() || !may_start(share)) {
    settle(share, now);
    return nullptr;
  }
  set_running(share, share.running + 1);
  return &share;
}

void FairQueue::leave(Share* share, SteadyTime now) {
  MutexLock lock(mutex_);
  set_running(*share, share->running - 1);
  settle(*share, now);
}

FairQueue::Entry FairQueue::wait(std::string_view name, Connection* connection, SteadyTime now) {
  MutexLock lock(mutex_);
  if (waiting_.load(std::memory_order_relaxed) >= limits_.waiting_max) return Entry::kFull;
  Share& share = find_or_add(name);
  if (share.waiting.size() >= limits_.waiting_share_max) {
    settle(share, now);
    return Entry::kShareFull;
  }
  share.waiting.push_back({connection, now});
  if (share.waiting.size() == 1) queued_.insert(rank_of(share));
  count_waiting(1);
  return Entry::kWaits;
}

std::optional<FairQueue::Turn> FairQueue::next(SteadyTime now) {
  if (!anyone_waits()) return std::nullopt;
  MutexLock lock(mutex_);
  forget_idle(now);
  // All shares have the same allowance: if the first may not start, none may.
  if (queued_.empty()) return std::nullopt;
  Share& share = *std::get<Share*>(*queued_.begin());
  if (!may_start(share)) return std::nullopt;
  const Waiting first = share.waiting.front();
  share.waiting.pop_front();
  if (share.waiting.empty()) queued_.erase(rank_of(share));
  count_waiting(-1);
  set_running(share, share.running + 1);
  Probe::instance().waited(now - first.since);
  const bool more = !queued_.empty() && may_start(*std::get<Share*>(*queued_.begin()));
  return Turn{first.connection, &share, more, now - first.since};
}

std::vector<Connection*> FairQueue::take_expired(SteadyTime now) {
  std::vector<Connection*> taken;
  if (!anyone_waits()) return taken;
  MutexLock lock(mutex_);
  for (auto at = queued_.begin(); at != queued_.end();) {
    Share& share = *std::get<Share*>(*at++);
    while (!share.waiting.empty() && share.waiting.front().since + limits_.wait_max <= now) {
      taken.push_back(share.waiting.front().connection);
      share.waiting.pop_front();
      count_waiting(-1);
    }
    if (!share.waiting.empty()) continue;
    queued_.erase(rank_of(share));
    settle(share, now);
  }
  return taken;
}

std::vector<Connection*> FairQueue::take_all() { return take_expired(SteadyTime::max()); }

}  // namespace tarn::http
