#include "core/metrics/files/mlflow_run.h"

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

std::string_view mlflow_run_problem(const std::string& meta) {
  // Members of MLflow's files, whose status is a number of mlflow.entities.RunStatus.
  constexpr struct {
    std::string_view key;
    std::string_view value;
    std::string_view problem;
  } kProblems[] = {{"lifecycle_stage", "deleted", "was deleted"},
                   {"status", "4", "failed"},
                   {"status", "FAILED", "failed"},
                   {"status", "5", "was killed"},
                   {"status", "KILLED", "was killed"}};
  try {
    const YamlNode root = parse_yaml(meta);
    for (const auto& [key, value] : root.members) {
      for (const auto& known : kProblems) {
        if (key.text == known.key && value.text == known.value) return known.problem;
      }
    }
  } catch (const Error&) {
    return "has an invalid meta.yaml";
  }
  return "";
}

}  // namespace tarn
