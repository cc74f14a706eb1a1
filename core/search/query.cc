#include "core/search/query.h"

#include <algorithm>

namespace tarn::search {
namespace {

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
         !modified_before && content_type.empty() && metadata.empty() && !where;
}

const std::string& Query::key_prefix() const {
  const std::string& of_glob =
      glob && glob->prefix().size() > prefix.size() ? glob->prefix() : prefix;
  return where && where->prefix.size() > of_glob.size() ? where->prefix : of_glob;
}

bool Query::matches_path(std::string_view path) const {
  if (!path.starts_with(prefix)) return false;
  if (!glob) return true;
  // Cheaper than the pattern, and rejects nearly all paths.
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

bool Query::matches_where(std::string_view path, const Entry& entry) const {
  return !where || where->expression.matches(Subject(path, entry));
}

void add_glob_items(const Glob& glob, size_t from, std::vector<Item>& out) {
  const std::vector<std::string>& literals = glob.literals();
  for (size_t i = from; i < literals.size(); ++i) {
    add_text_items(literals[i], i + 1 == literals.size() && !glob.suffix().empty(), out);
  }
}

void add_type_item(std::string_view type, std::vector<Item>& out) {
  const auto type_class = class_of_wildcard(type);
  out.push_back(type_class ? content_class_item(*type_class) : content_type_item(type));
}

Requirement::Requirement(const Query& query) {
  size_min_bytes = query.size_min_bytes.value_or(size_min_bytes);
  size_max_bytes = query.size_max_bytes.value_or(size_max_bytes);
  if (query.modified_from) mtime_min_ms = to_millis(*query.modified_from);
  if (query.modified_before) {
    const int64_t end = to_millis(*query.modified_before);
    mtime_max_ms = end == INT64_MIN ? end : end - 1;
  }
  // The prefix already bounds the keys.
  if (query.glob) add_glob_items(*query.glob, query.glob->prefix().empty() ? 0 : 1, items);
  if (!query.content_type.empty()) add_type_item(query.content_type, items);
  for (const MetadataCondition& wanted : query.metadata) {
    items.push_back(wanted.value ? metadata_pair_item(wanted.key, *wanted.value)
                                 : metadata_key_item(wanted.key));
  }
}

bool Requirement::empty() const {
  return size_min_bytes == 0 && size_max_bytes == UINT64_MAX && mtime_min_ms == INT64_MIN &&
         mtime_max_ms == INT64_MAX && items.empty();
}

}  // namespace tarn::search
