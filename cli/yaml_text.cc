#include "cli/yaml_text.h"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

#include "cli/json_text.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

using Json = nlohmann::json;

constexpr size_t kIndent = 2;

/// Whether YAML reads the unquoted text as this string. Everything else is quoted: a JSON string
/// is a YAML string.
bool is_plain(const std::string& text) {
  constexpr std::string_view kAllowed = "_-./";
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0) return false;
  const bool simple = std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kAllowed.find(c) != std::string_view::npos;
  });
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no",
                                         "on",   "off",   "y",    "n"};
  return simple && std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
}

std::string scalar(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return is_plain(text) ? text : json_text(value);
  }
  return value.empty() && value.is_object()  ? "{}"
         : value.empty() && value.is_array() ? "[]"
                                             : json_text(value);
}

bool is_block(const Json& value) { return value.is_structured() && !value.empty(); }

void write(std::string& out, const Json& value, size_t indent);

/// Writes the value behind "key:" or "-"; `same_line` if its first line may stand there too.
void write_below(std::string& out, const Json& value, size_t indent, bool same_line) {
  if (!is_block(value)) {
    out += str_cat(' ', scalar(value), '\n');
  } else if (same_line) {
    std::string block;
    write(block, value, indent);
    out += str_cat(' ', block.substr(indent));
  } else {
    out += '\n';
    write(out, value, indent);
  }
}

void write(std::string& out, const Json& value, size_t indent) {
  const std::string margin(indent, ' ');
  if (!is_block(value)) {
    out += str_cat(margin, scalar(value), '\n');
  } else if (value.is_array()) {
    for (const Json& item : value) {
      out += str_cat(margin, '-');
      write_below(out, item, indent + kIndent, /*same_line=*/true);
    }
  } else {
    for (const auto& [key, item] : value.items()) {
      out += str_cat(margin, scalar(Json(key)), ':');
      write_below(out, item, indent + kIndent, /*same_line=*/false);
    }
  }
}

}  // namespace

std::string yaml_text(const Json& document, size_t indent) {
  std::string out;
  write(out, document, indent);
  return out;
}

}  // namespace tarn::cli
