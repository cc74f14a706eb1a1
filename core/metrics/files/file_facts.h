// Facts of one metric file: curves, parameters, and warnings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/metrics/series.h"

namespace tarn {

constexpr size_t kPointsPerSeriesMax = 1'000'000;
constexpr size_t kPointsPerFileMax = 4'000'000;
constexpr size_t kSeriesPerFileMax = 1000;
constexpr size_t kWarningsPerFileMax = 10;

/// Bounded: past a limit points are dropped (of a series the newer ones; its last value is kept
/// nevertheless), with one warning. One thread at a time.
class FileFacts {
 public:
  /// `path` begins every warning.
  explicit FileFacts(std::string path) : path_(std::move(path)) {}

  /// Without a step, the point gets the step after the series' last. Of one step the later point
  /// counts, unless its `rank` is lower. Names that are empty, too long or not UTF-8 are dropped
  /// with a warning.
  void add_point(std::string_view name, std::string_view split, std::optional<int64_t> step,
                 double value, int64_t rank = 0);
  void add_param(std::string_view name, std::string_view value);
  /// The file counts for nothing: every value and parameter is forgotten, later ones are ignored.
  /// The first call warns why.
  void reject(std::string_view why);
  bool rejected() const { return rejected_; }
  /// "<path>: <what>"; past kWarningsPerFileMax only the last is counted.
  void warn(std::string_view what);

  struct Measured {
    Series series;
    double last = 0;  ///< the metric's value: that of the highest step, there the latest
    int64_t last_step = INT64_MIN;
    int64_t last_rank = INT64_MIN;
  };
  const std::string& path() const { return path_; }
  const std::vector<Measured>& measured() const { return measured_; }
  const std::map<std::string, std::string>& params() const { return params_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void warn_once(std::string_view what);
  bool accepts(std::string_view name);

  std::string path_;
  std::vector<Measured> measured_;  ///< in the order in which they were met first
  std::map<std::pair<std::string, std::string>, size_t, std::less<>> index_;
  size_t recent_ = 0;  ///< the series of the point before: mostly the next one's neighbour
  size_t points_ = 0;
  std::map<std::string, std::string> params_;
  std::vector<std::string> warnings_;
  std::vector<std::string> said_;
  bool rejected_ = false;
};

}  // namespace tarn
