#include "core/metrics/commit_facts.h"

#include <algorithm>
#include <tuple>

namespace tarn {

void sort_metrics(std::vector<Metric>& metrics) {
  std::sort(metrics.begin(), metrics.end(), [](const Metric& a, const Metric& b) {
    return std::tie(a.name, a.split, a.origin, b.measured, a.source) <
           std::tie(b.name, b.split, b.origin, a.measured, b.source);
  });
}

}  // namespace tarn
