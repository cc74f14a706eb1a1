// Editing walks the old tree and the sorted changes side by side, and feeds one TreeWriter.
//
//   changes:            d1                 d7            range r..s
//   old leaves:  [a b c] [d e f] [g h i j] [k l m] ... [p q r] [s t u]
//   writer:      splice  entries  ...                    entries
//
// visit() looks at one child of an inner node. Without a change in it, the child is taken whole by
// its reference (splice), unread, if the writer stands at a boundary of the child's level; a child
// that a range deletion covers is dropped unread. Any other child is loaded and visited in turn.
// visit_leaf() copies entries to the writer, applies the changes between them, and hands the leaf
// over by reference if no change had an effect.
//
// Where nodes end depends on the keys and weights in them alone (chunker.h): after a change the
// writer comes to a boundary that the old tree has too, within a node or two, and splices from
// there on. The same entries make the same tree whatever edits led to it. Loads are planned ahead:
// load() brings the next siblings that changes touch with one statement (plan_read).

#include "core/tree/editor.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace tarn::tree {
namespace {

constexpr size_t kReadAheadNodes = 16;  // children of one inner node per load
constexpr size_t kReadAheadBelow = 64;  // nodes of each level below those

}  // namespace

/// The entries of one leaf on their way to the writer. Writes nothing before the first effective
/// change, so that a leaf without one can still be taken by reference.
class Editor::LeafCopy {
 public:
  LeafCopy(const LeafNode& leaf, TreeWriter& writer) : leaf_(leaf), writer_(writer) {}

  const LeafNode& leaf() const { return leaf_; }
  bool untouched() const { return !touched_; }

  /// Writes the entries before `end` that are neither written nor dropped.
  void write_to(uint32_t end) {
    touched_ = true;
    if (next_ >= end) return;
    KeyScan scan(leaf_.keys(), next_);
    for (; next_ < end; ++next_, scan.next()) writer_.add(scan.key(), leaf_.fields(next_));
  }
  void drop_to(uint32_t end) { next_ = end; }

 private:
  const LeafNode& leaf_;
  TreeWriter& writer_;
  uint32_t next_ = 0;
  bool touched_ = false;
};

Editor::Editor(NodeSource& source, NodeSink& sink, const TreeFormat& format,
               std::span<const RangeDelete> ranges, ChangeSource& changes, size_t look_ahead,
               Decider decider)
    : source_(source),
      writer_(sink, format),
      window_(changes, ranges, look_ahead),
      decider_(std::move(decider)) {}

EditResult Editor::run(const TreeRoot& base) {
  const bool idle = window_.peek() == nullptr && window_.ranges().empty();
  if (!base.empty() && !idle) {
    const std::shared_ptr<const Node> root = source_.load(base.nid);
    writer_.offer_reuse(root->level(), base);
    if (root->level() == 0) {
      visit_leaf(static_cast<const LeafNode&>(*root), nullptr, true);
    } else {
      visit_inner(static_cast<const InnerNode&>(*root), true);
    }
  }
  while (const Change* change = window_.peek()) {
    apply(*change, nullptr, {});
    window_.pop();
  }
  result_.root = result_.changed_anything() ? writer_.finish(source_) : base;
  result_.nodes_written = writer_.nodes_written();
  return result_;
}

void Editor::visit_inner(const InnerNode& node, bool last) {
  for (uint32_t i = 0; i < node.count(); ++i) visit(node, i, last && i + 1 == node.count());
}

