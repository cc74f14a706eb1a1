#include "core/objects/search_selection.h"

#include <iterator>
#include <utility>

namespace tarn::versioning {

SearchSelection::SearchSelection(const search::SortOrder& order, uint32_t most,
                                 std::optional<SortedPlace> above, std::optional<SortedPlace> up_to)
    : before_{order},
      order_(order),
      most_(most),
      above_(std::move(above)),
      up_to_(std::move(up_to)),
      kept_(before_) {}

void SearchSelection::offer(Place place, Entry entry) {
  SortedPlace at{order_.rank_of(search::Subject(place.path, entry)), std::move(place)};
  if (above_ && !before_(*above_, at)) return;
  if (up_to_ && before_(*up_to_, at)) return;
  kept_.insert_or_assign(std::move(at), std::move(entry));
  if (kept_.size() > most_) keep(most_);
}

void SearchSelection::keep(size_t count) {
  if (kept_.size() <= count) return;
  kept_.erase(std::next(kept_.begin(), static_cast<std::ptrdiff_t>(count)), kept_.end());
  up_to_ = kept_.rbegin()->first;
}

std::vector<SortedPlace> SearchSelection::places() const {
  std::vector<SortedPlace> out;
  for (const auto& [at, entry] : kept_) out.push_back(at);
  return out;
}

std::vector<FoundAtPlace> SearchSelection::take() {
  std::vector<FoundAtPlace> out;
  while (!kept_.empty()) {
    auto node = kept_.extract(kept_.begin());
    out.push_back({std::move(node.key().place), std::move(node.mapped())});
  }
  return out;
}

}  // namespace tarn::versioning
