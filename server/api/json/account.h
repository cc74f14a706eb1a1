// JSON bodies of users, logins and first setup.
#pragma once

#include <string>

#include "core/auth/authenticator.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// A body that is validated and not used.
struct Checked {};

struct Login {
  std::string access_key_id;
  std::string secret_access_key;
};
Login parse_login(const Value& body);
/// CommPrefsInput.
Checked check_communication_preferences(const Value& body);
/// Setup: the first user, with keys of its own when both are given.
struct Setup {
  std::string username;
  std::string access_key_id;
  std::string secret_access_key;
};
Setup parse_setup(const Value& body);
struct CreateUser {
  std::string id;
  bool invite = false;
};
CreateUser parse_create_user(const Value& body);
/// StatsEventsList.
Checked check_statistics(const Value& body);

std::string login_body(const auth::LoginToken& token);
std::string user_body(const auth::User& user);
std::string current_user_body(const auth::User& user);
void write_user(Writer& out, const auth::User& user);
std::string setup_state_body(bool initialized);
std::string capabilities_body();

}  // namespace tarn::api::json
