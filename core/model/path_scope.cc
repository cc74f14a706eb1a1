#include "core/model/path_scope.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn {

PathScope::PathScope(const std::vector<std::string>& patterns) {
  if (patterns.empty()) throw_invalid("path patterns: at least one is needed");
  if (patterns.size() > kPathPatternsMax) {
    throw_invalid(str_cat("path patterns: more than ", kPathPatternsMax));
  }
  for (const std::string& pattern : patterns) patterns_.emplace_back(pattern);
}

bool PathScope::contains(std::string_view key) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [key](const Glob& pattern) { return pattern.matches(key); });
}

std::optional<std::string> PathScope::skip_to(std::string_view key) const {
  std::optional<std::string> out;
  for (const Glob& pattern : patterns_) {
    const std::string& prefix = pattern.prefix();
    if (key.starts_with(prefix)) return std::string(key);
    if (key < prefix && (!out || prefix < *out)) out = prefix;
  }
  return out;
}

}  // namespace tarn
