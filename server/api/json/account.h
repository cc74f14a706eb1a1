// JSON bodies of users, groups, policies and credentials.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/auth/authenticator.h"
#include "core/auth/credentials.h"
#include "core/auth/explanation.h"
#include "core/auth/external_principals.h"
#include "core/auth/groups.h"
#include "core/auth/invitations.h"
#include "core/auth/policy.h"
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

// JSON bodies of groups and their access levels.

struct CreateGroup {
  std::string id;
  std::string description;
};
CreateGroup parse_create_group(const Value& body);
/// ACL: the access level; not validated.
std::string parse_acl(const Value& body);

void write_group(Writer& out, const auth::Group& group);
std::string group_body(const auth::Group& group);
std::string acl_body(std::string_view level);
/// The 404 for a group whose policies match no access level.
std::string no_acl_body(std::string_view request_id);

// JSON bodies of access policies.

/// Checks the shape only; core/auth validates the statements.
auth::Policy parse_policy(const Value& body);
/// A statement's resource in the wire format: one pattern, or a JSON array of patterns in a string.
std::vector<std::string> parse_resources(std::string_view text);

void write_policy(Writer& out, const auth::Policy& policy);
std::string policy_body(const auth::Policy& policy);

// JSON bodies of permission checks.

constexpr size_t kPermissionChecksMax = 100;

struct PermissionCheck {
  auth::Action action;
  std::string resource;
};

/// PermissionChecks.
struct PermissionChecks {
  std::string user;  ///< "" = the caller
  std::vector<PermissionCheck> checks;
};
PermissionChecks parse_permission_checks(const Value& body);

/// `explanations` belong to the checks in the same order; without `names` they do not say which
/// statements decided.
std::string permission_checks_body(const PermissionChecks& checked,
                                   const std::vector<auth::Explanation>& explanations, bool names);

// JSON bodies of access keys and external principals.

/// The settings of a principal: objects whose values are strings.
std::vector<std::map<std::string, std::string>> parse_principal_settings(const Value& body);

void write_key(Writer& out, const auth::KeyRow& key);
std::string key_body(const auth::KeyRow& key);
/// The only response that contains the secret.
/// {"life_seconds", "statement"}, one of which is there.
auth::KeyLimits parse_key_limits(const Value& body);
std::string new_key_body(const auth::NewKey& key);
/// `url` is the link, which has the token.
std::string invitation_body(const auth::Invitation& invitation, std::string_view url);
void write_open_invitation(Writer& out, const auth::OpenInvitation& invitation);
/// The token.
std::string parse_acceptance(const Value& body);
std::string accepted_body(const auth::AcceptedInvitation& accepted);
void write_principal(Writer& out, const auth::ExternalPrincipal& principal);
std::string principal_body(const auth::ExternalPrincipal& principal);

}  // namespace tarn::api::json
