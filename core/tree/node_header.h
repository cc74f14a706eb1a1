// The fixed part at the front of every node.
#pragma once

#include <cstdint>
#include <string>

#include "core/tree/column.h"

namespace tarn::tree {

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
