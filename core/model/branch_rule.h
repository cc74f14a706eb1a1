// Rules that protect branches.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"

namespace tarn {

/// Changes that a rule can block. Numbers are stored: add at the end.
enum class BranchAction : uint8_t {
  kStage,  ///< every write of an object or its metadata, deletions too
  kCommit,
  kMerge,   ///< into the branch
  kDelete,  ///< of the branch
  kRevert,
  kCherryPick,
  kReset,  ///< of staged changes and of the head
  kImport,
  kRestore,
};
std::string_view name_of(BranchAction action);  ///< for example "cherry_pick"
std::optional<BranchAction> parse_branch_action(std::string_view name);

/// Numbers are stored: add at the end.
enum class MergeMethod : uint8_t { kMerge, kSquash };
std::string_view name_of(MergeMethod method);
std::optional<MergeMethod> parse_merge_method(std::string_view name);

constexpr size_t kBranchRulesMax = 256;  ///< of one repository: each write of a branch asks all
constexpr size_t kRulePatternBytesMax = 255;  ///< as long as a name may be
constexpr uint32_t kApprovalsMax = 100;

/// One rule; a branch obeys every rule whose pattern matches its name. Absent members were not set
/// by the client.
struct BranchRule {
  Glob pattern;
  std::optional<std::set<BranchAction>> blocked_actions{};  ///< absent = stage, commit and reset
  std::optional<std::set<MergeMethod>> merge_methods{};     ///< absent or empty = all
  std::optional<uint32_t> approvals{};                      ///< a merge needs; absent = 0

  bool blocks(BranchAction action) const;
  bool permits(MergeMethod method) const;
  bool operator==(const BranchRule&) const = default;
};

/// The form in the database.
std::string encode_branch_rules(const std::vector<BranchRule>& rules);
/// Throws: data_loss.
std::vector<BranchRule> decode_branch_rules(std::string_view bytes);

/// The error in the pattern of a rule for branches or tags; "" = none.
std::string rule_pattern_problem(std::string_view pattern);

}  // namespace tarn
