// Rules for branches that are no longer used: which are stale, and which are deleted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"

namespace tarn {

constexpr size_t kCleanupRulesMax = 100;
constexpr uint32_t kCleanupDaysMax = 3'660;
constexpr uint32_t kNoticeDaysDefault = 7;
constexpr uint32_t kCleanupDeletionsDefault = 100;
constexpr uint32_t kCleanupDeletionsMax = 10'000;

/// For branches whose names match. Days are whole days since the branch was created or its head
/// last moved.
struct CleanupRule {
  Glob pattern;
  uint32_t stale_days = 0;                    ///< it is stale after so many; 0 = never
  bool losers = false;                        ///< it is stale when it has lost a promotion
  uint32_t expire_days = 0;                   ///< it is deleted after so many; 0 = never
  uint32_t notice_days = kNoticeDaysDefault;  ///< and not sooner than so many after the notice
};

struct CleanupRules {
  std::vector<CleanupRule> rules;  ///< of several that match a branch the first counts
  /// Branches that one run may announce the deletion of.
  uint32_t deletions_max = kCleanupDeletionsDefault;

  /// Null = none.
  const CleanupRule* rule_for(std::string_view branch) const;
};

/// Throws invalid_argument.
void check_cleanup_rules(const CleanupRules& rules);
/// The form in the database.
std::string encode_cleanup_rules(const CleanupRules& rules);
/// Throws: data_loss.
CleanupRules decode_cleanup_rules(std::string_view bytes);

}  // namespace tarn
