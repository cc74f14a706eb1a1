// One page of a listing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tarn {

/// Items a page may hold, everywhere.
constexpr uint32_t kPageItemsMax = 1000;

/// Where a page of a listing starts.
struct PageStart {
  std::string prefix{};
  std::string after{};
  uint32_t limit = kPageItemsMax;
};

/// A page ends after the item that reaches it, so an answer is not much longer than this and one
/// item.
constexpr size_t kPageBytesMax = 4 * 1024 * 1024;

/// Items in order; `next` (meaningful only if `has_more`) is the `after` of the next page.
template <typename Item>
struct Page {
  std::vector<Item> items{};
  bool has_more = false;
  std::string next{};
  /// The `after` that continues behind an item; a page that ends later by bytes needs it.
  std::function<std::string(const Item&)> next_of{};
  bool ended_by_bytes = false;  ///< when it was made: then it has no next_of

  /// Ends the page behind its last item.
  void end_here() {
    has_more = true;
    next = next_of(items.back());
  }
};

}  // namespace tarn
