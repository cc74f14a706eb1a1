#include <string>

#include "core/tree/cursor.h"
#include "core/tree/leaf_node.h"

namespace tarn::tree {
namespace {

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

}  // namespace tarn::tree
