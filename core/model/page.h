// One page of a listing.
#pragma once

#include <cstdint>
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

/// Items in order; `next` (meaningful only if `has_more`) is the `after` of the next page.
template <typename Item>
struct Page {
  std::vector<Item> items;
  bool has_more = false;
  std::string next;
};

}  // namespace tarn
