// The layout of nodes that encoder and decoder share, besides the columns. docs/format/node.md
// draws it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/tree/column.h"

namespace tarn::tree {

constexpr std::string_view kNodeMagic = "Tn";
constexpr uint8_t kNodeVersion = 1;
constexpr std::string_view kNodeHashDomain = "tarn node 1";
constexpr size_t kHashBytes = 16;

/// Set in an inner node whose last child the end of the input closed.
constexpr uint8_t kFlagLastChildOpen = 1;

/// First byte of an external address in the address column: then varint index into the heads, then
/// the tail.
constexpr char kAddressExternal = 3;

/// Highest level a node may claim. A level has at most half the nodes of the one below: enough for
/// 2^32 leaves.
constexpr uint8_t kLevelMax = 32;

struct NodeHeader {
  uint8_t level = 0;
  uint8_t flags = 0;
  uint32_t count = 0;
  uint64_t entries = 0;
  uint64_t object_bytes = 0;
};

void put_node_header(std::string& out, const NodeHeader& header);
/// Throws data_loss.
NodeHeader read_node_header(NodeReader& in);

}  // namespace tarn::tree
