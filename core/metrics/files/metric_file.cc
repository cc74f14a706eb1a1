#include "core/metrics/files/metric_file.h"

#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "core/base/encoding.h"
#include "core/metrics/run.h"

namespace tarn {
namespace {

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t slash = path.find('/');
    out.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    path.remove_prefix(slash + 1);
  }
}

std::string_view extension_of(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

bool is_mlruns(std::string_view segment) { return segment == "mlruns"; }

/// The part after the directory `name`, "" if there is none.
std::string_view behind_directory(std::string_view path, std::string_view name) {
  size_t at = 0;
  while (at < path.size()) {
    const size_t slash = path.find('/', at);
    if (slash == std::string_view::npos) return {};
    if (path.substr(at, slash - at) == name) return path.substr(slash + 1);
    at = slash + 1;
  }
  return {};
}

std::string_view split_of(std::string_view path) {
  const std::vector<std::string_view> segments = segments_of(path);
  if (segments.size() < 2) return {};
  const std::string_view parent = segments[segments.size() - 2];
  for (const std::string_view known : {"train", "validation", "test", "eval", "val"}) {
    if (parent == known) return parent;
  }
  return {};
}

void read_mlflow_param(ByteSource& bytes, std::string_view name, FileFacts& facts) {
  std::string value(kParamValueBytesMax + 1, '\0');
  value.resize(bytes.read(value));
  facts.add_param(name, value);
}

/// Whether the chunks of a file are UTF-8 that every loader decodes alike.
class TextCheck {
 public:
  /// An empty chunk is the end.
  void add(std::string_view chunk) {
    const bool ends = chunk.empty();
    held_.append(chunk);
    if (is_first_ && held_.starts_with("\xEF\xBB\xBF")) {
      problem_ = "begins with a byte order mark, write UTF-8 without one";
    }
    is_first_ = false;
    // The last character may go on in the next chunk.
    size_t whole = held_.size();
    while (!ends && whole > 0 && held_.size() - whole < 4 && (held_[whole - 1] & 0x80) != 0) {
      if ((held_[--whole] & 0x40) != 0) break;
    }
    const std::string_view checked = std::string_view(held_).substr(0, whole);
    if (problem_.empty() && (!is_utf8(checked) || checked.find('\0') != checked.npos)) {
      problem_ = "is not text in UTF-8";
    }
    held_.erase(0, whole);
  }
  std::string_view problem() const { return problem_; }

 private:
  std::string held_;
  bool is_first_ = true;
  std::string_view problem_;
};

void read_text(MetricFileKind kind, ByteSource& bytes, FileFacts& facts) {
  switch (kind) {
    case MetricFileKind::kNone:
    case MetricFileKind::kTensorBoard:
      break;
    case MetricFileKind::kJson:
      read_json(bytes, facts);
      break;
    case MetricFileKind::kCsv:
      read_csv(bytes, ',', facts);
      break;
    case MetricFileKind::kTsv:
      read_csv(bytes, '\t', facts);
      break;
    case MetricFileKind::kYaml:
      read_yaml(bytes, facts);
      break;
    case MetricFileKind::kMlflowMetric:
      read_mlflow_metric(bytes, behind_directory(facts.path(), "metrics"), facts);
      break;
    case MetricFileKind::kMlflowParam:
      read_mlflow_param(bytes, behind_directory(facts.path(), "params"), facts);
      break;
  }
}

}  // namespace

MetricFileKind metric_file_kind(std::string_view path) {
  const std::vector<std::string_view> segments = segments_of(path);
  bool in_mlruns = false;
  for (const std::string_view segment : segments) {
    if (segment.empty() || segment.front() == '_' || segment.front() == '.') {
      return MetricFileKind::kNone;
    }
    in_mlruns |= is_mlruns(segment);
  }
  const std::string_view name = segments.back();
  if (name.find("tfevents.") != std::string_view::npos) return MetricFileKind::kTensorBoard;
  if (in_mlruns) {
    // mlruns/<experiment>/<run>/{metrics,params}/<name>, where the name may contain slashes. Files
    // in a run's artifacts are not its own.
    for (const std::string_view segment : segments) {
      if (segment == "artifacts" || segment == "tags" || segment == "traces") break;
      if (segment == "metrics" && !behind_directory(path, "metrics").empty()) {
        return MetricFileKind::kMlflowMetric;
      }
      if (segment == "params" && !behind_directory(path, "params").empty()) {
        return MetricFileKind::kMlflowParam;
      }
    }
    return MetricFileKind::kNone;
  }
  const std::string_view extension = extension_of(name);
  if (extension == "json" || extension == "jsonl" || extension == "ndjson") {
    return MetricFileKind::kJson;
  }
  if (extension == "csv") return MetricFileKind::kCsv;
  if (extension == "tsv") return MetricFileKind::kTsv;
  if (extension == "yaml" || extension == "yml") return MetricFileKind::kYaml;
  if (extension.empty() && !behind_directory(path, "metrics").empty()) {
    return MetricFileKind::kMlflowMetric;
  }
  return MetricFileKind::kNone;
}

void read_metric_file(MetricFileKind kind, ByteSource& bytes, FileFacts& facts) {
  if (kind == MetricFileKind::kTensorBoard) {
    read_tensor_board(bytes, split_of(facts.path()), facts);
  } else {
    TextCheck check;
    ByteSource text(
        [&](std::span<char> out) {
          const size_t count = bytes.read(out);
          check.add({out.data(), count});
          if (check.problem().empty()) return count;
          facts.reject(check.problem());
          return size_t{0};
        },
        UINT64_MAX);
    read_text(kind, text, facts);
  }
  if (bytes.limited()) facts.reject("is longer than what is read of one file");
}

bool is_step_name(std::string_view name) {
  for (const std::string_view known : {"step", "global_step", "epoch", "iteration"}) {
    if (name == known) return true;
  }
  return false;
}

std::optional<int64_t> step_from(double value) {
  constexpr double kStepMax = 9.0e18;
  if (!(std::fabs(value) <= kStepMax) || value != std::floor(value)) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace tarn
