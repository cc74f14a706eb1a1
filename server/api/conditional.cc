#include "server/api/conditional.h"

#include "core/base/error.h"

namespace tarn::api {

versioning::Condition write_condition(const http::Headers& headers) {
  versioning::Condition condition;
  const std::string* none_match = headers.find("If-None-Match");
  if (headers.find("If-Match") != nullptr || (none_match != nullptr && *none_match != "*")) {
    throw Error(ErrorCode::kUnimplemented, "Not Implemented");
  }
  condition.if_absent = none_match != nullptr;
  return condition;
}

}  // namespace tarn::api
