#include "core/promotion/required_objects.h"

#include <algorithm>
#include <map>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/branch/changes.h"
#include "core/meta/node_store.h"
#include "core/tree/cursor.h"
#include "core/tree/entry_fields.h"

namespace tarn::promotion {
namespace {

/// Finds the objects that `required` names.
class RequiredObjects {
 public:
  RequiredObjects(tree::NodeSource& nodes, const ObjectRules& rules, const TreeRoot& root,
                  ObjectFacts& facts)
      : nodes_(nodes), rules_(rules), root_(root), facts_(facts) {}

  void find(const Glob& pattern) {
    bool found = false;
    bool small = false;
    const auto note = [&](const std::string& path, const Entry& entry) {
      found = true;
      small |= entry.size_bytes < rules_.min_bytes;
      objects_.try_emplace(path,
                           RequiredObject{path, entry.size_bytes, entry.etag, content_name(entry)});
    };
    if (!tree::visit_matches(nodes_, root_, pattern, kGatePathsSeenMax, seen_, note))
      facts_.complete = false;
    if (!found) facts_.missing.push_back(pattern.pattern());
    if (small) facts_.too_small.push_back(pattern.pattern());
  }

  void take() {
    facts_.required_count = objects_.size();
    std::string contents;
    for (auto& [path, object] : objects_) {
      facts_.model_bytes += object.size_bytes;
      put_bytes(contents, path);
      put_bytes(contents, object.content);
      if (facts_.required.size() < kRequiredObjectsShownMax)
        facts_.required.push_back(std::move(object));
    }
    if (!objects_.empty()) facts_.required_digest = to_hex(sha256(contents));
  }

 private:
  tree::NodeSource& nodes_;
  const ObjectRules& rules_;
  const TreeRoot& root_;
  ObjectFacts& facts_;
  uint64_t seen_ = 0;
  std::map<std::string, RequiredObject> objects_;  ///< by path, without duplicates
};

bool same_bytes(const std::optional<Entry>& one, const std::optional<Entry>& other) {
  return one && other && tree::same_bytes(*one, *other);
}

bool is_matched(std::span<const Glob> patterns, const std::string& path) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const Glob& pattern) { return pattern.matches(path); });
}

[[noreturn]] void throw_not_measured(const GatePolicy& policy, std::string_view what) {
  throw Error(ErrorCode::kPreconditionFailed, reason::kNotWhatWasMeasured,
              str_cat("after the promotion '", policy.destination.str(), "' would not have ", what,
                      " as the candidate was measured with: merge '", policy.destination.str(),
                      "' into the candidate and measure again, or replace these paths",
                      policy.objects.required.empty()
                          ? "; objects.required of the policy may name what is measured"
                          : ""));
}

/// Without required objects: checks all changes of the winner itself.
void check_own_changes(branch::Engine& engine, const GatePolicy& policy,
                       const PromotionResult& result) {
  const bool brings_nothing = result.base && *result.base == result.winner;
  if (brings_nothing) {
    if (!(result.winner == result.tree)) throw_not_measured(policy, "every object");
    return;
  }
  // A merge keeps changes of one side, so only replaced paths can lose them.
  if (!result.replaced_paths) return;
  const auto changes = branch::tree_changes(engine.nodes, result.winner, result.tree);
  changes->seek("");
  uint64_t seen = 0;
  while (const auto change = changes->next()) {
    if (++seen > kGatePathsSeenMax) throw_not_measured(policy, "all objects");
    if (same_bytes(change->left, change->right)) continue;
    const std::string& path = change->key.str();
    const auto base =
        result.base ? tree::find_entry(engine.nodes, *result.base, path) : std::nullopt;
    if (base.has_value() == change->left.has_value() && (!base || same_bytes(base, change->left)))
      continue;  // unchanged in the winner since its base
    throw_not_measured(policy, path);
  }
}

}  // namespace

void find_required(tree::NodeSource& nodes, const ObjectRules& rules, const TreeRoot& tree,
                   ObjectFacts& facts) {
  RequiredObjects required(nodes, rules, tree, facts);
  for (const Glob& pattern : rules.required) required.find(pattern);
  required.take();
}

RequiredDifference find_required_difference(tree::NodeSource& nodes, std::span<const Glob> patterns,
                                            const TreeRoot& one, const TreeRoot& other) {
  if (one == other) return {};
  uint64_t seen = 0;
  for (const Glob& pattern : patterns) {
    const auto changes = branch::tree_changes(nodes, one, other);
    changes->seek(pattern.prefix());
    for (auto change = changes->next(); change && change->key.str().starts_with(pattern.prefix());
         change = changes->next()) {
      if (++seen > kGatePathsSeenMax) return {.complete = false};
      const std::string& path = change->key.str();
      if (is_matched(patterns, path) && !same_bytes(change->left, change->right))
        return {.path = path};
    }
  }
  return {};
}

void check_promotion_result(branch::Engine& engine, const GatePolicy& policy,
                            const PromotionResult& result) {
  ObjectFacts facts;
  find_required(engine.nodes, policy.objects, result.tree, facts);
  if (!facts.missing.empty()) {
    throw Error(ErrorCode::kPreconditionFailed, reason::kObjectMissing,
                str_cat("after the merge '", policy.destination.str(), "' would lack ",
                        facts.missing.front(), ", which the policy requires"));
  }
  if (policy.objects.max_total_bytes) {
    const uint64_t bytes = tree::count_range(engine.nodes, result.tree, "", "").bytes;
    if (bytes > *policy.objects.max_total_bytes) {
      throw Error(
          ErrorCode::kPreconditionFailed, reason::kTooLarge,
          str_cat("after the merge '", policy.destination.str(), "' would have ", bytes,
                  " bytes, and the policy wants at most ", *policy.objects.max_total_bytes));
    }
  }
  const RequiredDifference difference =
      find_required_difference(engine.nodes, policy.objects.required, result.winner, result.tree);
  if (difference.path) throw_not_measured(policy, *difference.path);
  const std::string& card = policy.card.path;
  if (!card.empty() && !same_bytes(tree::find_entry(engine.nodes, result.winner, card),
                                   tree::find_entry(engine.nodes, result.tree, card)))
    throw_not_measured(policy, card);
  if (!difference.complete) throw_not_measured(policy, "all required objects");
  if (policy.objects.required.empty() && policy.measures())
    check_own_changes(engine, policy, result);
}

}  // namespace tarn::promotion
