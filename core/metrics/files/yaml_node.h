// A YAML document (or JSON, which is YAML) as a tree with the line and column of each node.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarn {

/// Values and keys of one document, nested ones counted.
constexpr size_t kYamlNodesMax = 10'000;
/// Deepest nesting of lists and maps.
constexpr size_t kYamlDepthMax = 16;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  size_t line = 0;                ///< from 1
  size_t column = 0;              ///< from 1
  std::string text{};             ///< of a scalar
  bool quoted = false;            ///< a scalar in quotes or with a tag: always text
  std::vector<YamlNode> items{};  ///< of a list
  std::vector<std::pair<YamlNode, YamlNode>> members{};  ///< of a map, in order; keys may repeat

  /// "line:column".
  std::string place() const;
};

/// Parses the one document in `text`; an empty text is kNull. Rejects anchors and aliases, so a
/// tree is never larger than its text. Throws invalid_argument: "LINE:COLUMN: <problem>".
YamlNode parse_yaml(const std::string& text);

}  // namespace tarn
