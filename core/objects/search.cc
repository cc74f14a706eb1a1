#include "core/objects/search.h"

#include <utility>

#include "core/base/error.h"

namespace tarn::objects {

SearchPage search_objects(branch::Engine& engine, const RepositoryName& repository,
                          std::string_view ref, const SearchOptions& options,
                          uint32_t prefix_digits_min) {
  check_asks_for_something(options.query);
  SearchBudget budget(options.limits);
  SearchPage out;
  out.page.next_of = std::mem_fn(&ListItem::path);
  size_t bytes = 0;
  const auto end = scan_ref(engine, repository, ref,
                            {.query = options.query,
                             .after = options.after,
                             .prefix_digits_min = prefix_digits_min,
                             .shows = options.shows},
                            budget, [&](const std::string& path, Entry entry) {
                              bytes += path.size() + bytes_of(entry);
                              out.page.items.push_back({path, std::move(entry)});
                              return out.page.items.size() < options.limit && bytes < kPageBytesMax;
                            });
  out.page.has_more = !end.complete;
  out.page.next = end.seen_through;
  out.cost = budget.cost;
  return out;
}

void check_asks_for_something(const search::Query& query) {
  if (query.empty()) throw_invalid("search: give at least one condition or a prefix");
}

}  // namespace tarn::objects
