// Ranges and metaranges of commits as files next to the data, for clients that read lakeFS's tables
// themselves (docs/format/sstable.md).
#pragma once

#include <cstdint>
#include <string>

#include "core/blob/stores.h"
#include "core/branch/engine.h"
#include "core/model/commit.h"
#include "core/model/names.h"
#include "core/model/repository.h"
#include "core/versioning/sstables.h"

namespace tarn::versioning {

/// Size of keys and values above which a node of level 1 is listed leaf by leaf. The size is
/// estimated from three of its leaves, so a range may be larger.
constexpr uint64_t kRangeBytesMax = uint64_t{20} << 20;
/// Ranges that one metarange may list: some 40 billion objects.
constexpr uint64_t kListedRangesMax = 1'000'000;

/// A file that is complete and never changes.
struct MetadataFile {
  std::string location;  ///< below the repository's namespace
  blob::Located at;
  uint64_t size_bytes = 0;
};

/// The file of a range, or of the metarange that is the whole tree of a commit. It is written if
/// missing, in bounded memory, and kept. A range is known once a metarange that lists it was
/// requested. Throws: not_found (the repository; reasons "metarange_not_found", "range_not_found"),
/// invalid_argument (more than kListedRangesMax ranges), unavailable (the store fails).
MetadataFile metadata_file(branch::Engine& engine, const Repository& repository, SstableKind kind,
                           const Hash128& hash);

/// The id by which clients name a node: 64 hex digits, its hash twice.
std::string metadata_id(const Hash128& hash);

}  // namespace tarn::versioning
