#include "core/metrics/files/nested_numbers.h"

#include <algorithm>

#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/metrics/files/metric_file.h"
#include "core/metrics/metric.h"

namespace tarn {

bool NestedNumbers::begin(bool is_list) {
  if (frames_.size() == kMetricDepthMax) return false;
  const bool is_row = !is_list && (frames_.empty() || frames_.back().is_list);
  if (is_list) place_ += '[';
  frames_.push_back({is_list, is_row, name_.size(), place_.size(), row_.size()});
  return true;
}

void NestedNumbers::key(std::string_view name) {
  name_.resize(frames_.back().name_bytes);
  if (!name_.empty()) name_ += '.';
  // One byte over the limit suffices: longer names are rejected anyway.
  name_ += name.substr(0, kMetricNameBytesMax + 1);
  place_.resize(frames_.back().place_bytes);
  place_ += str_cat(name.size(), ":", name.substr(0, kMetricNameBytesMax + 1));
}

void NestedNumbers::check_place() {
  if (name_.empty() || name_.size() > kMetricNameBytesMax || facts_.rejected()) return;
  const auto [known, is_new] = places_.try_emplace(name_, place_);
  if (known->second != place_) {
    facts_.reject(str_cat("\"", name_, "\" is in two places, as a key with dots and nested"));
  } else if (is_new && places_.size() > kNestedNamesMax) {
    facts_.reject(str_cat("has more than ", kNestedNamesMax, " names of numbers"));
  }
}

void NestedNumbers::number(double value) {
  if (frames_.empty()) return;
  check_place();
  const Frame& frame = frames_.back();
  if (frame.is_list || row_.size() > kSeriesPerFileMax) {
    facts_.add_point(name_, "", std::nullopt, value);
    return;
  }
  const std::string_view own = std::string_view(name_).substr(
      std::min(name_.size(), frame.name_bytes + (frame.name_bytes > 0 ? 1 : 0)));
  row_.push_back({name_, value, frame.is_row && is_step_name(own) && step_from(value)});
}

void NestedNumbers::text(std::string_view value) {
  if (const auto number_of = parse_number(value)) number(*number_of);
}

void NestedNumbers::end() {
  const Frame frame = frames_.back();
  frames_.pop_back();
  name_.resize(frame.name_bytes);
  place_.resize(frame.place_bytes - (frame.is_list ? 1 : 0));
  if (!frame.is_row) return;
  std::optional<int64_t> step;
  for (size_t i = frame.row_start; i < row_.size() && !step; ++i) {
    if (row_[i].is_step) step = step_from(row_[i].value);
  }
  for (size_t i = frame.row_start; i < row_.size(); ++i) {
    if (!row_[i].is_step) facts_.add_point(row_[i].name, "", step, row_[i].value);
  }
  row_.resize(frame.row_start);
}

}  // namespace tarn
