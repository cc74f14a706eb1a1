// Checksums of imported objects, which their sources keep.
#pragma once

#include <memory>
#include <vector>

#include "core/blob/blob_store.h"
#include "core/branch/engine.h"
#include "core/model/entry.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// The known digests of the whole object. Of an imported object the source is asked, whose
/// digests were not read at import; one that does not answer, or changed since, has none.
std::vector<Checksum> checksums_of(Engine& engine, const Entry& entry);

/// An object from its first byte to its last.
struct WholeObject {
  std::unique_ptr<blob::BlobReader> reader;
  std::vector<Checksum> checksums;
};
/// As open_object for the whole of it. The source of an imported object returns its digests with
/// the bytes, without a further request.
WholeObject open_whole_object(Engine& engine, const Repository& repository, const Entry& entry);

}  // namespace tarn::versioning
