// Encoding of nodes: columns, so that equal fields of neighbours compress and a reader finds entry
// i without parsing those before it. docs/format/node.md has every width.
//
//   leaf   | header 28 | base mtime 8 | keys + restarts | content types | address heads |
//          | sizes | mtimes - base | index of content type | etags | addresses | extras |
//   inner  | header 28 | last keys of the children + restarts | hashes 16 each |
//          | entries below | bytes below | base nid 8 | nids - base |
//                                        ^ canonical_bytes end here
//
// Keys share prefixes with the key before them, except every sixteenth (the restarts), where a
// binary search begins. A column of integers has one width, the least that holds its greatest
// value; a column of byte strings has their ends in front, or one length for all.
//
// The hash covers the salt of the repository and the canonical bytes. Nids, the addresses of nodes
// in the database, come after those: equal entries give equal hashes wherever nodes are stored,
// and two trees skip equal children unread. The encoders write what they were given; they sort
// and check nothing but lengths.
#include "core/tree/node_encoder.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/tree/body.h"
#include "core/tree/inner_node.h"
#include "core/tree/node_layout.h"

namespace tarn::tree {
namespace {

uint64_t sum_of(const std::vector<uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

std::vector<uint64_t> differences(const std::vector<int64_t>& values, int64_t base) {
  std::vector<uint64_t> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    out[i] = static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(base);
  }
  return out;
}

}  // namespace

Hash128 hash_of(const TreeFormat& format, const EncodedNode& node) {
  thread_local Digest digest(DigestAlgorithm::kSha256);
  std::string salt;
  put_fixed(salt, format.salt, 8);
  digest.update(kNodeHashDomain);
  digest.update(salt);
  digest.update(std::string_view(node.bytes).substr(0, node.canonical_bytes));
  return hash128_from_bytes(std::string_view(digest.finish()).substr(0, kHashBytes));
}

Hash128 hash_of_body(const TreeFormat& format, std::string_view body) {
  EncodedNode node;
  node.bytes = unpack_body(body);
  NodeReader in(node.bytes);
  node.canonical_bytes =
      read_node_header(in).level == 0 ? node.bytes.size() : InnerNode(node.bytes).canonical_bytes();
  return hash_of(format, node);
}

std::shared_ptr<const Node> decode_checked(const TreeFormat& format, std::string_view body,
                                           std::string_view hash) {
  EncodedNode encoded;
  encoded.bytes = unpack_body(body);
  NodeReader in(encoded.bytes);
  std::shared_ptr<const Node> node;
  encoded.canonical_bytes = encoded.bytes.size();
  if (read_node_header(in).level > 0) {
    auto inner = std::make_shared<const InnerNode>(encoded.bytes);
    encoded.canonical_bytes = inner->canonical_bytes();
    node = std::move(inner);
  }
  if (view_of(hash_of(format, encoded)) != hash) NodeReader::fail("its content has another hash");
  return node ? node : std::make_shared<const LeafNode>(std::move(encoded.bytes));
}

uint64_t Dictionary::index_of(std::string_view text) {
  // Newest first: most entries repeat the text of the previous one.
  for (size_t i = texts_.size(); i > 0; --i) {
    if (texts_[i - 1] == text) return i - 1;
  }
  texts_.emplace_back(text);
  return texts_.size() - 1;
}

void Dictionary::write(std::string& out) const {
  put_varint(out, texts_.size());
  for (const std::string& text : texts_) put_bytes(out, text);
}

void LeafEncoder::add(std::string_view key, const EntryFields& fields) {
  if (extra_bytes(fields) > kEntryExtraBytesMax) {
    throw_invalid(str_cat("storing entry \"", key, "\": its metadata is longer than ",
                          kEntryExtraBytesMax, " bytes"));
  }
  keys_.add(key);
  sizes_.push_back(fields.size_bytes);
  mtimes_.push_back(fields.mtime_ms);
  types_.push_back(content_types_.index_of(fields.content_type));
  etags_.add(fields.etag);
  if (fields.external) {
    std::string& data = addresses_.data();
    data.push_back(kAddressExternal);
    put_varint(data, address_heads_.index_of(fields.address_head));
    data.append(fields.address_tail);
    addresses_.end_value();
  } else {
    addresses_.add(fields.address_tail);
  }
  extras_.add(fields.extras);
}

EncodedNode LeafEncoder::encode() const {
  EncodedNode node;
  node.entries = count();
  node.object_bytes = sum_of(sizes_);
  const int64_t base_mtime = *std::min_element(mtimes_.begin(), mtimes_.end());
  put_node_header(node.bytes, {0, 0, count(), node.entries, node.object_bytes});
  put_fixed(node.bytes, static_cast<uint64_t>(base_mtime), 8);
  keys_.write(node.bytes);
  content_types_.write(node.bytes);
  address_heads_.write(node.bytes);
  put_uint_column(node.bytes, sizes_);
  put_uint_column(node.bytes, differences(mtimes_, base_mtime));
  put_uint_column(node.bytes, types_);
  etags_.write(node.bytes);
  addresses_.write(node.bytes);
  extras_.write(node.bytes);
  node.canonical_bytes = node.bytes.size();
  return node;
}

void LeafEncoder::clear() {
  keys_.clear();
  content_types_.clear();
  address_heads_.clear();
  sizes_.clear();
  mtimes_.clear();
  types_.clear();
  etags_.clear();
  addresses_.clear();
  extras_.clear();
}

void InnerEncoder::add(const ChildRef& child) {
  keys_.add(child.last_key);
  hashes_.append(view_of(child.hash));
  entries_.push_back(child.entries);
  bytes_.push_back(child.bytes);
  nids_.push_back(static_cast<uint64_t>(child.nid));
  last_child_open_ = !child.closed_by_rule;
}

TreeRoot InnerEncoder::last_child() const {
  const std::string_view hash = std::string_view(hashes_).substr(hashes_.size() - kHashBytes);
  return {static_cast<Nid>(nids_.back()), hash128_from_bytes(hash)};
}

EncodedNode InnerEncoder::encode() const {
  EncodedNode node;
  node.entries = sum_of(entries_);
  node.object_bytes = sum_of(bytes_);
  const uint8_t flags = last_child_open_ ? kFlagLastChildOpen : 0;
  put_node_header(node.bytes, {level_, flags, count(), node.entries, node.object_bytes});
  keys_.write(node.bytes);
  node.bytes.append(hashes_);
  put_uint_column(node.bytes, entries_);
  put_uint_column(node.bytes, bytes_);
  node.canonical_bytes = node.bytes.size();
  const uint64_t base = *std::min_element(nids_.begin(), nids_.end());
  std::vector<uint64_t> offsets(nids_.size());
  std::transform(nids_.begin(), nids_.end(), offsets.begin(),
                 [base](uint64_t nid) { return nid - base; });
  put_fixed(node.bytes, base, 8);
  put_uint_column(node.bytes, offsets);
  return node;
}

void InnerEncoder::clear() {
  keys_.clear();
  hashes_.clear();
  entries_.clear();
  bytes_.clear();
  nids_.clear();
  last_child_open_ = false;
}

}  // namespace tarn::tree