/// `last`: no key of the base tree follows the child.
void Editor::visit(const InnerNode& parent, uint32_t index, bool last) {
  const ChildRef child = parent.child(index);
  const auto level = static_cast<uint8_t>(parent.level() - 1);
  const Change* change = window_.peek();
  const bool changes = change != nullptr && change->key <= child.last_key;
  const ChangeWindow::Cover cover = window_.cover(position_, child.last_key);
  if (!changes && cover == ChangeWindow::Cover::kAll) {
    result_.removed += child.entries;
  } else if (!changes && cover == ChangeWindow::Cover::kNothing && can_splice(child, level, last)) {
    writer_.splice(level, child);
  } else {
    const std::shared_ptr<const Node> node = load(parent, index);
    writer_.offer_reuse(level, {child.nid, child.hash});
    if (level == 0) {
      visit_leaf(static_cast<const LeafNode&>(*node), &child, last);
    } else {
      visit_inner(static_cast<const InnerNode&>(*node), last);
    }
  }
  position_.assign(child.last_key);
}

/// `self` is the parent's reference to the leaf; nullptr for a root.
void Editor::visit_leaf(const LeafNode& leaf, const ChildRef* self, bool last) {
  LeafCopy copy(leaf, writer_);
  const std::string last_key = leaf.key(leaf.count() - 1);
  for (uint32_t next = 0;;) {
    const Change* change = window_.peek();
    if (change != nullptr && change->key > last_key) change = nullptr;
    KeySection::Position at{leaf.count(), false};
    if (change != nullptr) at = leaf.keys().find(change->key);
    drop_covered(copy, next, at.index);
    if (change == nullptr) break;
    apply(*change, &copy, at);
    window_.pop();
    next = at.index + (at.exact ? 1 : 0);
  }
  if (copy.untouched() && self != nullptr && can_splice(*self, 0, last)) {
    writer_.splice(0, *self);
  } else {
    copy.write_to(leaf.count());
  }
}

void Editor::drop_covered(LeafCopy& copy, uint32_t begin, uint32_t end) {
  const LeafNode& leaf = copy.leaf();
  for (const RangeDelete& range : window_.ranges()) {
    const uint32_t from = std::max(begin, leaf.lower_bound(range.begin));
    if (from >= end) return;
    const uint32_t to = range.end.empty() ? end : std::min(end, leaf.lower_bound(range.end));
    if (from >= to) continue;
    copy.write_to(from);
    copy.drop_to(to);
    result_.removed += to - from;
  }
}

/// `copy` and `at` are the position of the change in the base; no copy = after its last key.
void Editor::apply(const Change& change, LeafCopy* copy, KeySection::Position at) {
  if (change.kind == Change::Kind::kTakeSubtree) {
    if (copy != nullptr) copy->write_to(at.index);
    ChildRef subtree = change.subtree;
    subtree.last_key = change.key;
    take(subtree, change.level);
    result_.added += subtree.entries;
    return;
  }
  std::optional<EntryFields> below;
  if (at.exact) below = copy->leaf().fields(at.index);
  if (decide(change, below) == Decision::kKeep) return;
  count(below.has_value(), change.entry.has_value());
  if (copy != nullptr) copy->write_to(at.index);
  if (change.entry) {
    scratch_.assign(*change.entry);
    writer_.add(change.key, scratch_.fields());
  }
  if (at.exact) copy->drop_to(at.index + 1);
}

Decision Editor::decide(const Change& change, const std::optional<EntryFields>& below) {
  if (change.kind == Change::Kind::kThreeWay) {
    return decider_(change, below ? std::optional<Entry>(to_entry(*below)) : std::nullopt);
  }
  if (!below) return change.entry ? Decision::kApply : Decision::kKeep;
  if (!change.entry) return Decision::kApply;
  scratch_.assign(*change.entry);
  return same_content(*below, scratch_.fields()) ? Decision::kKeep : Decision::kApply;
}

void Editor::count(bool below, bool after) {
  if (below && after) {
    ++result_.changed;
  } else if (below) {
    ++result_.removed;
  } else if (after) {
    ++result_.added;
  }
}

bool Editor::can_splice(const ChildRef& child, uint8_t level, bool last) {
  return writer_.at_boundary(level) &&
         (child.closed_by_rule || (last && window_.peek() == nullptr));
}

