#include "core/model/branch_rule.h"

#include <array>

#include "core/base/enum_names.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr uint8_t kRuleVersion = 1;

constexpr std::array<std::string_view, 9> kActions = {
    "stage", "commit", "merge", "delete", "revert", "cherry_pick", "reset", "import", "restore"};
constexpr std::array<std::string_view, 2> kMethods = {"merge", "squash"};

// Flags of the members that a stored rule has.
constexpr uint8_t kHasActions = 1;
constexpr uint8_t kHasMethods = 2;
constexpr uint8_t kHasApprovals = 4;

template <typename Enum>
void put_set(std::string& out, const std::set<Enum>& members) {
  uint64_t bits = 0;
  for (const Enum member : members) bits |= uint64_t{1} << static_cast<unsigned>(member);
  put_varint(out, bits);
}

template <typename Enum>
std::set<Enum> read_set(WireReader& in, size_t count) {
  const uint64_t bits = in.varint();
  if (bits >> count != 0) in.fail("holds what this version does not know");
  std::set<Enum> out;
  for (size_t i = 0; i < count; ++i) {
    if ((bits >> i & 1) != 0) out.insert(static_cast<Enum>(i));
  }
  return out;
}

}  // namespace

std::string_view name_of(BranchAction action) { return kActions[static_cast<size_t>(action)]; }
std::optional<BranchAction> parse_branch_action(std::string_view name) {
  return find_name<BranchAction>(kActions, name);
}

std::string_view name_of(MergeMethod method) { return kMethods[static_cast<size_t>(method)]; }
std::optional<MergeMethod> parse_merge_method(std::string_view name) {
  return find_name<MergeMethod>(kMethods, name);
}

bool BranchRule::blocks(BranchAction action) const {
  if (blocked_actions) return blocked_actions->contains(action);
  return action == BranchAction::kStage || action == BranchAction::kCommit ||
         action == BranchAction::kReset;
}

bool BranchRule::permits(MergeMethod method) const {
  return !merge_methods || merge_methods->empty() || merge_methods->contains(method);
}

std::string encode_branch_rules(const std::vector<BranchRule>& rules) {
  std::string out(1, static_cast<char>(kRuleVersion));
  put_varint(out, rules.size());
  for (const BranchRule& rule : rules) {
    put_bytes(out, rule.pattern.pattern());
    out.push_back(static_cast<char>((rule.blocked_actions ? kHasActions : 0) |
                                    (rule.merge_methods ? kHasMethods : 0) |
                                    (rule.approvals ? kHasApprovals : 0)));
    if (rule.blocked_actions) put_set(out, *rule.blocked_actions);
    if (rule.merge_methods) put_set(out, *rule.merge_methods);
    if (rule.approvals) put_varint(out, *rule.approvals);
  }
  return out;
}

std::vector<BranchRule> decode_branch_rules(std::string_view bytes) {
  WireReader in(bytes, "branch protection rules");
  if (in.u8() != kRuleVersion) in.fail("unknown version");
  std::vector<BranchRule> out;
  for (uint64_t count = in.varint(); count > 0; --count) {
    const std::string_view pattern = in.bytes();
    if (!Glob::problem(pattern).empty()) in.fail("a pattern that is none");
    BranchRule rule{.pattern = Glob(pattern)};
    const uint8_t has = in.u8();
    if ((has & kHasActions) != 0) {
      rule.blocked_actions = read_set<BranchAction>(in, kActions.size());
    }
    if ((has & kHasMethods) != 0) rule.merge_methods = read_set<MergeMethod>(in, kMethods.size());
    if ((has & kHasApprovals) != 0) rule.approvals = static_cast<uint32_t>(in.varint());
    out.push_back(std::move(rule));
  }
  in.expect_end();
  return out;
}

std::string rule_pattern_problem(std::string_view pattern) {
  if (pattern.empty()) return "must not be empty";
  if (pattern.size() > kRulePatternBytesMax) {
    return str_cat("is longer than ", kRulePatternBytesMax, " bytes");
  }
  return Glob::problem(pattern);
}

}  // namespace tarn
