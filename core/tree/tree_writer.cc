#include "core/tree/tree_writer.h"

#include <string>
#include <utility>

#include "core/base/error.h"

namespace tarn::tree {

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

}  // namespace tarn::tree
