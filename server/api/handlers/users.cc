#include "core/base/error.h"
#include "server/api/handlers/handlers.h"
#include "server/api/handlers/outcome.h"
#include "server/api/json/account.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerUser = 128;

void require_user(const Context& context, const Call& call) {
  expect_found(context.directory.users.find(call.path("userId")), "user");
}

}  // namespace

http::Response list_users(const Context& context, Call& call) {
  return json_response(200, json::list_of(context.directory.users.list(call.page()), kBytesPerUser,
                                          json::write_user));
}

http::Response create_user(const Context& context, Call&, json::CreateUser given) {
  if (given.invite) throw Error(ErrorCode::kUnimplemented, "Not Implemented");
  const auth::User user{given.id, context.engine.clock.now(), {}, {}};
  expect_done(context.directory.users.create(user));
  return json_response(201, json::user_body(user));
}
JsonHandler create_user() { return json_handler<json::parse_create_user, create_user>; }

http::Response get_user(const Context& context, Call& call) {
  return json_response(200, json::user_body(expect_found(
                                context.directory.users.find(call.path("userId")), "user")));
}

http::Response delete_user(const Context& context, Call& call) {
  return revoked(context, context.directory.users.remove(call.path("userId")), "user");
}

http::Response list_user_groups(const Context& context, Call& call) {
  require_user(context, call);
  return json_response(
      200, json::list_of(context.directory.groups.of_user(call.path("userId"), call.page()),
                         kBytesPerUser, json::write_group));
}

http::Response list_user_policies(const Context& context, Call& call) {
  constexpr size_t kBytesPerPolicy = 256;
  require_user(context, call);
  return json_response(
      200, json::list_of(context.directory.policies.of_user(call.path("userId"),
                                                            call.flag("effective"), call.page()),
                         kBytesPerPolicy, json::write_policy));
}

http::Response attach_policy_to_user(const Context& context, Call& call) {
  return granted(context, context.directory.policies.attach_to_user(call.path("userId"),
                                                                    call.path("policyId")));
}

http::Response detach_policy_from_user(const Context& context, Call& call) {
  return revoked(
      context,
      context.directory.policies.detach_from_user(call.path("userId"), call.path("policyId")),
      "policy");
}

}  // namespace tarn::api
