#include "core/base/error.h"
#include "core/versioning/repositories.h"
#include "server/api/handlers/handlers.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response get_protection_rules(const Context& context, Call& call) {
  versioning::get_repository(context.engine, call.repository());
  http::Response response = json_response(200, "[]\n");
  response.headers.add("ETag", "");  // clients send If-Match only for one that is not empty
  return response;
}

http::Response get_collection_rules(const Context& context, Call& call) {
  versioning::get_repository(context.engine, call.repository());
  throw Error(ErrorCode::kNotFound, "not found");
}

http::Response allow_settings(const Context& context, Call& call) {
  versioning::get_repository(context.engine, call.repository());
  return empty_response(204);
}

}  // namespace tarn::api
