#include "core/tree/node.h"

#include "core/tree/body.h"
#include "core/tree/chunker.h"
#include "core/tree/inner_node.h"
#include "core/tree/leaf_node.h"
#include "core/tree/node_layout.h"

namespace tarn::tree {
namespace {

constexpr unsigned kReservedBytes = 3;

}  // namespace

void put_node_header(std::string& out, const NodeHeader& header) {
  out.append(kNodeMagic);
  out.push_back(static_cast<char>(kNodeVersion));
  out.push_back(static_cast<char>(header.level));
  put_fixed(out, header.flags, 1);
  put_fixed(out, 0, kReservedBytes);
  put_fixed(out, header.count, 4);
  put_fixed(out, header.entries, 8);
  put_fixed(out, header.object_bytes, 8);
}

NodeHeader read_node_header(NodeReader& in) {
  if (in.take(kNodeMagic.size()) != kNodeMagic) NodeReader::fail("it has no magic");
  if (in.u8() != kNodeVersion) NodeReader::fail("its format version is unknown");
  NodeHeader header;
  header.level = in.u8();
  header.flags = in.u8();
  if (in.fixed(kReservedBytes) != 0) NodeReader::fail("its reserved bytes are not zero");
  header.count = static_cast<uint32_t>(in.fixed(4));
  header.entries = in.fixed(8);
  header.object_bytes = in.fixed(8);
  const bool leaf = header.level == 0;
  if (header.level > kLevelMax) NodeReader::fail("its level is too high");
  if (header.count == 0 || header.count > (leaf ? kLeafWeightMax : kInnerWeightMax)) {
    NodeReader::fail("its count is out of range");
  }
  if ((header.flags & ~(leaf ? 0 : kFlagLastChildOpen)) != 0) {
    NodeReader::fail("its flags are unknown");
  }
  return header;
}

std::shared_ptr<const Node> Node::decode(std::string_view body) { return parse(unpack_body(body)); }

std::shared_ptr<const Node> Node::parse(std::string encoding) {
  NodeReader in(encoding);
  if (read_node_header(in).level == 0) return std::make_shared<LeafNode>(std::move(encoding));
  return std::make_shared<InnerNode>(std::move(encoding));
}

}  // namespace tarn::tree
