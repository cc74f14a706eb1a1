#include "core/tree/leaf_node.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/tree/node_layout.h"

namespace tarn::tree {
namespace {

// Byte forms of etag and address, as written by core/model/entry.cc; checked here so that no later
// read can fail.
constexpr uint8_t kEtagMd5 = 0;
constexpr uint8_t kEtagMd5Parts = 1;
constexpr uint8_t kEtagText = 2;
constexpr size_t kMd5Bytes = 16;
constexpr uint8_t kAddressOwn = 0;
constexpr uint8_t kAddressPartList = 1;
constexpr uint8_t kAddressForeign = 2;
constexpr size_t kOwnBytes = 13;

/// The same as ==, but without a call for 8 to 24 bytes, which nearly all etags, addresses and
/// content types have.
[[gnu::always_inline]] inline bool same_value(std::string_view a, std::string_view b) {
  const size_t size = a.size();
  if (size != b.size()) return false;
  const auto same_at = [&](size_t at) {
    return load_fixed(a.data() + at, 8) == load_fixed(b.data() + at, 8);
  };
  if (size < 8 || size > 24) return a == b;
  return same_at(0) && same_at(size - 8) && (size <= 16 || same_at(8));
}

void require(bool ok, std::string_view why) {
  if (!ok) NodeReader::fail(why);
}

std::vector<std::string_view> read_dictionary(NodeReader& in, uint32_t count_max) {
  const uint64_t count = in.varint();
  require(count <= count_max, "a dictionary is longer than the node");
  std::vector<std::string_view> out;
  out.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) out.push_back(in.take(in.varint()));
  return out;
}

void check_etag(std::string_view bytes) {
  if (bytes.size() == 1 + kMd5Bytes && bytes[0] == kEtagMd5) return;  // nearly all
  NodeReader in(bytes);
  switch (in.u8()) {
    case kEtagMd5:
      in.take(kMd5Bytes);
      break;
    case kEtagMd5Parts:
      in.take(kMd5Bytes);
      in.varint();
      break;
    case kEtagText:
      require(in.take(in.varint()).size() <= kEtagBytesMax, "an etag is too long");
      break;
    default:
      NodeReader::fail("an etag has an unknown kind");
  }
  require(in.done(), "an etag has bytes after its end");
}

void check_address(std::string_view bytes, size_t heads) {
  if (bytes.size() == 1 + kOwnBytes && bytes[0] == kAddressOwn) return;  // nearly all
  NodeReader in(bytes);
  switch (in.u8()) {
    case kAddressOwn:
      in.take(kOwnBytes);
      break;
    case kAddressPartList:
      in.varint();
      break;
    case kAddressForeign:
      in.varint();
      in.take(kOwnBytes);
      break;
    case kAddressExternal:
      require(in.varint() < heads, "an address has no head");
      return;
    default:
      NodeReader::fail("an address has an unknown kind");
  }
  require(in.done(), "an address has bytes after its end");
}

void check_extras(std::string_view bytes) {
  NodeReader in(bytes);
  bool first = true;
  uint64_t previous = 0;
  while (!in.done()) {
    const uint64_t tag = in.varint();
    require(tag <= UINT32_MAX && (first || tag > previous), "extras are out of order");
    in.take(in.varint());
    previous = tag;
    first = false;
  }
}

}  // namespace

LeafNode::LeafNode(std::string encoding) : bytes_(std::move(encoding)) {
  NodeReader in(bytes_);
  const NodeHeader header = read_node_header(in);
  base_mtime_ = static_cast<int64_t>(in.fixed(8));
  keys_ = KeySection::parse(in, header.count);
  read_dictionaries(in);
  sizes_ = UintColumn::parse(in, header.count);
  mtimes_ = UintColumn::parse(in, header.count);
  types_ = UintColumn::parse(in, header.count);
  etags_ = BytesColumn::parse(in, header.count);
  addresses_ = BytesColumn::parse(in, header.count);
  extras_ = BytesColumn::parse(in, header.count);
  require(in.done(), "it has bytes after its end");
  check_entries();
  sizes_.each(header.count, [this](uint64_t bytes) { object_bytes_ += bytes; });
  require(header.entries == header.count && header.object_bytes == object_bytes_,
          "its totals are wrong");
}

void LeafNode::read_dictionaries(NodeReader& in) {
  content_types_ = read_dictionary(in, count());
  address_heads_ = read_dictionary(in, count());
}

void LeafNode::check_entries() const {
  uint64_t type = 0;
  types_.each(count(), [&](uint64_t one) { type = std::max(type, one); });
  require(type < content_types_.size(), "an entry has no content type");
  for (uint32_t i = 0; i < count(); ++i) {
    check_etag(etags_.at(i));
    check_address(addresses_.at(i), address_heads_.size());
  }
  if (extras_.all_empty()) return;
  for (uint32_t i = 0; i < count(); ++i) check_extras(extras_.at(i));
}

LeafNode::Bounds LeafNode::bounds() const {
  Bounds out;
  sizes_.each(count(), [&out](uint64_t bytes) {
    out.size_min_bytes = std::min(out.size_min_bytes, bytes);
    out.size_max_bytes = std::max(out.size_max_bytes, bytes);
  });
  mtimes_.each(count(), [&out, base = static_cast<uint64_t>(base_mtime_)](uint64_t after) {
    const auto mtime_ms = static_cast<int64_t>(base + after);
    out.mtime_min_ms = std::min(out.mtime_min_ms, mtime_ms);
    out.mtime_max_ms = std::max(out.mtime_max_ms, mtime_ms);
  });
  return out;
}

EntryFields LeafNode::fields(uint32_t index) const {
  EntryFields out;
  out.size_bytes = sizes_.at(index);
  out.mtime_ms = mtime_ms(index);
  out.etag = etags_.at(index);
  out.content_type = content_type(index);
  out.extras = extras_.at(index);
  out.address_tail = addresses_.at(index);
  if (out.address_tail[0] == kAddressExternal) {
    NodeReader in(out.address_tail.substr(1));
    out.external = true;
    out.address_head = address_heads_[static_cast<size_t>(in.varint())];
    out.address_tail.remove_prefix(1 + in.offset());
  }
  return out;
}

bool LeafNode::has_content_of(uint32_t index, const LeafNode& other, uint32_t at) const {
  if (sizes_.at(index) != other.sizes_.at(at) ||
      !same_value(etags_.at(index), other.etags_.at(at)) ||
      !same_value(content_type(index), other.content_type(at))) {
    return false;
  }
  const std::string_view address = addresses_.at(index);
  const bool nearly_all = address[0] != kAddressExternal &&
                          same_value(address, other.addresses_.at(at)) &&
                          extras_.at(index) == other.extras_.at(at);
  return nearly_all || same_content(fields(index), other.fields(at));
}

ChildRef LeafNode::child(uint32_t) const {
  throw Error(ErrorCode::kInternal, "reading a child of a leaf: it has none");
}

size_t LeafNode::memory_bytes() const {
  return sizeof(*this) + bytes_.capacity() +
         (content_types_.capacity() + address_heads_.capacity()) * sizeof(std::string_view);
}

}  // namespace tarn::tree
