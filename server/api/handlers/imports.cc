#include "core/versioning/import.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/import.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response start_import(const Context& context, Call& call) {
  json::StartImport given = json::parse_start_import(call.body->root());
  const std::string id =
      versioning::start_import(context.engine, call.repository(), call.branch(),
                               {.paths = std::move(given.paths),
                                .commit = {.committer = call.caller.user.committer(),
                                           .message = std::move(given.commit.message),
                                           .metadata = std::move(given.commit.metadata),
                                           .date = given.commit.date,
                                           .allow_empty = given.commit.allow_empty,
                                           .force = given.commit.force},
                                .force = given.force});
  return json_response(202, json::id_body(id));
}

http::Response import_status(const Context& context, Call& call) {
  return json_response(
      200, json::import_status_body(versioning::import_status(
               context.engine, call.repository(), call.branch(), call.parameter("id"))));
}

http::Response cancel_import(const Context& context, Call& call) {
  versioning::cancel_import(context.engine, call.repository(), call.branch(), call.parameter("id"));
  return empty_response(204);
}

}  // namespace tarn::api
