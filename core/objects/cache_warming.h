// Filling of the cache of small objects (store.cache) ahead of reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/repository.h"

namespace tarn::objects {

/// After so many bytes, or so long, a request ends with the objects that are done.
constexpr uint64_t kWarmedBytesPerRequest = uint64_t{256} << 20;
constexpr std::chrono::seconds kWarmTime{10};
/// Objects that one request fetches at once.
constexpr uint32_t kWarmThreads = 8;

struct WarmOptions {
  std::string prefix;
  std::string after;  ///< exclusive
  /// Called for every object before it is fetched; throws if the caller may not read it.
  std::function<void(std::string_view path)> allow;
};

struct Warmed {
  uint64_t objects = 0;  ///< examined
  uint64_t copied = 0;
  uint64_t copied_bytes = 0;
  uint64_t present = 0;  ///< were in the cache
  uint64_t left_out =
      0;  ///< larger than store.cache.object_bytes_max, or without a digest to compare
  uint64_t missing = 0;  ///< bytes are gone or were changed at their source
  bool has_more = false;
  std::string next;  ///< the last key examined
};

/// Copies the objects below the prefix into the cache of this process. An object with parts counts
/// once, and is `copied` if a part was. Throws: not_found (the ref), precondition_failed (reason
/// "no_store_cache") if the stores of all examined objects have no cache, unavailable.
Warmed warm_cache(branch::Engine& engine, const RepositoryName& repository, std::string_view ref,
                  const WarmOptions& options);

}  // namespace tarn::objects
