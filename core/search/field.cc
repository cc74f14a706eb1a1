#include "core/search/field.h"

#include <cmath>

#include "core/base/number.h"
#include "core/model/content_type.h"

namespace tarn::search {
namespace {

constexpr std::string_view kClassWildcard = "/*";
constexpr std::string_view kMetadataPrefix = "meta.";
constexpr std::string_view kTagPrefix = "tag.";

}  // namespace

std::optional<Field> parse_field(std::string_view word) {
  if (word == "path") return Field{Field::Kind::kPath, ""};
  if (word == "size") return Field{Field::Kind::kSize, ""};
  if (word == "modified") return Field{Field::Kind::kModified, ""};
  if (word == "type") return Field{Field::Kind::kType, ""};
  Field::Kind kind = Field::Kind::kMetadata;
  if (word.starts_with(kMetadataPrefix)) {
    word.remove_prefix(kMetadataPrefix.size());
  } else if (word.starts_with(kTagPrefix)) {
    word.remove_prefix(kTagPrefix.size());
    kind = Field::Kind::kTag;
  }
  if (word.empty()) return std::nullopt;
  return Field{kind, std::string(word)};
}

std::string_view shown_type(const Entry& entry) {
  return entry.content_type.empty() ? kDefaultContentType : std::string_view(entry.content_type);
}

std::optional<std::string_view> class_of_wildcard(std::string_view type) {
  if (!type.ends_with(kClassWildcard)) return std::nullopt;
  type.remove_suffix(kClassWildcard.size());
  return type;
}

bool matches_type(std::string_view wanted, const Entry& entry) {
  const std::string_view type = shown_type(entry);
  const auto type_class = class_of_wildcard(wanted);
  if (!type_class) return type == wanted;
  return type.substr(0, type.find('/')) == *type_class;
}

const std::string* Subject::value(const Field& field) const {
  const bool tag = field.kind == Field::Kind::kTag;
  std::optional<Metadata>& pairs = tag ? tags_ : metadata_;
  if (!pairs) pairs = tag ? entry_.object_tags() : entry_.user_metadata();
  const auto at = pairs->find(field.key);
  return at == pairs->end() ? nullptr : &at->second;
}

std::optional<double> Subject::number(const Field& field) const {
  const std::string* text = value(field);
  const auto number = text == nullptr ? std::nullopt : parse_number(*text);
  return number && std::isnan(*number) ? std::nullopt : number;
}

}  // namespace tarn::search
