#include "server/api/conditional.h"

#include <string_view>

#include "core/base/error.h"

namespace tarn::api {
namespace {

bool is_one_etag(std::string_view text) {
  return text.size() > 2 && text.find('"') == 0 && text.find('"', 1) == text.size() - 1;
}

}  // namespace

branch::Condition write_condition(const http::Headers& headers) {
  branch::Condition condition;
  const std::string* match = headers.find("If-Match");
  const std::string* none_match = headers.find("If-None-Match");
  if ((match != nullptr && !is_one_etag(*match)) || (none_match != nullptr && *none_match != "*")) {
    throw Error(ErrorCode::kUnimplemented, "Not Implemented");
  }
  if (match != nullptr) condition.if_match = {match->substr(1, match->size() - 2)};
  condition.if_absent = none_match != nullptr;
  return condition;
}

}  // namespace tarn::api
