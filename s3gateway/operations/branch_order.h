// An iterator over branches in the order of their keys in a bucket.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/page.h"

namespace tarn::s3 {

/// Names that start with `prefix`, in byte order, after `after`, as the database returns them.
using BranchPages = std::function<Page<std::string>(std::string_view prefix, std::string_view after,
                                                    uint32_t limit)>;

/// Returns the branches whose keys `name/...` may come after `after`, in the byte order of "name/".
/// This differs from the order of the names: "a-b/" comes before "a/", because '-' is less than
/// '/'. Names that are prefixes of others are held back until those are done, so memory grows with
/// the depth of such nesting, not with the number of branches. One thread at a time.
class BranchOrder {
 public:
  /// `after` is a key, exclusive; the branch that contains it is returned too. `page_size` is the
  /// number of names per fetch.
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
