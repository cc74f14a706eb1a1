// A strict reader of a document's values, which collects all problems.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"
#include "core/base/str_cat.h"
#include "core/metrics/files/yaml_node.h"

namespace tarn::promotion {

/// Items of any one list of a document.
constexpr size_t kDocumentListMax = 64;
/// Complaints of one answer; beyond it only their number.
constexpr size_t kDocumentProblemsMax = 20;

/// Each function reads the value `node`, which messages call `path`. A wrong value adds one error,
/// with line and column, and returns some value; nothing throws. One thread.
class DocumentReader {
 public:
  void complain(const YamlNode& at, std::string_view path, std::string_view why);
  void expected(const YamlNode& at, std::string_view path, std::string_view what);
  /// All errors, at most kDocumentProblemsMax of them in full; "" = none.
  std::string problems() const;

  using Members = std::map<std::string_view, const YamlNode*>;
  /// The members of a map among `known`; duplicates are reported.
  Members members_of(const YamlNode& node, const std::string& path,
                     const std::vector<std::string_view>& known);

  /// Not empty, without control characters; text that would parse as a number, true or false must
  /// be quoted.
  std::optional<std::string> text_at(const YamlNode& node, const std::string& path,
                                     size_t bytes_max);
  std::optional<Glob> glob_at(const YamlNode& node, const std::string& path, size_t bytes_max);
  std::optional<double> number_at(const YamlNode& node, const std::string& path);  ///< finite
  std::optional<uint32_t> count_at(const YamlNode& node, const std::string& path, uint32_t most);
  std::optional<uint64_t> size_at(const YamlNode& node, const std::string& path);  ///< bytes
  std::optional<std::chrono::milliseconds> time_at(const YamlNode& node, const std::string& path,
                                                   std::chrono::days most);
  bool flag_at(const YamlNode& node, const std::string& path);

  /// Each item by `read_item(node, path)`, which returns an optional; no two may be equal.
  template <typename Value, typename ReadItem>
  void read_list(const YamlNode& node, const std::string& path, std::vector<Value>& out,
                 const ReadItem& read_item) {
    if (node.kind != YamlNode::Kind::kList) return expected(node, path, "a list");
    if (node.items.size() > kDocumentListMax) {
      return complain(node, path, str_cat("has more than ", kDocumentListMax, " items"));
    }
    for (size_t i = 0; i < node.items.size(); ++i) {
      const std::string item_path = str_cat(path, "[", i, "]");
      auto value = read_item(node.items[i], item_path);
      if (!value) continue;
      if (std::find(out.begin(), out.end(), *value) != out.end()) {
        complain(node.items[i], item_path, "is given twice");
      } else {
        out.push_back(*std::move(value));
      }
    }
  }

 private:
  std::vector<std::string> problems_;
};

/// nullptr = there is none.
inline const YamlNode* find(const DocumentReader::Members& members, std::string_view name) {
  const auto at = members.find(name);
  return at == members.end() ? nullptr : at->second;
}

}  // namespace tarn::promotion
