#include "core/experiments/metric.h"

#include <algorithm>
#include <array>

#include "core/base/str_cat.h"

namespace tarn {
namespace {

constexpr std::array<std::string_view, 4> kOrigins = {"api", "commit-metadata", "file", "check"};

}  // namespace

std::string_view name_of(MetricOrigin origin) { return kOrigins[static_cast<size_t>(origin)]; }

std::optional<MetricOrigin> parse_metric_origin(std::string_view name) {
  const auto at = std::find(kOrigins.begin(), kOrigins.end(), name);
  if (at == kOrigins.end()) return std::nullopt;
  return static_cast<MetricOrigin>(at - kOrigins.begin());
}

std::string Metric::origin_text() const {
  if (origin != MetricOrigin::kFile && origin != MetricOrigin::kCheck)
    return std::string(name_of(origin));
  return str_cat(name_of(origin), ":", source);
}

}  // namespace tarn
