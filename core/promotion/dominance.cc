#include "core/promotion/dominance.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tarn {
namespace {

/// `a` and `b` point at as many scores.
bool dominates(const double* a, const double* b, size_t scores) {
  bool better = false;
  for (size_t i = 0; i < scores; ++i) {
    if (a[i] < b[i]) return false;
    better = better || a[i] > b[i];
  }
  return better;
}

}  // namespace

std::vector<bool> find_dominated(const std::vector<std::vector<double>>& rows) {
  // In falling order a row is dominated by those before it only, and then by one that is not
  // dominated itself.
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rows[a] > rows[b]; });
  std::vector<bool> dominated(rows.size(), false);
  const size_t scores = rows.empty() ? 0 : rows.front().size();
  // The scores of those that are not dominated, one behind the other: everybody is compared with
  // all of them.
  std::vector<double> front;
  for (const size_t row : order) {
    for (size_t at = 0; at < front.size() && !dominated[row]; at += scores) {
      dominated[row] = dominates(&front[at], rows[row].data(), scores);
    }
    if (!dominated[row]) front.insert(front.end(), rows[row].begin(), rows[row].end());
  }
  return dominated;
}

}  // namespace tarn
