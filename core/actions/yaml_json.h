// A YAML value as JSON text.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace YAML {
class Node;
}

namespace tarn::actions {

struct YamlLimits {
  size_t values_max = 10'000;
  size_t nesting_max = 16;
  /// Called with each scalar; an exception ends the conversion.
  std::function<void(const YAML::Node&)> visit{};
};

/// Plain scalars become null, booleans and numbers as in YAML 1.2's core schema; aliases are
/// written out and count. Throws invalid_argument "line N: ..." past a limit.
std::string yaml_to_json(const YAML::Node& node, const YamlLimits& limits);

}  // namespace tarn::actions
