#include "server/api/json/path_scope.h"

#include <string>
#include <vector>

#include "core/base/str_cat.h"

namespace tarn::api::json {

Glob parse_glob(const Value& value) {
  const std::string text = value.text();
  const std::string problem = Glob::problem(text);
  if (!problem.empty()) value.fail(problem);
  return Glob(text);
}

PathScope parse_path_scope(const Value& value) {
  const std::vector<Value> items = value.items();
  if (items.empty() || items.size() > kPathPatternsMax) {
    value.fail(str_cat("must have 1 to ", kPathPatternsMax, " items"));
  }
  std::vector<std::string> patterns;
  for (const Value& item : items) patterns.push_back(parse_glob(item).pattern());
  return PathScope(patterns);
}

}  // namespace tarn::api::json
