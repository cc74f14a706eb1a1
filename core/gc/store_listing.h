// The objects of one repository as its store lists them.
#pragma once

#include <cstdint>
#include <functional>

#include "core/blob/stores.h"
#include "core/model/address.h"
#include "core/model/repository.h"

namespace tarn::versioning {

struct ListedObject {
  OwnAddress address;
  uint64_t size_bytes = 0;
};

/// Calls `visit` for each object below the repository's `data/`; never looks elsewhere. Returns the
/// number of files there whose names Tarn does not make.
int64_t list_stored_objects(blob::Stores& stores, const Repository& repository,
                            const std::function<void(const ListedObject&)>& visit);

/// Removes one object; it may be gone already.
void remove_stored_object(blob::Stores& stores, const Repository& repository,
                          const OwnAddress& address);

}  // namespace tarn::versioning
