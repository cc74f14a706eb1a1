#include "core/tree/cursor.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "core/base/error.h"
#include "core/tree/inner_node.h"
#include "core/tree/leaf_node.h"

namespace tarn::tree {
namespace {

constexpr size_t kReadAheadMax = 16;  // siblings per load; a scan reaches it by doubling from one

struct Frame {
  Nid nid = 0;
  std::shared_ptr<const Node> node;
  uint32_t index = 0;
};

/// Entries and bytes of all keys < `key`.
Totals totals_before(NodeSource& source, const TreeRoot& root, std::string_view key) {
  Totals totals;
  Nid nid = root.nid;
  while (nid != 0) {
    const std::shared_ptr<const Node> node = source.load(nid);
    const uint32_t index = node->lower_bound(key);
    nid = 0;
    if (node->level() == 0) {
      const auto& leaf = static_cast<const LeafNode&>(*node);
      totals.entries += index;
      for (uint32_t i = 0; i < index; ++i) totals.bytes += leaf.size_bytes(i);
      continue;
    }
    for (uint32_t i = 0; i < index; ++i) {
      const ChildRef child = node->child(i);
      totals.entries += child.entries;
      totals.bytes += child.bytes;
    }
    if (index < node->count()) nid = node->child(index).nid;
  }
  return totals;
}

Totals totals_of(NodeSource& source, const TreeRoot& root) {
  if (root.empty()) return {};
  const std::shared_ptr<const Node> node = source.load(root.nid);
  return {node->entries(), node->object_bytes()};
}

}  // namespace

struct Cursor::State {
  NodeSource& source;
  Nid root;
  LeafFilter* filter;
  std::vector<Frame> path;  ///< from the root; the last is a leaf when valid
  KeyScan scan;
  size_t read_ahead = 1;
  std::deque<std::pair<Nid, std::shared_ptr<const Node>>> ahead;
  bool valid = false;

  const LeafNode& leaf() const { return static_cast<const LeafNode&>(*path.back().node); }

  /// The first child at or after `index` that is not skipped.
  uint32_t next_child(const Node& parent, uint32_t index) {
    if (filter == nullptr || parent.level() != 1 || index >= parent.count()) return index;
    return filter->next_wanted(static_cast<const InnerNode&>(parent), index);
  }

  std::shared_ptr<const Node> load(const Frame& parent) {
    const auto& inner = static_cast<const InnerNode&>(*parent.node);
    const Nid wanted = inner.nid(parent.index);
    while (!ahead.empty()) {
      auto [nid, node] = std::move(ahead.front());
      ahead.pop_front();
      if (nid == wanted) return node;
    }
    std::vector<Nid> nids;
    for (uint32_t i = parent.index; i < inner.count() && nids.size() < read_ahead;) {
      nids.push_back(inner.nid(i));
      if (nids.size() < read_ahead) i = next_child(inner, i + 1);
    }
    const auto nodes = source.load(nids);
    for (size_t i = 1; i < nids.size(); ++i) ahead.emplace_back(nids[i], nodes[i]);
    return nodes[0];
  }

  /// Makes path[depth] the current child of path[depth - 1]; keeps it if it already is.
  void enter(size_t depth) {
    const Frame& parent = path[depth - 1];
    const Nid nid = static_cast<const InnerNode&>(*parent.node).nid(parent.index);
    if (depth < path.size() && path[depth].nid == nid) return;
    std::shared_ptr<const Node> node = load(parent);
    path.resize(depth);
    path.push_back({nid, std::move(node), 0});
    if (filter != nullptr && path.back().node->level() == 1) filter->entered(following(depth - 1));
  }

  /// The siblings after the current child of path[depth].
  std::vector<Nid> following(size_t depth) const {
    const auto& parent = static_cast<const InnerNode&>(*path[depth].node);
    std::vector<Nid> out;
    for (uint32_t i = path[depth].index + 1; i < parent.count(); ++i) out.push_back(parent.nid(i));
    return out;
  }

  void start_leaf() {
    scan.seek(leaf().keys(), path.back().index);
    valid = true;
  }

