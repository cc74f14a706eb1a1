// The JSON envelope of every listing.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/model/page.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_pagination(Writer& out, bool has_more, std::string_view next_offset, size_t results);

/// The members "pagination" and "results" of an object, of which `write_item(out, item)` writes
/// one item. Ends the page after the item that reaches kPageBytesMax. `bytes_per_item` sizes the
/// buffer. Throws internal for a page with more to come that nothing ends by bytes.
template <typename Item, typename WriteItem>
void write_page(Writer& out, const Page<Item>& page, size_t bytes_per_item,
                const WriteItem& write_item) {
  Writer results(std::min(page.items.size() * bytes_per_item, kPageBytesMax));
  results.begin_array();
  if (page.has_more && !page.next_of && !page.ended_by_bytes) {
    throw Error(ErrorCode::kInternal, "listing: the page has no end by bytes");
  }
  const auto is_full = [&] { return page.next_of && results.bytes() >= kPageBytesMax; };
  size_t count = 0;
  for (; count < page.items.size() && !is_full(); ++count) write_item(results, page.items[count]);
  results.end_array();
  const bool is_cut = count < page.items.size();
  const bool has_more = is_cut || page.has_more;
  const std::string next = is_cut ? page.next_of(page.items[count - 1]) : page.next;
  write_pagination(out, has_more, has_more ? std::string_view(next) : "", count);
  out.document("results", results.text());
}

/// {"pagination": {...}, "results": [...]}, as write_page does.
template <typename Item, typename WriteItem>
std::string list_of(const Page<Item>& page, size_t bytes_per_item, const WriteItem& write_item) {
  Writer out(0);
  out.begin_object();
  write_page(out, page, bytes_per_item, write_item);
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json
