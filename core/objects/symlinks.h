// Symlink files: the addresses of objects, directory by directory, for readers of object storage
// that do not know branches (Hive's SymlinkTextInputFormat).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/names.h"

namespace tarn::objects {

/// Objects one call describes.
constexpr uint64_t kSymlinkedObjectsMax = 1'000'000;

/// For every directory below `prefix` with objects of its own a file "<directory>/symlink.txt" with
/// their physical addresses, a line each, in a fresh folder of the repository's namespace. Returns
/// the folder's URL, ending with '/'. Throws: not_found, invalid_argument (more than
/// kSymlinkedObjectsMax objects; one in parts, which has no single address).
std::string create_symlinks(branch::Engine& engine, const RepositoryName& repository,
                            std::string_view ref, std::string_view prefix);

}  // namespace tarn::objects
