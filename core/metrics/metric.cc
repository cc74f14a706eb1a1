#include "core/metrics/metric.h"

#include <array>

#include "core/base/enum_names.h"
#include "core/base/str_cat.h"

namespace tarn {
namespace {

constexpr std::array<std::string_view, 6> kOrigins = {"api",   "commit-metadata", "file",
                                                      "check", "evaluation",      "policy"};

}  // namespace

std::string_view name_of(MetricOrigin origin) { return kOrigins[static_cast<size_t>(origin)]; }

std::optional<MetricOrigin> parse_metric_origin(std::string_view name) {
  return find_name<MetricOrigin>(kOrigins, name);
}

std::string Metric::origin_text() const {
  if (origin == MetricOrigin::kApi || origin == MetricOrigin::kCommitMetadata)
    return std::string(name_of(origin));
  return str_cat(name_of(origin), ":", source);
}

}  // namespace tarn
