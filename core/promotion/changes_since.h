// Changes of a gate that no promotion made, since the promotion of the same branch before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/alias.h"
#include "core/model/commit.h"
#include "core/model/repository.h"
#include "core/promotion/gate_policy_store.h"

namespace tarn::promotion {

/// Changes of one kind that are listed; the others are counted.
constexpr size_t kChangesListedMax = 100;
/// Versions, moves and commits that are looked at; older ones are not counted either.
constexpr uint32_t kChangesSeenMax = 1000;

struct ChangesSince {
  std::string promotion{};                    ///< its id; "" = there was none
  std::vector<GatePolicyVersion> policies{};  ///< that were set or removed, the newest first
  std::string alias{};
  std::vector<AliasChange> aliases{};  ///< moves by hand, the newest first
  /// Commits of the branch that no promotion or rollback made, the newest first; none where there
  /// was no promotion.
  std::vector<Commit> commits{};
  uint64_t more = 0;  ///< changes that are not listed
};

/// `policy` and `alias`: of the promotion that is judged; "" = none. `head`: of the destination.
ChangesSince find_changes_since(branch::Engine& engine, const Repository& repository,
                                const BranchName& destination, const std::string& policy,
                                const std::string& alias, const CommitId& head);

}  // namespace tarn::promotion
