#include "core/base/error.h"
#include "core/versioning/repositories.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/list.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response list_runs(const Context& context, Call& call) {
  if (!call.parameter("branch").empty() && !call.parameter("commit").empty()) {
    throw_invalid("listing runs by branch and by commit at once: parameters conflict");
  }
  versioning::get_repository(context.engine, call.repository());
  return json_response(200, json::list_of(Page<int>{}, 0, [](json::Writer&, int) {}));
}

http::Response get_run(const Context& context, Call& call) {
  versioning::get_repository(context.engine, call.repository());
  throw Error(ErrorCode::kNotFound, "not found");
}

}  // namespace tarn::api
