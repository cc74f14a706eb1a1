// The champion of a gate policy, and the values that candidates are compared with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/ref_globs.h"
#include "core/model/repository.h"
#include "core/promotion/gate_candidate.h"

namespace tarn::promotion {

/// Promotions that `baseline: best_ever` examines, the latest.
constexpr int64_t kBestEverPromotionsMax = 200;

/// The position of the policy's alias; nullopt if it has no alias, or that does not exist yet.
std::optional<branch::NamedCommit> find_champion(branch::Engine& engine,
                                                 const Repository& repository,
                                                 const GatePolicy& policy);

/// The facts about the commit for a comparison. For the result of a promotion they are the values
/// in its evidence; metrics that the evidence lacks are read from the winner, without runs that
/// were recorded after the promotion. Later runs of the winner or of the promotion's commit replace
/// them if the policy's `remeasure` names their users. Values too old for its `champion` are
/// marked. `alias`: its position; "" = none.
CommitFacts champion_facts(branch::Engine& engine, const Repository& repository,
                           const GatePolicy& policy, const CommitId& champion,
                           const std::string& alias);

/// The values that candidates are compared with.
struct BaselineFacts {
  CommitFacts facts;
  /// The winner with these values, if it was rolled back: it may be promoted again, since it is not
  /// compared with itself.
  std::optional<CommitId> taken_back{};
  /// For one candidate; nullptr = nothing.
  const CommitFacts* against(const CommitId& candidate) const {
    return taken_back == candidate ? nullptr : &facts;
  }
};
/// Commits of a destination, following first parents, that destination_facts examines.
constexpr size_t kDestinationHistoryMax = 1000;
/// The values of the newest commit in the history of `head`, by first parents, that has a metric of
/// the policy; nullopt if none of kDestinationHistoryMax commits has one. A merge that took its
/// source as it was has the values of the source; the result of a promotion those in its evidence.
std::optional<BaselineFacts> destination_facts(branch::Engine& engine, const Repository& repository,
                                               const GatePolicy& policy, const Commit& head);

/// The facts of the last promotions of the policy's alias that were not rolled back, the newest
/// first: as many as its floors compare with.
std::vector<CommitFacts> recent_champions(branch::Engine& engine, const Repository& repository,
                                          const GatePolicy& policy);

/// The baseline of the policy; nullopt if there is none. `champion`: the position of `alias`.
std::optional<BaselineFacts> baseline_facts(branch::Engine& engine, const Repository& repository,
                                            const GatePolicy& policy,
                                            const std::optional<CommitId>& champion,
                                            const std::string& alias);

}  // namespace tarn::promotion
