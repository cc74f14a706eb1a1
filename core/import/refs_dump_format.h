// The bytes of a dump of refs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/connection.h"
#include "core/model/commit.h"

namespace tarn::versioning {

enum class RefKind : uint8_t { kBranch, kTag, kAlias };

struct DumpedRef {
  RefKind kind = RefKind::kBranch;
  bool hidden = false;
  std::string name;
  CommitId commit;
};

/// Of rows with the columns kind, name, head or commit, hidden.
std::string encode_refs(const db::Rows& rows);

/// Throws corrupt on bytes that are not a dump of a known format.
std::vector<DumpedRef> decode_refs(std::string_view bytes);

}  // namespace tarn::versioning
