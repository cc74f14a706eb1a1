// Values of tables of ranges and metaranges, in lakeFS's encoding: identity, then a Protocol
// Buffers message (docs/format/sstable.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/entry.h"

namespace tarn::sstable {

/// The value of an object. `address` is below the repository's namespace when `relative`, else a
/// whole URL. Text of the entry that is no UTF-8, which readers would refuse, has U+FFFD in place
/// of each byte beyond ASCII.
std::string entry_value(const Entry& entry, std::string_view address, bool relative);

/// A range as its metarange lists it.
struct RangeRecord {
  std::string id;
  std::string min_key;
  std::string max_key;
  uint64_t estimated_bytes = 0;  ///< of keys and values
  uint64_t count = 0;            ///< objects
};
std::string range_value(const RangeRecord& range);

}  // namespace tarn::sstable