/// Adds a subtree of another tree: by reference where the boundaries permit it, otherwise piece by
/// piece until they do.
void Editor::take(const ChildRef& subtree, uint8_t level) {
  if (writer_.at_boundary(level) && subtree.closed_by_rule) {
    writer_.splice(level, subtree);
    return;
  }
  const std::shared_ptr<const Node> node = source_.load(subtree.nid);
  writer_.offer_reuse(level, {subtree.nid, subtree.hash});
  if (level == 0) {
    LeafCopy(static_cast<const LeafNode&>(*node), writer_).write_to(node->count());
    return;
  }
  for (uint32_t i = 0; i < node->count(); ++i) {
    take(node->child(i), static_cast<uint8_t>(level - 1));
  }
}

std::shared_ptr<const Node> Editor::load(const InnerNode& parent, uint32_t index) {
  if (const auto found = read_ahead_.find(parent.nid(index)); found != read_ahead_.end()) {
    std::shared_ptr<const Node> node = std::move(found->second);
    read_ahead_.erase(found);
    return node;
  }
  std::vector<Nid> nids{parent.nid(index)};
  plan_read(parent, parent.last_key(index), kReadAheadNodes, nids);
  std::vector<std::shared_ptr<const Node>> nodes = source_.load(nids);
  for (size_t i = 1; i < nids.size(); ++i) read_ahead_.emplace(nids[i], nodes[i]);
  std::shared_ptr<const Node> wanted = nodes[0];
  while (nodes[0]->level() > 0) {  // changes far apart share no node below
    nids.clear();
    std::string_view after = position_;
    for (const std::shared_ptr<const Node>& node : nodes) {
      const auto& inner = static_cast<const InnerNode&>(*node);
      plan_read(inner, after, kReadAheadBelow, nids);
      after = inner.last_key(inner.count() - 1);
    }
    if (nids.empty()) break;
    std::vector<std::shared_ptr<const Node>> below = source_.load(nids);
    for (size_t i = 0; i < nids.size(); ++i) read_ahead_.emplace(nids[i], below[i]);
    nodes = std::move(below);
  }
  return wanted;
}

/// Adds the children of `parent` that hold buffered changes of keys > `after`: those will be opened
/// for certain. At most so many that `nids` has `most`.
void Editor::plan_read(const InnerNode& parent, std::string_view after, size_t most,
                       std::vector<Nid>& nids) const {
  const auto& buffer = window_.buffered();
  const auto behind = [&](std::string_view key) {
    return std::upper_bound(buffer.begin(), buffer.end(), key,
                            [](std::string_view k, const Change& c) { return k < c.key; });
  };
  for (auto it = behind(after); it != buffer.end() && nids.size() < most;) {
    const uint32_t child = parent.lower_bound(it->key);
    if (child == parent.count()) return;
    if (it->kind == Change::Kind::kRemoveRange) {
      ++it;
      continue;
    }
    if (!read_ahead_.contains(parent.nid(child))) nids.push_back(parent.nid(child));
    it = behind(parent.last_key(child));
  }
}

TreeWriter::TreeWriter(NodeSink& sink, const TreeFormat& format)
    : sink_(sink), format_(format), leaf_chunker_(format, 0) {}

void TreeWriter::add(std::string_view key, const EntryFields& fields) {
  leaf_.add(key, fields);
  if (leaf_chunker_.add(key, entry_weight(extra_bytes(fields)))) close_leaf(true);
}

bool TreeWriter::at_boundary(uint8_t level) const {
  if (leaf_.count() > 0) return false;
  for (size_t i = 0; i < level && i < inner_.size(); ++i) {
    if (inner_[i]->encoder.count() > 0) return false;
  }
  return true;
}

void TreeWriter::splice(uint8_t level, const ChildRef& child) {
  TARN_CHECK(at_boundary(level));
  push(size_t{level} + 1, child, true);
}

