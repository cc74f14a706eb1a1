// Facts about one commit: its metrics from every origin, and its parameters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/metrics/metric.h"
#include "core/model/commit.h"

namespace tarn {

struct CommitFacts {
  CommitId commit;
  /// Several may have one name. By name and split, then origin (as the enumeration), within an
  /// origin the newest first.
  std::vector<Metric> metrics;
  std::map<std::string, std::string> params;
  /// Warnings: unreadable data, and different values from different origins; each names its
  /// subject.
  std::vector<std::string> warnings;
  /// Parameters of single runs that were asked for, by the run's id, then by name.
  std::map<std::string, std::map<std::string, std::string>> run_params{};
};

/// Into the order of CommitFacts::metrics.
void sort_metrics(std::vector<Metric>& metrics);

}  // namespace tarn
