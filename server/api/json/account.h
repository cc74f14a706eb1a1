// Bodies about users, logins and first setup.
#pragma once

#include <span>
#include <string>

#include "core/auth/authenticator.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

struct Login {
  std::string access_key_id;
  std::string secret_access_key;
};
Login parse_login(const Value& body);
/// Setup: only its shape is checked.
void check_setup(const Value& body);
/// StatsEventsList: only its shape is checked.
void check_statistics(const Value& body);

std::string login_body(const auth::LoginToken& token);
std::string user_body(const auth::User& user);
std::string current_user_body(const auth::User& user);
std::string user_list_body(std::span<const auth::User> users);
std::string setup_state_body();
std::string capabilities_body();

}  // namespace tarn::api::json
