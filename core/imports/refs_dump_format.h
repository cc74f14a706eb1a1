// The bytes of a dump of refs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/commit.h"

namespace tarn::imports {

/// The numbers are those of the format.
enum class RefKind : uint8_t { kBranch, kTag, kAlias };

struct DumpedRef {
  RefKind kind = RefKind::kBranch;
  bool hidden = false;
  std::string name;
  CommitId commit;
};

std::string encode_refs(std::span<const DumpedRef> refs);

/// Throws corrupt on bytes that are not a dump of a known format.
std::vector<DumpedRef> decode_refs(std::string_view bytes);

}  // namespace tarn::imports
