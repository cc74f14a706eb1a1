#include "core/tree/inner_node.h"

#include "core/base/error.h"
#include "core/tree/key_section.h"
#include "core/tree/node_layout.h"

namespace tarn::tree {

InnerNode::InnerNode(std::string encoding) : bytes_(std::move(encoding)) {
  NodeReader in(bytes_);
  const NodeHeader header = read_node_header(in);
  level_ = header.level;
  last_child_open_ = (header.flags & kFlagLastChildOpen) != 0;
  const size_t keys_begin = in.offset();
  const KeySection section = KeySection::parse(in, header.count);
  const size_t keys_end = in.offset();
  key_ends_.reserve(header.count);
  for (KeyScan scan(section); scan.index() < header.count; scan.next()) {
    keys_.append(scan.key());
    key_ends_.push_back(static_cast<uint32_t>(keys_.size()));
  }
  keys_.shrink_to_fit();
  // Replaces the compressed keys by the whole ones.
  bytes_.erase(keys_begin, keys_end - keys_begin);
  bytes_.shrink_to_fit();
  NodeReader rest(std::string_view(bytes_).substr(keys_begin));
  read_children(rest, header.count);
  canonical_bytes_ += keys_end;
  if (entries_ != header.entries || object_bytes_ != header.object_bytes) {
    NodeReader::fail("its totals are wrong");
  }
}

void InnerNode::read_children(NodeReader& in, uint32_t count) {
  hashes_ = in.take(uint64_t{count} * kHashBytes).data();
  entry_counts_ = UintColumn::parse(in, count);
  byte_counts_ = UintColumn::parse(in, count);
  canonical_bytes_ = in.offset();
  base_nid_ = in.fixed(8);
  nids_ = UintColumn::parse(in, count);
  if (!in.done()) NodeReader::fail("it has bytes after its end");
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t below = entry_counts_.at(i);
    if (below == 0 || below > UINT64_MAX - entries_) NodeReader::fail("a child's count is wrong");
    if (nid(i) <= 0) NodeReader::fail("a child has no address");
    entries_ += below;
    object_bytes_ += byte_counts_.at(i);
  }
}

std::string_view InnerNode::last_key(uint32_t index) const {
  const uint32_t begin = index == 0 ? 0 : key_ends_[index - 1];
  return std::string_view(keys_).substr(begin, key_ends_[index] - begin);
}

uint32_t InnerNode::lower_bound(std::string_view key) const {
  uint32_t low = 0;
  uint32_t high = count();
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (last_key(middle) < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Hash128 InnerNode::hash(uint32_t index) const {
  return hash128_from_bytes({hashes_ + size_t{index} * kHashBytes, kHashBytes});
}

ChildRef InnerNode::child(uint32_t index) const {
  ChildRef ref;
  ref.last_key = last_key(index);
  ref.nid = nid(index);
  ref.hash = hash(index);
  ref.entries = entry_counts_.at(index);
  ref.bytes = byte_counts_.at(index);
  ref.closed_by_rule = !(last_child_open_ && index + 1 == count());
  return ref;
}

Entry InnerNode::entry(uint32_t) const {
  throw Error(ErrorCode::kInternal, "reading an entry of an inner node: it has none");
}

size_t InnerNode::memory_bytes() const {
  return sizeof(*this) + bytes_.capacity() + keys_.capacity() +
         key_ends_.capacity() * sizeof(uint32_t);
}

}  // namespace tarn::tree
