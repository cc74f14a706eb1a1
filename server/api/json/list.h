// The JSON envelope of every listing.
#pragma once

#include <string>
#include <string_view>

#include "core/model/page.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_pagination(Writer& out, bool has_more, std::string_view next_offset, size_t results);

/// {"pagination": {...}, "results": [...]}; `write_item(out, item)` writes one. `bytes_per_item`
/// sizes the buffer.
template <typename Item, typename WriteItem>
std::string list_of(const Page<Item>& page, size_t bytes_per_item, const WriteItem& write_item) {
  Writer out(128 + page.items.size() * bytes_per_item);
  out.begin_object();
  write_pagination(out, page.has_more, page.has_more ? std::string_view(page.next) : "",
                   page.items.size());
  out.key("results");
  out.begin_array();
  for (const Item& item : page.items) write_item(out, item);
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json
