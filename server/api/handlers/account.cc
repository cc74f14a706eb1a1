#include "server/api/json/account.h"

#include <chrono>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "server/api/credentials.h"
#include "server/api/handlers/handlers.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

std::string session_cookie(const auth::LoginToken& token, bool tls) {
  return str_cat(kSessionCookie, "=", token.token,
                 "; Path=/; Expires=", to_http_date(token.expires), "; HttpOnly; SameSite=Lax",
                 tls ? "; Secure" : "");
}

}  // namespace

http::Response get_setup_state(const Context&, Call&) {
  return json_response(200, json::setup_state_body());
}

http::Response setup(const Context&, Call&) {
  // The first start makes the administrator, so there is never anything left to set up.
  throw Error(ErrorCode::kAlreadyExists, "already_initialized",
              "this installation is already initialized");
}

http::Response setup_comm_prefs(const Context&, Call&) { return empty_response(200); }

http::Response login(const Context& context, Call& call) {
  const json::Login given = json::parse_login(call.body->root());
  const auto user =
      context.authenticator.check_password(given.access_key_id, given.secret_access_key);
  if (!user) throw_unauthenticated();
  const auth::LoginToken token = context.authenticator.issue_token(*user);
  http::Response response = json_response(200, json::login_body(token));
  response.headers.add("Set-Cookie", session_cookie(token, call.request.tls));
  return response;
}

http::Response get_current_user(const Context&, Call& call) {
  return json_response(200, json::current_user_body(call.user));
}

http::Response list_users(const Context&, Call& call) {
  // Until further users can be made, whoever is authenticated is all there is.
  return json_response(200, json::user_list_body(std::span(&call.user, 1)));
}

http::Response get_user(const Context&, Call& call) {
  if (call.path("userId") != call.user.name) throw Error(ErrorCode::kNotFound, "user not found");
  return json_response(200, json::user_body(call.user));
}

http::Response get_auth_capabilities(const Context&, Call&) {
  return json_response(200, json::capabilities_body());
}

}  // namespace tarn::api
