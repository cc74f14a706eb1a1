// The continuation token of a search across refs, or of a sorted one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/objects/search_place.h"

namespace tarn::objects {

/// Maximum size of a token that carries candidates, before it is text: some 4 KiB of the request's
/// target then.
constexpr size_t kSearchTokenBytesMax = 3 * 1024;

/// Most bytes of one candidate without its names.
constexpr size_t kSortedPlaceBytes = 16;

/// A client may have made it up: nothing of it is shown unless the caller may know of it.
struct SearchToken {
  uint64_t question = 0;  ///< which search it belongs to
  Place position{};       ///< everything up to here was examined
  bool ref_done = false;  ///< the position's whole ref, or without one its repository
  // The place of sorted searches.
  std::optional<SortedPlace> above{};  ///< everything up to here was returned
  std::optional<SortedPlace> up_to{};  ///< matches after it are for later pages
  std::vector<SortedPlace> candidates{};

  /// Text of the base64url alphabet.
  std::string encode() const;
  /// Throws invalid_argument, also for a token of another search.
  static SearchToken decode(std::string_view text, uint64_t question);
};

}  // namespace tarn::objects
