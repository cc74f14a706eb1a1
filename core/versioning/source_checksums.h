// Checksums of objects that were imported: their sources keep them.
#pragma once

#include <vector>

#include "core/model/entry.h"
#include "core/versioning/engine.h"

namespace tarn::versioning {

/// What is known of the whole object's digests. Of an imported object the source is asked, whose
/// digests were not read at import; one that does not answer, or changed since, has none.
std::vector<Checksum> checksums_of(Engine& engine, const Entry& entry);

}  // namespace tarn::versioning
