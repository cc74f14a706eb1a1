// Reads of whole objects that compare the bytes with the recorded digest while they are sent.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/blob/blob_store.h"
#include "core/branch/engine.h"
#include "core/model/repository.h"

namespace tarn::objects {

/// The stores whose objects are compared.
enum class ReadCheck : uint8_t { kOff, kLocal, kAll };

/// The same as open_object for the whole of it. If `check` includes its store and the entry records
/// a digest (ContentCheck), the reader withholds the last bytes that it reads until all were
/// compared. When they differ it logs an error with `path`, counts tarn_object_corruption_total,
/// removes the copies that this server keeps, and throws data_loss (reason "object_corrupt"); when
/// its first read asked for the whole object, it first reads again, once. Such a reader has no
/// descriptor. It must not outlive `engine`.
std::unique_ptr<blob::BlobReader> open_checked_object(branch::Engine& engine,
                                                      const Repository& repository,
                                                      std::string_view path, const Entry& entry,
                                                      ReadCheck check);

}  // namespace tarn::objects
