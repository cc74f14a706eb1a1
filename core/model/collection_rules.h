// Retention rules of garbage collection for content that branches no longer show.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tarn {

constexpr size_t kCollectionBranchesMax = 1000;  ///< branches with a time of their own
constexpr uint32_t kRetentionDaysMax = 36'500;

struct CollectionRules {
  uint32_t default_retention_days = 0;
  std::map<std::string, uint32_t> retention_days;  ///< by branch name; it need not exist

  bool operator==(const CollectionRules&) const = default;
};

/// The form in the database.
std::string encode_collection_rules(const CollectionRules& rules);
/// Throws: data_loss.
CollectionRules decode_collection_rules(std::string_view bytes);

}  // namespace tarn
