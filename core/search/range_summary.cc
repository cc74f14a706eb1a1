#include "core/search/range_summary.h"

#include <algorithm>
#include <vector>

#include "core/base/wire.h"
#include "core/model/content_type.h"
#include "core/search/field.h"

namespace tarn::search {
namespace {

/// Version 1 had no object tags.
constexpr uint8_t kVersion = 2;
// A false positive rate of one percent per item, until the filter reaches its maximum size.
constexpr size_t kBitsPerItem = 10;
constexpr uint32_t kBitsSetPerItem = 4;

/// The position of the item's n-th bit.
size_t bit_of(Item item, uint32_t n, size_t bits) {
  const auto first = static_cast<uint32_t>(item);
  const auto step = static_cast<uint32_t>(item >> 32) | 1;
  return static_cast<size_t>((uint64_t{first + n * step} * bits) >> 32);
}

std::string filter_of(const std::vector<Item>& items) {
  const size_t bytes = std::clamp<size_t>(items.size() * kBitsPerItem / 8, 1, kFilterBytesMax);
  std::string filter(bytes, '\0');
  char* const out = filter.data();
  for (const Item item : items) {
    for (uint32_t n = 0; n < kBitsSetPerItem; ++n) {
      const size_t bit = bit_of(item, n, bytes * 8);
      out[bit / 8] = static_cast<char>(static_cast<uint8_t>(out[bit / 8]) | 1u << bit % 8);
    }
  }
  return filter;
}

bool filter_may_hold(std::string_view filter, Item item) {
  for (uint32_t n = 0; n < kBitsSetPerItem; ++n) {
    const size_t bit = bit_of(item, n, filter.size() * 8);
    if ((static_cast<uint8_t>(filter[bit / 8]) >> bit % 8 & 1u) == 0) return false;
  }
  return true;
}

void add_type_items(std::string_view stored, ItemSet& out) {
  const std::string_view type = stored.empty() ? kDefaultContentType : stored;
  out.add(content_type_item(type));
  out.add(content_class_item(type.substr(0, type.find('/'))));
}

void add_extra_items(const Entry& entry, ItemSet& out) {
  for (const auto& [key, value] : entry.user_metadata()) {
    out.add(metadata_key_item(key));
    out.add(metadata_pair_item(key, value));
  }
  for (const auto& [key, value] : entry.object_tags()) {
    out.add(tag_key_item(key));
    out.add(tag_pair_item(key, value));
  }
}

}  // namespace

RangeSummary RangeSummary::of(const tree::LeafNode& range) {
  const tree::LeafNode::Bounds bounds = range.bounds();
  RangeSummary out;
  out.size_min_bytes_ = bounds.size_min_bytes;
  out.size_max_bytes_ = bounds.size_max_bytes;
  out.mtime_min_ms_ = bounds.mtime_min_ms;
  out.mtime_max_ms_ = bounds.mtime_max_ms;
  ItemSet items;
  for (const std::string_view type : range.content_types()) add_type_items(type, items);
  const bool extras = range.may_have_extras();
  tree::KeyScan keys(range.keys());
  for (uint32_t i = 0; i < range.count(); ++i, keys.next()) {
    items.add_path(keys.key(), keys.shared());
    if (extras && range.has_extras(i)) add_extra_items(range.entry(i), items);
  }
  out.filter_ = filter_of(items.items());
  return out;
}

std::string RangeSummary::encode() const {
  std::string out(1, static_cast<char>(kVersion));
  put_varint(out, size_min_bytes_);
  put_varint(out, size_max_bytes_ - size_min_bytes_);
  put_varint(out, zigzag(mtime_min_ms_));
  put_varint(out, static_cast<uint64_t>(mtime_max_ms_) - static_cast<uint64_t>(mtime_min_ms_));
  out += filter_;
  return out;
}

std::optional<RangeSummary> RangeSummary::decode(std::string_view bytes) {
  WireReader in(bytes, "range summary");
  if (in.u8() != kVersion) return std::nullopt;
  RangeSummary out;
  out.size_min_bytes_ = in.varint();
  out.size_max_bytes_ = out.size_min_bytes_ + in.varint();
  out.mtime_min_ms_ = unzigzag(in.varint());
  out.mtime_max_ms_ = static_cast<int64_t>(static_cast<uint64_t>(out.mtime_min_ms_) + in.varint());
  if (out.size_max_bytes_ < out.size_min_bytes_ || out.mtime_max_ms_ < out.mtime_min_ms_) {
    in.fail("has limits in the wrong order");
  }
  if (in.left() == 0 || in.left() > kFilterBytesMax) in.fail("has no filter of a legal length");
  out.filter_ = std::string(in.take(in.left()));
  return out;
}

bool RangeSummary::may_meet(const Requirement& requirement) const {
  if (size_max_bytes_ < requirement.size_min_bytes ||
      size_min_bytes_ > requirement.size_max_bytes) {
    return false;
  }
  if (mtime_max_ms_ < requirement.mtime_min_ms || mtime_min_ms_ > requirement.mtime_max_ms)
    return false;
  return std::all_of(requirement.items.begin(), requirement.items.end(),
                     [&](Item item) { return filter_may_hold(filter_, item); });
}

}  // namespace tarn::search
