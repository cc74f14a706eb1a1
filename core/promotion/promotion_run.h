// The worker of promotions: comparing, waiting, merging.
#pragma once

#include <chrono>
#include <stop_token>

#include "core/base/lease.h"
#include "core/base/owner_turns.h"
#include "core/branch/engine.h"

namespace tarn::promotion {

/// How long a promotion may wait for a server to notice it.
constexpr std::chrono::milliseconds kPromotionPoll{100};
/// A promotion whose server died is taken up by another after this.
inline std::chrono::milliseconds promotion_lease() { return lease_time() / 3; }
/// Interval after which a promotion that waits for people or checks is examined again; sooner after
/// a report about it, or when the branch of a candidate moves or is deleted.
constexpr std::chrono::minutes kPromotionRevisit{10};
/// So one that waits for a run of the champion, which nothing reports to it.
constexpr std::chrono::milliseconds kStaleRevisit = std::chrono::minutes{1};
/// How often candidates are compared again because the destination, the champion or the policy
/// changed, or something was reported.
constexpr int32_t kPromotionRoundsMax = 1000;

/// Takes one promotion that is due and advances it until it has ended or waits. Safe on any number
/// of servers: each step compares and sets the row, and the last one is a transaction that commits
/// once. The workers of a process share `turns`. false: none is due.
bool run_one_promotion(branch::Engine& engine, std::stop_token stop,
                       OwnerTurns& turns = OwnerTurns::unlimited());

/// Makes promotions due whose candidates' branches moved or were deleted since the last call; every
/// kPromotionPoll. Safe on any number of servers.
void note_branch_moves(branch::Engine& engine);

constexpr std::chrono::minutes kChampionPoll{1};
/// Tells webhooks once of each champion that has expired; every kChampionPoll. Safe on any number
/// of servers.
void tell_expired_champions(branch::Engine& engine);

}  // namespace tarn::promotion
