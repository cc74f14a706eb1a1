// The stored form of a node: its encoding, compressed when that gains.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tarn::tree {

/// Maximum size of a node's encoding. Nodes of the chunker stay far below (docs/format/node.md); a
/// body that claims more is rejected before anything is allocated for it.
constexpr size_t kNodeBytesMax = size_t{4} << 20;

std::string pack_body(std::string_view encoding);
/// Throws data_loss.
std::string unpack_body(std::string_view body);

}  // namespace tarn::tree
