#include "server/api/search_query.h"

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "server/api/parameter.h"

namespace tarn::api {
namespace {

/// Of metadata=key and metadata=key=value.
std::vector<search::MetadataCondition> metadata_conditions(const http::Query& parameters) {
  std::vector<search::MetadataCondition> out;
  for (const std::string& text : parameters.values("metadata")) {
    const size_t at = text.find('=');
    if (text.empty() || at == 0 || out.size() == search::kMetadataConditionsMax) {
      throw_invalid(str_cat(
          "parameter \"metadata\" in query has an error: must be key or key=value, at most ",
          search::kMetadataConditionsMax, " times"));
    }
    out.push_back({text.substr(0, at), at == std::string::npos
                                           ? std::nullopt
                                           : std::optional<std::string>(text.substr(at + 1))});
  }
  return out;
}

}  // namespace

search::Query search_query_of(const http::Query& parameters) {
  const auto text = [&](std::string_view name) {
    const std::string* value = parameters.find(name);
    return value == nullptr ? std::string_view() : std::string_view(*value);
  };
  search::Query query;
  query.prefix = text("prefix");
  if (const std::string_view glob = text("glob"); !glob.empty()) query.glob.emplace(glob);
  query.size_min_bytes = parse_size(text("min_size"));
  query.size_max_bytes = parse_size(text("max_size"));
  query.modified_from = parse_instant(text("modified_after"));
  query.modified_before = parse_instant(text("modified_before"));
  query.content_type = text("content_type");
  query.metadata = metadata_conditions(parameters);
  return query;
}

}  // namespace tarn::api
