// Verification of imported objects against their sources, without reading bytes.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob/blob_store.h"
#include "core/branch/engine.h"
#include "core/model/entry.h"
#include "core/model/names.h"

namespace tarn::imports {

/// One request examines no more than this and takes no longer (the pages that are on their way are
/// finished).
constexpr uint64_t kVerifyObjectsPerRequest = 50'000;
constexpr std::chrono::seconds kVerifyTime{10};
/// Questions to the stores at once, for one request.
constexpr uint32_t kVerifyThreads = 8;

/// An object whose source differs from the imported one.
struct ChangedSource {
  std::string path;
  Entry recorded;
  std::string url;
  std::optional<blob::BlobStat> found;  ///< nullopt: the source is gone
};

struct Verification {
  std::vector<ChangedSource> changed;  ///< in key order
  uint64_t objects = 0;                ///< examined
  uint64_t sources = 0;                ///< the part of them with bytes outside the repository
  bool has_more = false;
  std::string next;  ///< the last key examined
};

struct VerifyOptions {
  std::string prefix;
  std::string after;     ///< exclusive
  uint32_t limit = 100;  ///< of changed sources, 1..1000
};

/// Whether the source is as the entry recorded it. Times are compared in whole seconds if one of
/// them has no more precision: servers list objects with milliseconds and answer HEAD without.
bool is_as_recorded(const Entry& entry, const blob::BlobStat& found);

/// Objects at the ref whose bytes are external: is each still there with the size, the etag and
/// the modification time recorded at import? Throws: not_found (the ref), precondition_failed
/// (reason "source_not_readable") naming a source whose store is gone or does not let the server
/// in, unavailable.
Verification verify_import(branch::Engine& engine, const RepositoryName& repository,
                           std::string_view ref, const VerifyOptions& options);

}  // namespace tarn::imports
