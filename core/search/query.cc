#include "core/search/query.h"

#include <algorithm>

namespace tarn::search {
namespace {

constexpr std::string_view kClassWildcard = "/*";

/// "image" of "image/*"; nullopt for a type in full.
std::optional<std::string_view> class_of_wildcard(std::string_view type) {
  if (!type.ends_with(kClassWildcard)) return std::nullopt;
  type.remove_suffix(kClassWildcard.size());
  return type;
}

std::string_view shown_type(const Entry& entry) {
  return entry.content_type.empty() ? kDefaultContentType : std::string_view(entry.content_type);
}

bool matches_type(std::string_view wanted, const Entry& entry) {
  const std::string_view type = shown_type(entry);
  const auto type_class = class_of_wildcard(wanted);
  if (!type_class) return type == wanted;
  return type.substr(0, type.find('/')) == *type_class;
}

bool matches_metadata(const std::vector<MetadataCondition>& conditions, const Entry& entry) {
  if (conditions.empty()) return true;
  const Metadata pairs = entry.user_metadata();
  return std::all_of(conditions.begin(), conditions.end(), [&](const MetadataCondition& wanted) {
    const auto at = pairs.find(wanted.key);
    return at != pairs.end() && (!wanted.value || at->second == *wanted.value);
  });
}

}  // namespace

bool Query::empty() const {
  return prefix.empty() && !glob && !size_min_bytes && !size_max_bytes && !modified_from &&
         !modified_before && content_type.empty() && metadata.empty();
}

const std::string& Query::key_prefix() const {
  return glob && glob->prefix().size() > prefix.size() ? glob->prefix() : prefix;
}

bool Query::matches_path(std::string_view path) const {
  if (!path.starts_with(prefix)) return false;
  if (!glob) return true;
  // Cheaper than the pattern, and refuses nearly all.
  if (!path.ends_with(glob->suffix())) return false;
  size_t at = 0;
  for (const std::string& literal : glob->literals()) {
    at = path.find(literal, at);
    if (at == std::string_view::npos) return false;
    at += literal.size();
  }
  return glob->matches(path);
}

bool Query::matches_entry(const Entry& entry) const {
  if (size_min_bytes && entry.size_bytes < *size_min_bytes) return false;
  if (size_max_bytes && entry.size_bytes > *size_max_bytes) return false;
  if (modified_from && entry.mtime < *modified_from) return false;
  if (modified_before && entry.mtime >= *modified_before) return false;
  if (!content_type.empty() && !matches_type(content_type, entry)) return false;
  return matches_metadata(metadata, entry);
}

Demand::Demand(const Query& query) {
  size_min_bytes = query.size_min_bytes.value_or(size_min_bytes);
  size_max_bytes = query.size_max_bytes.value_or(size_max_bytes);
  if (query.modified_from) mtime_min_ms = to_millis(*query.modified_from);
  if (query.modified_before) {
    const int64_t end = to_millis(*query.modified_before);
    mtime_max_ms = end == INT64_MIN ? end : end - 1;
  }
  if (query.glob) {
    // The prefix bounds the keys already.
    const std::vector<std::string>& literals = query.glob->literals();
    for (size_t i = query.glob->prefix().empty() ? 0 : 1; i < literals.size(); ++i) {
      const bool at_end = i + 1 == literals.size() && !query.glob->suffix().empty();
      add_text_items(literals[i], at_end, items);
    }
  }
  if (!query.content_type.empty()) {
    const auto type_class = class_of_wildcard(query.content_type);
    items.push_back(type_class ? content_class_item(*type_class)
                               : content_type_item(query.content_type));
  }
  for (const MetadataCondition& wanted : query.metadata) {
    items.push_back(wanted.value ? metadata_pair_item(wanted.key, *wanted.value)
                                 : metadata_key_item(wanted.key));
  }
}

bool Demand::empty() const {
  return size_min_bytes == 0 && size_max_bytes == UINT64_MAX && mtime_min_ms == INT64_MIN &&
         mtime_max_ms == INT64_MAX && items.empty();
}

}  // namespace tarn::search
