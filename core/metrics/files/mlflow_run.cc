#include "core/metrics/files/mlflow_run.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/metrics/files/yaml_node.h"

namespace tarn {

std::vector<std::string> mlflow_meta_paths(std::string_view path) {
  constexpr std::string_view kDirectory = "mlruns/";
  size_t at = path.starts_with(kDirectory) ? 0 : path.find("/mlruns/");
  if (at == std::string_view::npos) return {};
  at = path.find(kDirectory, at) + kDirectory.size();
  std::vector<std::string> out;
  for (int level = 0; level < 2; ++level) {
    at = path.find('/', at);
    if (at == std::string_view::npos) break;
    out.push_back(str_cat(path.substr(0, at), "/meta.yaml"));
    ++at;
  }
  return out;
}

bool mlflow_says_deleted(const std::string& meta) {
  try {
    const YamlNode root = parse_yaml(meta);
    return std::any_of(root.members.begin(), root.members.end(), [](const auto& member) {
      return member.first.text == "lifecycle_stage" && member.second.text == "deleted";
    });
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tarn
