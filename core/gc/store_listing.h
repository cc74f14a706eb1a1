// The objects of one repository as its store lists them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob/stores.h"
#include "core/model/address.h"
#include "core/model/repository.h"

namespace tarn::gc {

struct ListedObject {
  OwnAddress address;
  uint64_t size_bytes = 0;
};

/// Calls `visit` for each object below the repository's `data/`; never looks elsewhere. Returns the
/// number of files there whose names Tarn does not make.
int64_t list_stored_objects(blob::Stores& stores, const Repository& repository,
                            const std::function<void(const ListedObject&)>& visit);

struct UnremovedObject {
  OwnAddress address;
  std::string message;
};

/// Removes up to blob::kRemovedAtOnceMax objects; they may be gone already. Returns those that the
/// store refused to remove.
std::vector<UnremovedObject> remove_stored_objects(blob::Stores& stores,
                                                   const Repository& repository,
                                                   std::span<const OwnAddress> addresses);

/// Removes files of the repository that can be made again, named below its namespace.
void remove_derived_files(blob::Stores& stores, const Repository& repository,
                          std::span<const std::string> files);

/// The files of the repository below `folder` that were written before that time, named below its
/// namespace.
std::vector<std::string> list_files(blob::Stores& stores, const Repository& repository,
                                    std::string_view folder, Instant written_before);

/// Removes what writers that died left below `folder` of the repository. Returns the number.
int64_t remove_unfinished_files(blob::Stores& stores, const Repository& repository,
                                std::string_view folder, Instant begun_before);

}  // namespace tarn::gc
