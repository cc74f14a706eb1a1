#include "core/promotion/dominance.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tarn {
namespace {

/// `a` and `b` point to arrays of the same number of scores.
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
  // In descending order only earlier rows can dominate a row, and among them one that is not
  // dominated itself.
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rows[a] > rows[b]; });
  std::vector<bool> dominated(rows.size(), false);
  const size_t scores = rows.empty() ? 0 : rows.front().size();
  // The scores of all rows that are not dominated, consecutive in memory, because every row is
  // compared with all of them.
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