  void seek(std::string_view key) {
    valid = false;
    if (root == 0) return;
    read_ahead = 1;
    ahead.clear();
    if (path.empty()) path.push_back({root, source.load(root), 0});
    for (size_t depth = 0;; ++depth) {
      if (depth > 0) enter(depth);
      Frame& frame = path[depth];
      frame.index = frame.node->lower_bound(key);
      if (frame.index == frame.node->count())
        return;  // only at the root: below, the last key is >= key
      if (frame.node->level() == 0) break;
      const uint32_t first = std::exchange(frame.index, next_child(*frame.node, frame.index));
      if (frame.index != first) return go_on(depth);
    }
    start_leaf();
  }

  void next() {
    Frame& at = path.back();
    if (++at.index < at.node->count()) {
      scan.next();
      return;
    }
    valid = false;
    if (path.size() == 1) return;
    const size_t parent = path.size() - 2;
    Frame& frame = path[parent];
    frame.index = next_child(*frame.node, frame.index + 1);
    go_on(parent);
  }

  /// Moves to the first entry of the current child of path[depth], or of the next wanted one.
  void go_on(size_t depth) {
    for (;;) {
      Frame& frame = path[depth];
      if (frame.index == LeafFilter::kNoMore) return;
      if (frame.index >= frame.node->count()) {
        if (depth == 0) return;
        ++path[--depth].index;
        continue;
      }
      if (frame.node->level() == 0) break;
      // Read ahead leaves only; a new inner node starts at its first child.
      const bool leaves = frame.node->level() == 1;
      if (leaves) read_ahead = std::min(read_ahead * 2, kReadAheadMax);
      const size_t kept = std::exchange(read_ahead, leaves ? read_ahead : 1);
      enter(++depth);
      read_ahead = kept;
      path[depth].index = next_child(*path[depth].node, 0);
    }
    start_leaf();
  }
};

Cursor::Cursor(NodeSource& source, const TreeRoot& root, LeafFilter* filter)
    : state_(new State{source, root.nid, filter, {}, {}, 1, {}, false}) {}
Cursor::~Cursor() = default;
Cursor::Cursor(Cursor&&) noexcept = default;

void Cursor::seek(std::string_view key) { state_->seek(key); }
bool Cursor::valid() const { return state_->valid; }
const std::string& Cursor::key() const { return state_->scan.key(); }
Entry Cursor::entry() const { return state_->leaf().entry(state_->path.back().index); }

void Cursor::next() {
  TARN_CHECK(state_->valid);
  state_->next();
}

std::optional<Entry> find_entry(NodeSource& source, const TreeRoot& root, std::string_view key) {
  Nid nid = root.nid;
  while (nid != 0) {
    const std::shared_ptr<const Node> node = source.load(nid);
    if (node->level() == 0) {
      const auto& leaf = static_cast<const LeafNode&>(*node);
      const KeySection::Position at = leaf.keys().find(key);
      return at.exact ? std::optional<Entry>(leaf.entry(at.index)) : std::nullopt;
    }
    const uint32_t index = node->lower_bound(key);
    nid = index < node->count() ? node->child(index).nid : 0;
  }
  return std::nullopt;
}

Totals count_range(NodeSource& source, const TreeRoot& root, std::string_view begin,
                   std::string_view end) {
  if (!end.empty() && end <= begin) return {};
  const Totals upper = end.empty() ? totals_of(source, root) : totals_before(source, root, end);
  const Totals lower = totals_before(source, root, begin);
  return {upper.entries - lower.entries, upper.bytes - lower.bytes};
}

bool visit_matches(NodeSource& source, const TreeRoot& root, const Glob& pattern, uint64_t most,
                   uint64_t& seen,
                   const std::function<void(const std::string& key, const Entry& entry)>& visit) {
  if (pattern.prefix() == pattern.pattern()) {
    if (const auto entry = find_entry(source, root, pattern.pattern()))
      visit(pattern.pattern(), *entry);
    return true;
  }
  Cursor cursor(source, root);
  for (cursor.seek(pattern.prefix()); cursor.valid() && cursor.key().starts_with(pattern.prefix());
       cursor.next()) {
    if (++seen > most) return false;
    if (pattern.matches(cursor.key())) visit(cursor.key(), cursor.entry());
  }
  return true;
}

}  // namespace tarn::tree
