// All that the metadata and the files of one commit say.
#pragma once

#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/experiments/metric.h"
#include "core/experiments/series.h"

namespace tarn {

struct MeasuredParam {
  std::string name;
  std::string value;
  MetricOrigin origin = MetricOrigin::kCommitMetadata;
  std::string source;
  Instant measured{};
};

struct MeasuredSeries {
  Series series;
  std::string source;  ///< the path
};

struct Measurements {
  std::vector<Metric> metrics;         ///< name, split, origin and source of each differ
  std::vector<MeasuredParam> params;   ///< name, origin and source of each differ
  std::vector<MeasuredSeries> series;  ///< of two points and more
  std::vector<std::string> warnings;
};

}  // namespace tarn
