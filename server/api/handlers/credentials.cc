// Access keys and external principals of users.
#include "server/api/handlers/handlers.h"
#include "server/api/handlers/outcome.h"
#include "server/api/json/account.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerKey = 96;

void require_user(const Context& context, const Call& call) {
  expect_found(context.directory.users.find(call.path("userId")), "user");
}

}  // namespace

http::Response list_user_credentials(const Context& context, Call& call) {
  require_user(context, call);
  return json_response(
      200, json::list_of(context.directory.credentials.list(call.path("userId"), call.page()),
                         kBytesPerKey, json::write_key));
}

http::Response create_credentials(const Context& context, Call& call) {
  return json_response(
      201, json::new_key_body(expect_found(context.directory.credentials.create(
                                               call.path("userId"), context.engine.clock.now()),
                                           "user")));
}

http::Response get_credentials(const Context& context, Call& call) {
  return json_response(
      200, json::key_body(expect_found(
               context.directory.credentials.find(call.path("userId"), call.path("accessKeyId")),
               "credentials")));
}

http::Response delete_credentials(const Context& context, Call& call) {
  return revoked(
      context, context.directory.credentials.remove(call.path("userId"), call.path("accessKeyId")),
      "credentials");
}

http::Response create_external_principal(const Context& context, Call& call,
                                         std::vector<std::map<std::string, std::string>> settings) {
  const auth::ExternalPrincipal principal{std::string(call.parameter("principalId")),
                                          call.path("userId"), std::move(settings)};
  expect_done(context.directory.external_principals.create(principal));
  return empty_response(201);
}
JsonHandler create_external_principal() {
  return json_handler<json::parse_principal_settings, create_external_principal>;
}

http::Response delete_external_principal(const Context& context, Call& call) {
  expect_removed(context.directory.external_principals.remove(call.path("userId"),
                                                              call.parameter("principalId")),
                 "external principal");
  return empty_response(204);
}

http::Response list_external_principals(const Context& context, Call& call) {
  require_user(context, call);
  return json_response(200, json::list_of(context.directory.external_principals.list(
                                              call.path("userId"), call.page()),
                                          kBytesPerKey, json::write_principal));
}

http::Response get_external_principal(const Context& context, Call& call) {
  return json_response(
      200, json::principal_body(expect_found(
               context.directory.external_principals.find(call.parameter("principalId")),
               "external principal")));
}

}  // namespace tarn::api