void TreeWriter::offer_reuse(uint8_t level, const TreeRoot& node) {
  Offers& ring = offers(level);
  ring.nodes[ring.next] = node;
  ring.next = (ring.next + 1) % Offers::kCount;
}

TreeWriter::InnerLevel& TreeWriter::inner(size_t level) {
  while (inner_.size() < level) {
    const auto next = static_cast<uint8_t>(inner_.size() + 1);
    inner_.push_back(std::make_unique<InnerLevel>(format_, next));
  }
  return *inner_[level - 1];
}

TreeWriter::Offers& TreeWriter::offers(uint8_t level) {
  if (offers_.size() <= level) offers_.resize(size_t{level} + 1);
  return offers_[level];
}

void TreeWriter::close_leaf(bool by_rule) {
  EncodedNode node = leaf_.encode();
  const Hash128 hash = hash_of(format_, node);
  const Nid nid = store(0, hash, node);
  push(1, {leaf_.last_key(), nid, hash, node.entries, node.object_bytes, by_rule}, false);
  leaf_.clear();
  leaf_chunker_.restart();
}

void TreeWriter::close_inner(size_t level, bool by_rule) {
  InnerLevel& here = inner(level);
  EncodedNode node = here.encoder.encode();
  const Hash128 hash = hash_of(format_, node);
  const Nid nid = store(static_cast<uint8_t>(level), hash, node);
  // A node above an open child is open too, even if the rule would end it at its last key.
  const bool closed = by_rule && !here.encoder.last_child_open();
  here.emitted = true;
  push(level + 1, {here.encoder.last_key(), nid, hash, node.entries, node.object_bytes, closed},
       false);
  here.encoder.clear();
  here.chunker.restart();
}

Nid TreeWriter::store(uint8_t level, const Hash128& hash, EncodedNode& node) {
  for (const TreeRoot& offer : offers(level).nodes) {
    if (offer.nid != 0 && offer.hash == hash) return offer.nid;
  }
  ++nodes_written_;
  return sink_.put(level, hash, std::move(node.bytes));
}

void TreeWriter::push(size_t level, const ChildRef& child, bool spliced) {
  InnerLevel& here = inner(level);
  here.encoder.add(child);
  here.last_child_spliced = spliced;
  if (here.chunker.add(child.last_key, 1)) close_inner(level, true);
}

bool TreeWriter::nothing_above(size_t level) const {
  for (size_t i = level; i < inner_.size(); ++i) {
    if (inner_[i]->encoder.count() > 0) return false;
  }
  return true;
}

TreeRoot TreeWriter::finish(NodeSource& source) {
  if (leaf_.count() > 0) close_leaf(false);
  for (size_t level = 1; level <= inner_.size(); ++level) {
    InnerLevel& here = inner(level);
    const uint32_t children = here.encoder.count();
    if (children == 0) continue;
    if (children == 1 && !here.emitted && nothing_above(level)) {
      const TreeRoot root = here.encoder.last_child();
      return here.last_child_spliced && level > 1 ? lowest_single(source, root) : root;
    }
    close_inner(level, false);
  }
  return TreeRoot{};
}

TreeRoot TreeWriter::lowest_single(NodeSource& source, TreeRoot root) const {
  for (;;) {
    const std::shared_ptr<const Node> node = source.load(root.nid);
    if (node->level() == 0 || node->count() > 1) return root;
    const ChildRef child = node->child(0);
    root = {child.nid, child.hash};
  }
}

EditResult edit_tree(NodeSource& source, NodeSink& sink, const TreeFormat& format,
                     const TreeRoot& base, std::span<const RangeDelete> deletes,
                     ChangeSource& changes) {
  constexpr size_t kLookAheadEdits = 512;
  const size_t look_ahead = base.empty() ? 1 : kLookAheadEdits;
  return Editor(source, sink, format, deletes, changes, look_ahead).run(base);
}

}  // namespace tarn::tree
