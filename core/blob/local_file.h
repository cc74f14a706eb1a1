// Metadata of a file in a local store, and whether it is an object.
#pragma once

#include <optional>
#include <string_view>

#include <sys/stat.h>

#include "core/blob/blob_store.h"
#include "core/blob/directory_cursor.h"
#include "core/blob/local_store.h"

namespace tarn::blob {

/// Until finish() the owner may not read the file.
constexpr mode_t kUnfinishedMode = 0200;
constexpr mode_t kFinishedMode = 0440;

int64_t mtime_ns_of(const struct stat& status);
bool is_object(const struct stat& status, LocalMode mode);
/// Left by a writer, or still being written.
bool is_unfinished(const struct stat& status);
BlobStat blob_stat_of(std::string_view key, const struct stat& status);

/// Reads the metadata of a listed file. nullopt = it is gone or not an object.
std::optional<BlobStat> stat_listed(const DirectoryListing& directory, size_t index,
                                    LocalMode mode);

}  // namespace tarn::blob
