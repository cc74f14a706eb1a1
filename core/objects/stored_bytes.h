// Where the bytes of an object are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/blob/blob_store.h"
#include "core/branch/engine.h"
#include "core/model/entry.h"
#include "core/model/repository.h"

namespace tarn::objects {

/// An address whose bytes are the object, or one part of it.
struct StoredBytes {
  std::string url;
  uint64_t size_bytes = 0;
  std::string etag;         ///< that the store must report; "" = none was recorded
  bool may_change = false;  ///< others than servers write there
  /// Compares with the digest that the entry records; must not outlive the entry.
  std::function<std::unique_ptr<blob::BytesCheck>()> check;

  blob::RecordedBytes recorded() const { return {size_bytes, etag, check}; }
};

/// The bytes of an object: one for each part of its part list, in order. Throws what the lookup of
/// repositories and part lists throws.
std::vector<StoredBytes> stored_bytes(branch::Engine& engine, const Repository& repository,
                                      const Entry& entry);

}  // namespace tarn::objects
