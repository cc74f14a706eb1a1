#include "core/tree/tree_walk.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace tarn::tree {
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
