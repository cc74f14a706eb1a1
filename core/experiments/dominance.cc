#include "core/experiments/dominance.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tarn {
namespace {

bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool better = false;
  for (size_t i = 0; i < a.size(); ++i) {
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
  std::vector<size_t> front;
  for (const size_t row : order) {
    dominated[row] = std::any_of(front.begin(), front.end(),
                                 [&](size_t other) { return dominates(rows[other], rows[row]); });
    if (!dominated[row]) front.push_back(row);
  }
  return dominated;
}

}  // namespace tarn
