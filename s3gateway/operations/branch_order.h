// Branch names in the order of the keys that begin with them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/page.h"

namespace tarn::s3 {

/// Names that start with `prefix`, in byte order, after `after`: what the database gives.
using BranchPages = std::function<Page<std::string>(std::string_view prefix, std::string_view after,
                                                    uint32_t limit)>;

/// Gives the branches whose keys `name/...` may come after `after`, in the byte order of "name/".
/// That is not the order of the names: "a-b/" comes before "a/", because '-' is less than '/'.
/// Names that begin others are held back until those are through, so memory is the depth of such
/// nesting, not the number of branches. One thread at a time.
class BranchOrder {
 public:
  /// `after` is a key, exclusive; the branch it lies in is given too. `page_size` is what is
  /// fetched at once.
  BranchOrder(BranchPages pages, std::string prefix, std::string after, uint32_t page_size);

  std::optional<std::string> next();

 private:
  void hold_back_names_inside(std::string_view key);
  const std::string* peek();

  const BranchPages pages_;
  const std::string prefix_;
  const uint32_t page_size_;
  std::string scanned_;            ///< continue after this name
  std::vector<std::string> page_;  ///< reversed: the next name is the last element
  bool exhausted_ = false;
  std::vector<std::string> held_back_;  ///< each begins the next
};

}  // namespace tarn::s3
