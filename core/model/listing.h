// Pages of rows in the order of their paging key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/model/page.h"

namespace tarn {

/// Reading one row more than a page holds shows whether there is another page.
inline int64_t row_limit(uint32_t limit) { return static_cast<int64_t>(limit) + 1; }

/// Makes a page of the rows of row_limit(limit), ended by kPageBytesMax too if rows know their
/// size; `limit` is at least 1. `from_row` makes an item of a row, `next_of` (a function or a
/// member) what to continue after.
template <typename Item, typename Rows, typename FromRow, typename NextOf>
Page<Item> page_of(const Rows& rows, uint32_t limit, const FromRow& from_row,
                   const NextOf& next_of) {
  Page<Item> page{.next_of = [next_of](const Item& item) { return std::invoke(next_of, item); }};
  size_t bytes = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (row == limit || bytes >= kPageBytesMax) {
      page.end_here();
      break;
    }
    page.items.push_back(from_row(rows, row));
    if constexpr (requires { rows.row_bytes(row); }) bytes += rows.row_bytes(row);
  }
  return page;
}

}  // namespace tarn
