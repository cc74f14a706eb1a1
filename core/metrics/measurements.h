// The measurements in the metadata and files of one commit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/metrics/metric.h"

namespace tarn {

struct MeasuredParam {
  std::string name;
  std::string value;
  MetricOrigin origin = MetricOrigin::kCommitMetadata;
  std::string source;
  Instant measured{};
};

struct Measurements {
  std::vector<Metric> metrics;                 ///< name, split, origin and source of each differ
  std::vector<MeasuredParam> params;           ///< name, origin and source of each differ
  std::map<std::string, std::string> files{};  ///< ids of files with stored curves, by path
  std::vector<std::string> warnings;
};

}  // namespace tarn
