#include "core/metrics/files/file_facts.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/metrics/metric.h"
#include "core/metrics/run.h"

namespace tarn {
namespace {

constexpr size_t kNameShownMax = 60;

/// The contents of a file may be cut anywhere, or not be text at all.
std::string as_text(std::string_view bytes) {
  std::string out(bytes);
  const bool is_text = is_utf8(out);
  for (char& c : out) {
    if (c == '\0' || (!is_text && (c & 0x80) != 0)) c = '?';
  }
  return out;
}

}  // namespace

void FileFacts::warn(std::string_view what) {
  if (warnings_.size() < kWarningsPerFileMax) {
    warnings_.push_back(str_cat(path_, ": ", as_text(what)));
  } else if (warnings_.size() == kWarningsPerFileMax) {
    warnings_.push_back(str_cat(path_, ": there are more warnings"));
  }
}

void FileFacts::warn_once(std::string_view what) {
  if (std::find(said_.begin(), said_.end(), what) != said_.end()) return;
  said_.emplace_back(what);
  warn(what);
}

bool FileFacts::accepts(std::string_view name) {
  if (name.empty()) return false;
  if (name.find('\0') != std::string_view::npos || !is_utf8(name)) {
    warn_once("a name is not UTF-8: left out");
    return false;
  }
  if (name.size() > kMetricNameBytesMax) {
    warn_once(str_cat("a name is longer than ", kMetricNameBytesMax, " bytes: left out"));
    return false;
  }
  return true;
}

void FileFacts::add_point(std::string_view name, std::string_view split,
                          std::optional<int64_t> step, double value, int64_t rank) {
  if (rejected_) return;
  const auto is_it = [&](const Measured& m) {
    return m.series.name == name && m.series.split == split;
  };
  // Guess the next metric: rows have the same metrics in the same order.
  const size_t guess = recent_ + 1 < measured_.size() ? recent_ + 1 : 0;
  Measured* at = nullptr;
  if (guess < measured_.size() && is_it(measured_[guess])) {
    recent_ = guess;
    at = &measured_[guess];
  } else {
    if (!accepts(name) || (!split.empty() && !accepts(split))) return;
    const auto [known, is_new] =
        index_.try_emplace({std::string(name), std::string(split)}, measured_.size());
    if (is_new) {
      if (measured_.size() == kSeriesPerFileMax) {
        index_.erase(known);
        warn_once(
            str_cat("has more than ", kSeriesPerFileMax, " metrics: the others are left out"));
        return;
      }
      measured_.push_back({.series = {std::string(name), std::string(split), {}}});
    }
    recent_ = known->second;
    at = &measured_[recent_];
  }
  std::vector<Point>& points = at->series.points;
  const int64_t step_or_next =
      step.value_or(points.empty() ? 0 : points.back().step + (points.back().step < INT64_MAX));
  if (std::pair(step_or_next, rank) >= std::pair(at->last_step, at->last_rank)) {
    at->last = value;
    at->last_step = step_or_next;
    at->last_rank = rank;
  }
  if (points.size() == kPointsPerSeriesMax || points_ == kPointsPerFileMax) {
    warn_once(str_cat("\"", name.substr(0, kNameShownMax),
                      "\" has too many points: its curve ends at ", points.size(), " of them"));
    return;
  }
  points.push_back({step_or_next, value});
  ++points_;
}

void FileFacts::reject(std::string_view why) {
  if (rejected_) return;
  rejected_ = true;
  warn(str_cat(why, ": the file counts for nothing"));
  measured_.clear();
  index_.clear();
  recent_ = 0;
  points_ = 0;
  params_.clear();
}

void FileFacts::add_param(std::string_view name, std::string_view value) {
  if (rejected_ || !accepts(name)) return;
  if (value.size() > kParamValueBytesMax || value.find('\0') != std::string_view::npos ||
      !is_utf8(value)) {
    warn_once(str_cat("parameter \"", name.substr(0, kNameShownMax),
                      "\" is not UTF-8 or longer than ", kParamValueBytesMax, " bytes: left out"));
    return;
  }
  if (params_.size() == kRunParamsMax && params_.find(std::string(name)) == params_.end()) {
    warn_once(str_cat("has more than ", kRunParamsMax, " parameters: the others are left out"));
    return;
  }
  params_.insert_or_assign(std::string(name), std::string(value));
}

}  // namespace tarn
