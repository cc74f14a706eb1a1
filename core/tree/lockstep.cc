#include "core/tree/lockstep.h"

#include <utility>
#include <vector>

namespace tarn::tree {

// Trees with equal hashes are equal: then both walks start empty and read no node.
Lockstep::Lockstep(NodeSource& source, const TreeRoot& before, const TreeRoot& after)
    : pool_(source),
      before_(pool_, before == after ? TreeRoot{} : before),
      after_(pool_, before == after ? TreeRoot{} : after) {}

Lockstep::Lockstep(NodeSource& source, const TreeRoot& before, const TreeRoot& after,
                   const TreeRoot& target, bool whole_subtrees)
    : Lockstep(source, before, after) {
  target_.emplace(pool_, target);
  whole_subtrees_ = whole_subtrees;
}

void Lockstep::seek(std::string_view key) {
  if (key <= from_) return;
  from_ = key;
  before_.skip_before(key);
  after_.skip_before(key);
}

std::optional<Change> Lockstep::next() {
  while (!before_.done() || !after_.done()) {
    if (skip_equal() || skip_known() || skip_gone()) continue;
    if (whole_subtrees_) {
      if (std::optional<Change> change = whole_addition()) return change;
      if (std::optional<Change> change = whole_removal()) return change;
    }
    if (before_.at_subtree() || after_.at_subtree()) {
      open();
    } else if (std::optional<Change> change = compare_entries()) {
      return change;
    }
  }
  return std::nullopt;
}

/// Advances past the item of `walk`.
void Lockstep::pass(TreeWalk& walk) {
  if (walk.last_key() > passed_) passed_.assign(walk.last_key());
  walk.skip();
}

bool Lockstep::skip_equal() {
  if (!before_.at_subtree() || !after_.at_subtree() || before_.hash() != after_.hash()) {
    return false;
  }
  TreeWalk::step_while_equal(before_, after_);
  pass(before_);
  pass(after_);
  return true;
}

/// Skips a subtree that both sides changed to the same.
bool Lockstep::skip_known() {
  if (!target_ || !after_.at_subtree() || !target_is(after_)) return false;
  pass(after_);
  target_->skip();
  before_.skip_through(passed_);
  return true;
}

/// Whether the next keys of the target are exactly the current subtree of `walk`.
bool Lockstep::target_is(const TreeWalk& walk) {
  target_->skip_through(passed_);
  while (target_->at_subtree() && target_->level() > walk.level()) target_->open();
  return target_->at_subtree() && target_->level() == walk.level() &&
         target_->hash() == walk.hash();
}

bool Lockstep::target_lacks(std::string_view up_to) {
  target_->skip_through(passed_);
  return behind(*target_, up_to);
}

/// Skips a subtree that both sides removed.
bool Lockstep::skip_gone() {
  if (!target_ || !before_.at_subtree() || !behind(after_, before_.last_key()) ||
      !target_lacks(before_.last_key())) {
    return false;
  }
  pass(before_);
  return true;
}

/// Whether the rest of `walk` comes after `key`. Reads nothing if the last keys suffice.
bool Lockstep::behind(TreeWalk& walk, std::string_view key) {
  return walk.done() || (walk.last_key() > key && walk.first_key() > key);
}

std::optional<Change> Lockstep::whole_addition() {
  if (!after_.at_subtree() || !behind(before_, after_.last_key()) ||
      !target_lacks(after_.last_key())) {
    return std::nullopt;
  }
  Change change;
  change.kind = Change::Kind::kTakeSubtree;
  change.key = after_.last_key();
  change.level = after_.level();
  change.subtree = after_.subtree();
  change.subtree.last_key = {};
  pass(after_);
  return change;
}

std::optional<Change> Lockstep::whole_removal() {
  if (!before_.at_subtree() || !behind(after_, before_.last_key()) || !target_is(before_)) {
    return std::nullopt;
  }
  Change change;
  change.kind = Change::Kind::kRemoveRange;
  // (passed_, last key] as [begin, end): the successor of k is k and a zero byte.
  change.range.begin = passed_ + '\0';
  change.range.end = std::string(before_.last_key()) + '\0';
  change.key = change.range.begin;
  change.subtree.entries = before_.subtree().entries;
  pass(before_);
  target_->skip();
  return change;
}

/// Opens the higher of two subtrees first, so that both reach the level where they may be equal.
void Lockstep::open() {
  const bool both = before_.at_subtree() && after_.at_subtree();
  if (both && before_.level() == after_.level()) {
    open_both();
  } else if (after_.at_subtree() && (!both || after_.level() > before_.level())) {
    after_.open_at(from_);
  } else {
    before_.open_at(from_);
  }
}

void Lockstep::open_both() {
  std::vector<Nid> nids;
  before_.plan_open(after_, nids);
  after_.plan_open(before_, nids);
  pool_.fetch(nids);
  before_.open_at(from_);
  after_.open_at(from_);
}

std::optional<Change> Lockstep::compare_entries() {
  const int order = before_.done()  ? 1
                    : after_.done() ? -1
                                    : before_.last_key().compare(after_.last_key());
  if (order == 0 && same_content(before_.fields(), after_.fields())) {
    TreeWalk::step_while_equal(before_, after_);
    pass(before_);
    pass(after_);
    return std::nullopt;
  }
  Change change;
  change.kind = Change::Kind::kThreeWay;
  change.key = order <= 0 ? before_.last_key() : after_.last_key();
  if (order <= 0) {
    change.base = to_entry(before_.fields());
    pass(before_);
  }
  if (order >= 0) {
    change.entry = to_entry(after_.fields());
    pass(after_);
  }
  if (change.key < from_) return std::nullopt;
  return change;
}

}  // namespace tarn::tree
