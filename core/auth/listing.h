// Pages of rows that are ordered by a name.
#pragma once

#include <cstdint>

#include "core/db/connection.h"
#include "core/model/page.h"

namespace tarn::auth {

/// One row more than the page holds tells whether there is another page.
inline int64_t row_limit(uint32_t limit) { return static_cast<int64_t>(limit) + 1; }

template <typename Item, typename FromRow, typename NameOf>
Page<Item> page_of(const db::Rows& rows, uint32_t limit, const FromRow& from_row,
                   const NameOf& name_of) {
  Page<Item> page;
  page.has_more = rows.size() > limit;
  for (size_t row = 0; row < rows.size() && row < limit; ++row) {
    page.items.push_back(from_row(rows, row));
  }
  if (page.has_more) page.next = name_of(page.items.back());
  return page;
}

}  // namespace tarn::auth
