#include "core/verify/verify_job.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/import.h"
#include "server/api/json/verification.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response start_verification(const Context& context, Call& call,
                                  versioning::RepositoryVerification given) {
  return json_response(202, json::id_body(versioning::start_verify(
                                context.engine, call.repository(), given, call.caller.user.name)));
}
JsonHandler start_verification() {
  return json_handler<json::parse_verification, start_verification>;
}

http::Response get_verification(const Context& context, Call& call) {
  return json_response(200, json::verification_status_body(versioning::verify_status(
                                context.engine, call.repository(), call.path("verification"))));
}

http::Response cancel_verification(const Context& context, Call& call) {
  versioning::cancel_verify(context.engine, call.repository(), call.path("verification"));
  return empty_response(204);
}

}  // namespace tarn::api
