// Checksums of imported objects, which their sources keep.
#pragma once

#include <memory>
#include <vector>

#include "core/blob/blob_store.h"
#include "core/branch/engine.h"
#include "core/model/entry.h"
#include "core/model/repository.h"

namespace tarn::imports {

/// The known digests of the whole object. The digests of an imported object are requested from its
/// source, because the import does not read them; there are none if the source does not respond or
/// has changed.
std::vector<Checksum> checksums_of(branch::Engine& engine, const Entry& entry);

/// An object from its first byte to its last.
struct WholeObject {
  std::unique_ptr<blob::BlobReader> reader;
  std::vector<Checksum> checksums;
};
/// The same as open_object for the whole of it. The source of an imported object returns its
/// digests with the bytes, without a further request.
WholeObject open_whole_object(branch::Engine& engine, const Repository& repository,
                              const Entry& entry);

}  // namespace tarn::imports
