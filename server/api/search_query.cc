#include "server/api/search_query.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/search/instant.h"
#include "server/api/parameter.h"

namespace tarn::api {
namespace {

/// Parses metadata=key and metadata=key=value.
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
  query.modified_from = search::parse_instant(text("modified_after"));
  query.modified_before = search::parse_instant(text("modified_before"));
  query.content_type = text("content_type");
  query.metadata = metadata_conditions(parameters);
  if (const std::string_view where = text("where"); !where.empty())
    query.where.emplace(search::parse_expression(where));
  return query;
}

uint64_t question_of(const Call& call) {
  constexpr std::array<std::string_view, 4> kOfThePage = {"after", "amount", "presign",
                                                          "user_metadata"};
  std::string asked;
  for (size_t i = 0; i < call.path_values.count; ++i) put_bytes(asked, call.path_values.values[i]);
  for (const auto& [name, value] : call.query.all()) {
    if (std::find(kOfThePage.begin(), kOfThePage.end(), name) != kOfThePage.end()) continue;
    put_bytes(asked, name);
    put_bytes(asked, value);
  }
  return WireReader(sha256(asked), "digest").u64be();
}

}  // namespace tarn::api
