#include "core/meta/staged_ranges.h"

#include <algorithm>
#include <string>

namespace tarn::meta {

const StagedRange* newest_covering(const std::vector<StagedRange>& ranges, std::string_view key) {
  const StagedRange* newest = nullptr;
  for (const StagedRange& range : ranges) {
    const bool covers = range.begin <= key && (range.end.empty() || key < range.end);
    if (covers && (newest == nullptr || range.token > newest->token)) newest = &range;
  }
  return newest;
}

std::vector<StagedRange> effective_deletes(const std::vector<StagedRange>& ranges) {
  // Between two adjacent borders the set of covering ranges is constant.
  std::vector<std::string> borders;
  for (const StagedRange& range : ranges) {
    borders.push_back(range.begin);
    if (!range.end.empty()) borders.push_back(range.end);
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  std::vector<StagedRange> out;
  for (size_t i = 0; i < borders.size(); ++i) {
    const StagedRange* newest = newest_covering(ranges, borders[i]);
    if (newest == nullptr || !newest->deletes) continue;
    const std::string end = i + 1 < borders.size() ? borders[i + 1] : std::string();
    if (!out.empty() && out.back().end == borders[i]) {
      out.back().end = end;
    } else {
      out.push_back({newest->token, borders[i], end, true});
    }
  }
  return out;
}

}  // namespace tarn::meta
