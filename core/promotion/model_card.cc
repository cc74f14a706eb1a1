#include "core/promotion/model_card.h"

#include <algorithm>
#include <set>
#include <span>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/blob/blob_store.h"
#include "core/meta/node_store.h"
#include "core/metrics/files/yaml_node.h"
#include "core/objects/objects.h"
#include "core/tree/cursor.h"

namespace tarn::promotion {
namespace {

constexpr std::string_view kFence = "---";

/// The lines between the first two fences; nullopt: the text does not begin with one, or it has no
/// end.
std::optional<std::string> front_matter(std::string_view text) {
  bool first = true;
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (first) {
      if (line != kFence) return std::nullopt;
      first = false;
    } else if (line == kFence) {
      return out;
    } else {
      out += str_cat(line, "\n");
    }
  }
  return std::nullopt;
}

/// A key that a map of the document has twice, or that is no text; "" = none.
std::string ambiguous_key(const YamlNode& node) {
  std::set<std::string> keys;
  for (const auto& [key, value] : node.members) {
    if (key.kind != YamlNode::Kind::kScalar || !keys.insert(key.text).second)
      return str_cat("key \"", key.text, "\" at ", key.place());
    if (std::string found = ambiguous_key(value); !found.empty()) return found;
  }
  for (const YamlNode& item : node.items) {
    if (std::string found = ambiguous_key(item); !found.empty()) return found;
  }
  return "";
}

bool is_empty(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return true;
    case YamlNode::Kind::kScalar:
      return trimmed(node.text).empty();
    case YamlNode::Kind::kList:
      return std::all_of(node.items.begin(), node.items.end(), is_empty);
    case YamlNode::Kind::kMap:
      return std::all_of(node.members.begin(), node.members.end(),
                         [](const auto& member) { return is_empty(member.second); });
  }
  return true;
}

/// Whether the document has the field: a member of this name, or of a map that the name begins
/// with.
bool has_field(const YamlNode& node, std::string_view name) {
  for (const auto& [key, value] : node.members) {
    if (key.text == name) return !is_empty(value);
    if (name.starts_with(key.text) && name.substr(key.text.size()).starts_with('.') &&
        has_field(value, name.substr(key.text.size() + 1)))
      return true;
  }
  return false;
}

}  // namespace

CardFacts read_card(std::string_view path, const std::string& text,
                    const std::vector<std::string>& required) {
  CardFacts out;
  const bool is_document =
      path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json");
  const std::optional<std::string> document = is_document ? text : front_matter(text);
  if (!document) {
    out.problem = "has no front matter: begin it with a line ---, the fields, and another line ---";
    return out;
  }
  if (!is_utf8(*document)) {
    out.problem = "is not UTF-8";
    return out;
  }
  try {
    const YamlNode root = parse_yaml(*document);
    if (const std::string key = ambiguous_key(root); !key.empty()) {
      out.problem = str_cat(key, " is there twice, or no text");
      return out;
    }
    std::copy_if(required.begin(), required.end(), std::back_inserter(out.missing),
                 [&](const std::string& field) { return !has_field(root, field); });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    out.problem = error.message();
  }
  return out;
}

CardFacts find_card(branch::Engine& engine, const Repository& repository, const CardRules& rules,
                    const TreeRoot& tree) {
  const auto entry = tree::find_entry(engine.nodes, tree, rules.path);
  if (!entry) return {.exists = false};
  if (entry->size_bytes > kModelCardBytesMax) {
    CardFacts out;
    out.problem = str_cat("is larger than ", kModelCardBytesMax, " bytes");
    return out;
  }
  std::string text(entry->size_bytes, '\0');
  size_t had = 0;
  if (!text.empty()) {
    const auto reader = objects::open_object(engine, repository, *entry, {0, text.size()});
    while (const size_t count = reader->read(std::span(text).subspan(had))) had += count;
  }
  text.resize(had);
  return read_card(rules.path, text, rules.required);
}

}  // namespace tarn::promotion
