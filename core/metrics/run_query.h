// A query for runs: conditions and order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tarn {

/// Columns of one query.
constexpr size_t kRunColumnsMax = 200;
/// Runs that one query names.
constexpr size_t kNamedRunsMax = 200;
/// Runs that one query for curves names.
constexpr size_t kNamedCurvesMax = 50;
/// `where` conditions of one query.
constexpr size_t kRunConditionsMax = 32;

/// (metrics|params).NAME OP VALUE: a metric or parameter of the run itself. If the run lacks it,
/// the commit's metadata counts, else the newest of the commit's files. A missing value satisfies
/// no condition.
struct RunCondition {
  bool of_param = false;  ///< else of a metric
  std::string name;
  std::string op;  ///< one of > >= < <= = !=
  std::string value;
};
/// Throws invalid_argument naming the condition: grammar, and a value that is no number where one
/// is needed (every metric; > >= < <=).
RunCondition parse_run_condition(std::string_view text);

struct RunOrder {
  std::string metric;  ///< "" = by time
  bool descending = true;
};
/// "created", "-created", "metrics.NAME", "-metrics.NAME"; "" is the newest first. Throws
/// invalid_argument.
RunOrder parse_run_order(std::string_view text);

/// The metrics and parameters that an answer shows.
struct RunColumns {
  std::vector<std::string> metrics;
  std::vector<std::string> params;
};
/// Each "metrics.NAME" or "params.NAME"; "none" alone shows neither. Throws invalid_argument, also
/// for more than kRunColumnsMax.
RunColumns parse_run_columns(const std::vector<std::string>& texts);

}  // namespace tarn
