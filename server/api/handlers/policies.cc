#include "core/base/error.h"
#include "server/api/handlers/handlers.h"
#include "server/api/handlers/outcome.h"
#include "server/api/json/account.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response list_policies(const Context& context, Call& call) {
  constexpr size_t kBytesPerPolicy = 256;
  return json_response(200, json::list_of(context.directory.policies.list(call.page()),
                                          kBytesPerPolicy, json::write_policy));
}

http::Response create_policy(const Context& context, Call&, auth::Policy policy) {
  policy.created = context.engine.clock.now();
  expect_done(context.directory.policies.create(policy));
  return json_response(201, json::policy_body(policy));
}
JsonHandler create_policy() { return json_handler<json::parse_policy, create_policy>; }

http::Response get_policy(const Context& context, Call& call) {
  return json_response(200, json::policy_body(expect_found(
                                context.directory.policies.find(call.path("policyId")), "policy")));
}

http::Response update_policy(const Context& context, Call& call, auth::Policy given) {
  if (given.name != call.path("policyId")) {
    throw_invalid("id: is another policy's than the one of the path");
  }
  const auth::Policy policy =
      expect_found(context.directory.policies.update(given.name, given.statements), "policy");
  context.authenticator.forget();
  return json_response(200, json::policy_body(policy));
}
JsonHandler update_policy() { return json_handler<json::parse_policy, update_policy>; }

http::Response delete_policy(const Context& context, Call& call) {
  return revoked(context, context.directory.policies.remove(call.path("policyId")), "policy");
}

}  // namespace tarn::api
