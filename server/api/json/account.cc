#include "server/api/json/account.h"

#include "server/api/json/list.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_user(Writer& out, const auth::User& user) {
  out.begin_object();
  out.number("creation_date", to_seconds(user.created));
  out.text("email", user.email);
  out.text("friendly_name", user.friendly_name);
  out.text("id", user.name);
  out.end_object();
}

Login parse_login(const Value& body) {
  return {.access_key_id = body.at("access_key_id").text(),
          .secret_access_key = body.at("secret_access_key").text()};
}

namespace {

/// Optional contact details of users: validated, not stored.
void check_contact(const Value& body) {
  for (const std::string_view name : {"firstName", "lastName", "email", "companyName", "country"}) {
    body.find_text(name);
  }
  for (const std::string_view name : {"featureUpdates", "securityUpdates"}) body.flag(name);
}

}  // namespace

Checked check_communication_preferences(const Value& body) {
  check_contact(body);
  for (const std::string_view name : {"featureUpdates", "securityUpdates"}) body.at(name);
  return {};
}

Setup parse_setup(const Value& body) {
  check_contact(body);
  Setup out{.username = body.at("username").text(), .access_key_id = {}, .secret_access_key = {}};
  if (out.username.empty()) body.at("username").fail("must not be empty");
  if (const std::optional<Value> key = body.find("key")) {
    out.access_key_id = key->at("access_key_id").text();
    out.secret_access_key = key->at("secret_access_key").text();
    if (out.secret_access_key.empty()) key->at("secret_access_key").fail("must not be empty");
  }
  return out;
}

CreateUser parse_create_user(const Value& body) {
  return {.id = body.at("id").text(), .invite = body.flag("invite_user")};
}

Checked check_statistics(const Value& body) {
  for (const Value& event : body.at("events").items()) {
    for (const std::string_view name : {"class", "name"}) {
      if (event.at(name).text().empty()) event.at(name).fail("is required");
    }
    event.at("count").integer(0, INT64_MAX);
  }
  return {};
}

std::string login_body(const auth::LoginToken& token) {
  Writer out;
  out.begin_object();
  out.text("token", token.token);
  out.number("token_expiration", to_seconds(token.expires));
  out.end_object();
  return std::move(out).take();
}

std::string user_body(const auth::User& user) {
  Writer out;
  write_user(out, user);
  return std::move(out).take();
}

std::string current_user_body(const auth::User& user) {
  Writer out;
  out.begin_object();
  out.key("user");
  write_user(out, user);
  out.end_object();
  return std::move(out).take();
}

std::string setup_state_body(bool initialized) {
  Writer out;
  out.begin_object();
  out.boolean("comm_prefs_missing", false);
  out.key("login_config");
  out.begin_object();
  out.text("RBAC", "internal");
  out.key("login_cookie_names");
  out.begin_array();
  out.text("internal_auth_session");
  out.end_array();
  out.text("login_failed_message", "The access key or its secret is wrong.");
  out.text("login_url", "");
  out.text("login_url_method", "none");
  out.text("logout_url", "");
  out.end_object();
  out.text("state", initialized ? "initialized" : "not_initialized");
  out.end_object();
  return std::move(out).take();
}

std::string capabilities_body() {
  Writer out;
  out.begin_object();
  out.boolean("invite_user", false);
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json
