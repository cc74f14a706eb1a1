// Facts about one commit: its metrics from every origin, and its parameters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/metrics/metric.h"
#include "core/model/commit.h"

namespace tarn {

/// An evaluation of a commit without a result.
struct MissingResult {
  bool pending = false;  ///< it may come
  std::string code;      ///< for example "evaluation_pending"
  std::string reason;    ///< for people
  std::string key{};     ///< of the evaluation, 32 bytes; "" = it cannot be asked for
};

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
  std::map<std::string, MissingResult> missing_results{};  ///< by the name of the evaluation
};

/// Into the order of CommitFacts::metrics.
void sort_metrics(std::vector<Metric>& metrics);

}  // namespace tarn
