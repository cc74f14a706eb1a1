// Runs of an MLflow directory: mlruns/<experiment>/<run>/...
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tarn {

/// Bytes of a meta.yaml that are read.
constexpr size_t kMlflowMetaBytesMax = 64 * 1024;

/// Paths of the meta.yaml of the experiment and of the run that the file belongs to; empty when it
/// lies in no MLflow directory.
std::vector<std::string> mlflow_meta_paths(std::string_view path);

/// Whether a meta.yaml says that its run or experiment was deleted. A text that is no YAML does
/// not.
bool mlflow_says_deleted(const std::string& meta);

}  // namespace tarn
