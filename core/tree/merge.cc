#include "core/tree/merge.h"

#include <utility>

#include "core/tree/editor.h"
#include "core/tree/lockstep.h"

namespace tarn::tree {
namespace {

constexpr size_t kLookAheadChanges = 512;

bool same(const std::optional<Entry>& a, const std::optional<Entry>& b) {
  return a.has_value() == b.has_value() && (!a || same_content(*a, *b));
}

/// Resolves key by key and collects the conflicts.
class MergeDecider {
 public:
  explicit MergeDecider(const MergeInput& input) : input_(input) {}

  Decision decide(const Change& change, const std::optional<Entry>& destination) {
    const bool apply = !same(change.entry, destination) &&
                       (same(change.base, destination) || takes_source(change, destination));
    if (apply && input_.on_change) input_.on_change(change.key);
    return apply ? Decision::kApply : Decision::kKeep;
  }

  std::vector<MergeConflict> conflicts;
  uint64_t conflict_count = 0;

 private:
  bool takes_source(const Change& change, const std::optional<Entry>& destination) {
    MergeConflict conflict{Key(change.key), change.base, change.entry, destination};
    const Resolution resolution = input_.resolve ? input_.resolve(conflict) : Resolution::kConflict;
    if (resolution == Resolution::kConflict) {
      ++conflict_count;
      if (conflicts.size() < input_.conflicts_kept_max) conflicts.push_back(std::move(conflict));
    }
    return resolution == Resolution::kTakeSource;
  }

  const MergeInput& input_;
};

/// The changes of keys in a scope. Reads nothing where no pattern can match.
class ScopedChanges final : public ChangeSource {
 public:
  ScopedChanges(Lockstep& changes, const PathScope& scope) : changes_(changes), scope_(scope) {
    skip_to(scope_.skip_to(""));
  }

  std::optional<Change> next() override {
    while (!ended_) {
      std::optional<Change> change = changes_.next();
      if (!change || scope_.contains(change->key)) return change;
      skip_to(scope_.skip_to(change->key));
    }
    return std::nullopt;
  }

 private:
  void skip_to(const std::optional<std::string>& key) {
    ended_ = !key;
    if (key) changes_.seek(*key);
  }

  Lockstep& changes_;
  const PathScope& scope_;
  bool ended_ = false;
};

/// The destination has not changed: the result is the source's tree, and its changes need only be
/// counted.
EditResult fast_forward(NodeSource& source, const MergeInput& input) {
  EditResult result;
  result.root = input.source;
  Lockstep changes(source, input.base, input.source, input.base, !input.on_change);
  while (const std::optional<Change> change = changes.next()) {
    switch (change->kind) {
      case Change::Kind::kTakeSubtree:
        result.added += change->subtree.entries;
        continue;
      case Change::Kind::kRemoveRange:
        result.removed += change->subtree.entries;
        continue;
      case Change::Kind::kThreeWay:
        break;
      case Change::Kind::kSet:
        continue;  // Lockstep never produces it
    }
    if (!change->base) {
      ++result.added;
    } else if (!change->entry) {
      ++result.removed;
    } else {
      ++result.changed;
    }
    if (input.on_change) input.on_change(change->key);
  }
  return result;
}

}  // namespace

MergeResult merge_trees(NodeSource& source, NodeSink& sink, const TreeFormat& format,
                        const MergeInput& input) {
  MergeResult out;
  if (input.source == input.base || input.source == input.destination) {
    out.result.root = input.destination;
    return out;
  }
  if (input.base == input.destination && input.scope == nullptr) {
    out.result = fast_forward(source, input);
    return out;
  }
  MergeDecider decider(input);
  // A caller that needs every key gets every key; otherwise whole subtrees are taken over unread.
  const bool whole_subtrees = !input.on_change && input.scope == nullptr;
  Lockstep changes(source, input.base, input.source, input.destination, whole_subtrees);
  std::optional<ScopedChanges> scoped;
  if (input.scope != nullptr) scoped.emplace(changes, *input.scope);
  ChangeSource& wanted = scoped ? static_cast<ChangeSource&>(*scoped) : changes;
  Editor editor(source, sink, format, {}, wanted, kLookAheadChanges,
                [&decider](const Change& change, const std::optional<Entry>& below) {
                  return decider.decide(change, below);
                });
  EditResult result = editor.run(input.destination);
  out.conflicts = std::move(decider.conflicts);
  out.conflict_count = decider.conflict_count;
  if (out.conflict_count == 0) out.result = result;
  return out;
}

}  // namespace tarn::tree
