#include "server/api/json/account.h"

#include <chrono>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "server/api/credentials.h"
#include "server/api/handlers/handlers.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response get_setup_state(const Context& context, Call&) {
  return json_response(200, json::setup_state_body(context.directory.has_users()));
}

namespace {

/// The first administrator has every permission, so only the operator, who has the token, may
/// create that user.
void check_setup_token(const Context& context, const Call& call) {
  const std::string token = claimed_credentials(call.request).token;
  if (constant_time_equal(token, context.setup_token)) return;
  throw Error(ErrorCode::kUnauthenticated, reason::kSetupTokenNeeded,
              "making the first administrator needs the setup token: send the header "
              "\"Authorization: Bearer TOKEN\", with the token from the file setup-token in the "
              "server's data directory or from TARN_SETUP_TOKEN");
}

}  // namespace

http::Response setup(const Context& context, Call& call, json::Setup given) {
  // Without a setup token a user already exists, or the first start creates one.
  if (!context.setup_token.empty() && !context.directory.has_users()) {
    check_setup_token(context, call);
    const auto made = context.directory.ensure_admin(
        given.username, given.access_key_id, given.secret_access_key, context.engine.clock.now());
    if (made) return json_response(200, json::new_key_body(*made));
  }
  throw Error(ErrorCode::kAlreadyExists, reason::kAlreadyInitialized,
              "this installation is already initialized");
}
JsonHandler setup() { return json_handler<json::parse_setup, setup>; }

http::Response setup_comm_prefs(const Context& context, Call&, json::Checked) {
  if (!context.directory.has_users()) {
    throw Error(ErrorCode::kPreconditionFailed, reason::kNotInitialized,
                "this installation is not initialized yet");
  }
  return empty_response(200);
}
JsonHandler setup_comm_prefs() {
  return json_handler<json::check_communication_preferences, setup_comm_prefs>;
}

http::Response login(const Context& context, Call& call, json::Login given) {
  const auth::Principal caller = caller_of_pair(
      context.authenticator, {given.access_key_id, given.secret_access_key}, call.request.peer);
  const auth::LoginToken token = context.authenticator.issue_token(caller);
  http::Response response = json_response(200, json::login_body(token));
  response.headers.add("Set-Cookie", session_cookie(token, call.request.tls));
  return response;
}
JsonHandler login() { return json_handler<json::parse_login, login>; }

http::Response get_current_user(const Context&, Call& call) {
  return json_response(200, json::current_user_body(call.caller.user));
}

http::Response get_auth_capabilities(const Context&, Call&) {
  return json_response(200, json::capabilities_body());
}

}  // namespace tarn::api
