#include "core/tree/lockstep.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"

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

namespace {

constexpr size_t kPoolNodesPerLevel = 96;  // one read-ahead of each of three trees, twice over

constexpr size_t kOpenTogether = 16;

}  // namespace

std::shared_ptr<const Node> NodePool::get(Nid nid) {
  if (const auto found = nodes_.find(nid); found != nodes_.end()) return found->second;
  fetch(std::span<const Nid>(&nid, 1));
  return nodes_.at(nid);
}

void NodePool::fetch(std::span<const Nid> nids) {
  std::vector<Nid> missing;
  for (const Nid nid : nids) {
    const bool twice = std::find(missing.begin(), missing.end(), nid) != missing.end();
    if (!has(nid) && !twice) missing.push_back(nid);
  }
  if (missing.empty()) return;
  const std::vector<std::shared_ptr<const Node>> loaded = source_.load(missing);
  for (size_t i = 0; i < missing.size(); ++i) {
    keep(missing[i], loaded[i]);
  }
}

void NodePool::keep(Nid nid, const std::shared_ptr<const Node>& node) {
  if (order_.size() <= node->level()) order_.resize(size_t{node->level()} + 1);
  std::deque<Nid>& order = order_[node->level()];
  nodes_.emplace(nid, node);
  order.push_back(nid);
  if (order.size() <= kPoolNodesPerLevel) return;
  nodes_.erase(order.front());
  order.pop_front();
}

TreeWalk::TreeWalk(NodePool& pool, const TreeRoot& root) : pool_(pool) {
  if (root.empty()) return;
  root_ = pool.get(root.nid);
  root_key_ = root_->key(root_->count() - 1);
  // It is not recorded why the root ended, so it counts as open and is not taken by reference.
  item_ = {root_key_, root.nid, root.hash, root_->entries(), root_->object_bytes(), false};
}

std::string_view TreeWalk::last_key() const {
  return at_entry() ? std::string_view(scan_.key()) : item_.last_key;
}

uint8_t TreeWalk::level() const {
  return root_ ? root_->level() : static_cast<uint8_t>(path_.back().inner->level() - 1);
}

void TreeWalk::skip() {
  skipped_.assign(last_key());
  if (root_) {
    root_ = nullptr;
    return;
  }
  ++path_.back().index;
  if (at_entry() && path_.back().index < path_.back().leaf->count()) {
    scan_.next();
    return;
  }
  settle();
}

void TreeWalk::step_while_equal(TreeWalk& a, TreeWalk& b) {
  if (a.root_ || b.root_) return;
  Frame& left = a.path_.back();
  Frame& right = b.path_.back();
  if (left.leaf != nullptr) {
    KeyScan::advance_while_equal(a.scan_, b.scan_, [&](uint32_t i, uint32_t j) {
      return left.leaf->has_content_of(i, *right.leaf, j);
    });
    left.index = a.scan_.index();
    right.index = b.scan_.index();
    return;
  }
  const uint32_t most =
      std::min(left.inner->count() - left.index, right.inner->count() - right.index);
  uint32_t steps = 1;
  while (steps < most &&
         left.inner->hash(left.index + steps) == right.inner->hash(right.index + steps)) {
    ++steps;
  }
  if (steps == 1) return;
  left.index += steps - 1;
  right.index += steps - 1;
  a.read_item();
  b.read_item();
}

/// Leaves exhausted nodes and reads the next item.
void TreeWalk::settle() {
  while (!path_.empty() && path_.back().index >= path_.back().node->count()) {
    path_.pop_back();
    if (!path_.empty()) ++path_.back().index;
  }
  if (!path_.empty()) read_item();
}

void TreeWalk::read_item() {
  Frame& top = path_.back();
  if (top.leaf != nullptr) {
    scan_.seek(top.leaf->keys(), top.index);
  } else {
    item_ = top.inner->child(top.index);
  }
}

void TreeWalk::open() { open_at({}); }

void TreeWalk::open_at(std::string_view key) {
  Frame frame;
  frame.node = item_node();
  root_ = nullptr;
  if (frame.node->level() == 0) {
    frame.leaf = static_cast<const LeafNode*>(frame.node.get());
  } else {
    frame.inner = static_cast<const InnerNode*>(frame.node.get());
  }
  if (!key.empty()) frame.index = frame.node->lower_bound(key);
  path_.push_back(std::move(frame));
  settle();
}

std::string_view TreeWalk::first_key() {
  if (at_entry()) return scan_.key();
  if (first_key_of_ != item_.nid) {
    std::shared_ptr<const Node> node = item_node();
    while (node->level() > 0) node = pool_.get(node->child(0).nid);
    first_key_ = node->key(0);
    first_key_of_ = item_.nid;
  }
  return first_key_;
}

void TreeWalk::skip_through(std::string_view key) {
  while (!done() && skipped_ < key) {
    if (last_key() <= key) {
      skip();
    } else if (first_key() > key) {
      return;
    } else {
      open_at(key);
    }
  }
}

void TreeWalk::skip_before(std::string_view key) {
  while (!done() && last_key() < key) skip();
}

bool TreeWalk::has_child(const Hash128& hash, uint32_t& hint) const {
  const InnerNode& inner = *path_.back().inner;
  const uint32_t count = inner.count();
  for (uint32_t n = 0; n < count; ++n) {
    const uint32_t i = (hint + n) % count;
    if (inner.hash(i) != hash) continue;
    hint = i + 1;
    return true;
  }
  return false;
}

void TreeWalk::plan_open(const TreeWalk& other, std::vector<Nid>& nids) {
  if (root_) return;
  nids.push_back(item_.nid);
  if (pool_.has(item_.nid)) return;
  const Frame& top = path_.back();
  const bool comparable = other.at_subtree() && !other.path_.empty() && other.level() == level();
  if (!comparable) return;
  size_t planned = 1;
  uint32_t hint = other.path_.back().index;
  for (uint32_t i = top.index + 1; i < top.inner->count() && planned < kOpenTogether; ++i) {
    if (other.has_child(top.inner->hash(i), hint)) continue;
    nids.push_back(top.inner->nid(i));
    ++planned;
  }
}

}  // namespace tarn::tree
