#include "server/api/json/list.h"

namespace tarn::api::json {

void write_pagination(Writer& out, bool has_more, std::string_view next_offset, size_t results) {
  out.key("pagination");
  out.begin_object();
  out.boolean("has_more", has_more);
  out.number("max_per_page", kPageItemsMax);
  out.text("next_offset", next_offset);
  out.number("results", static_cast<int64_t>(results));
  out.end_object();
}

}  // namespace tarn::api::json
