// Runs of an MLflow directory: mlruns/<experiment>/<run>/...
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tarn {

/// Bytes of a meta.yaml that are read.
constexpr size_t kMlflowMetaBytesMax = 64 * 1024;

/// Paths of the meta.yaml of the file's experiment and run; empty outside an MLflow directory.
std::vector<std::string> mlflow_meta_paths(std::string_view path);

/// Why a run or experiment with this meta.yaml does not count: MLflow does not show it, or it did
/// not end well. "" = it counts.
std::string_view mlflow_run_problem(const std::string& meta);

}  // namespace tarn
