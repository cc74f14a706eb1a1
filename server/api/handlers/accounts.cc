#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/auth/built_in.h"
#include "core/auth/explanation.h"
#include "core/auth/resource.h"
#include "core/auth/users.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/http/message.h"
#include "server/api/call.h"
#include "server/api/credentials.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/account.h"
#include "server/api/json/writer.h"
#include "server/api/presigner.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response get_setup_state(const Context& context, Call&) {
  return json_response(200, json::setup_state_body(context.directory.has_users()));
}

namespace {

// Responses for results of the account directory.

/// Throws not_found "<what> not found".
[[noreturn]] void throw_missing(std::string_view what) {
  throw Error(ErrorCode::kNotFound, str_cat(what, " not found"));
}

template <typename T>
T expect_found(std::optional<T> found, std::string_view what) {
  if (!found) throw_missing(what);
  return *std::move(found);
}

void expect_removed(bool removed, std::string_view what) {
  if (!removed) throw_missing(what);
}

/// Throws already_exists "Already exists", or not_found for the user, group or policy.
void expect_done(auth::Outcome outcome) {
  switch (outcome) {
    case auth::Outcome::kDone:
      return;
    case auth::Outcome::kExists:
      throw Error(ErrorCode::kAlreadyExists, "Already exists");
    case auth::Outcome::kNoUser:
      throw_missing("user");
    case auth::Outcome::kNoGroup:
      throw_missing("group");
    case auth::Outcome::kNoPolicy:
      throw_missing("policy");
  }
  check_failed("Outcome", __FILE__, __LINE__);
}

/// 201 and 204 for changes of permissions, which take effect on this server immediately. Throw as
/// expect_done and expect_removed.
http::Response granted(const Context& context, auth::Outcome outcome) {
  expect_done(outcome);
  context.authenticator.forget();
  return empty_response(201);
}

http::Response revoked(const Context& context, bool removed, std::string_view what) {
  expect_removed(removed, what);
  context.authenticator.forget();
  return empty_response(204);
}

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

http::Response setup_comm_prefs(const Context& context, Call&, json::Checked) {
  if (!context.directory.has_users()) {
    throw Error(ErrorCode::kPreconditionFailed, reason::kNotInitialized,
                "this installation is not initialized yet");
  }
  return empty_response(200);
}

http::Response login(const Context& context, Call& call, json::Login given) {
  const auth::Principal caller = caller_of_pair(
      context.authenticator, {given.access_key_id, given.secret_access_key}, call.request.peer);
  const auth::LoginToken token = context.authenticator.issue_token(caller);
  http::Response response = json_response(200, json::login_body(token));
  response.headers.add("Set-Cookie", session_cookie(token, call.request.tls));
  return response;
}

http::Response get_current_user(const Context&, Call& call) {
  return json_response(200, json::current_user_body(call.caller.user));
}

http::Response get_auth_capabilities(const Context&, Call&) {
  return json_response(200, json::capabilities_body());
}

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

namespace {

constexpr size_t kBytesPerGroup = 128;

auth::Group require_group(const Context& context, const Call& call) {
  return expect_found(context.directory.groups.find(call.path("groupId")), "group");
}

}  // namespace

http::Response list_groups(const Context& context, Call& call) {
  return json_response(200, json::list_of(context.directory.groups.list(call.page()),
                                          kBytesPerGroup, json::write_group));
}

http::Response create_group(const Context& context, Call&, json::CreateGroup given) {
  const auth::Group group{std::move(given.id), std::move(given.description),
                          context.engine.clock.now()};
  expect_done(context.directory.groups.create(group));
  return json_response(201, json::group_body(group));
}

http::Response get_group(const Context& context, Call& call) {
  return json_response(200, json::group_body(require_group(context, call)));
}

http::Response delete_group(const Context& context, Call& call) {
  return revoked(context, context.directory.groups.remove(call.path("groupId")), "group");
}

http::Response list_group_members(const Context& context, Call& call) {
  require_group(context, call);
  return json_response(
      200, json::list_of(context.directory.users.members(call.path("groupId"), call.page()),
                         kBytesPerGroup, json::write_user));
}

http::Response add_group_member(const Context& context, Call& call) {
  return granted(context,
                 context.directory.groups.add_member(call.path("groupId"), call.path("userId")));
}

http::Response remove_group_member(const Context& context, Call& call) {
  return revoked(context,
                 context.directory.groups.remove_member(call.path("groupId"), call.path("userId")),
                 "group membership");
}

http::Response list_group_policies(const Context& context, Call& call) {
  constexpr size_t kBytesPerPolicy = 256;
  require_group(context, call);
  return json_response(
      200, json::list_of(context.directory.policies.of_group(call.path("groupId"), call.page()),
                         kBytesPerPolicy, json::write_policy));
}

http::Response attach_policy_to_group(const Context& context, Call& call) {
  return granted(context, context.directory.policies.attach_to_group(call.path("groupId"),
                                                                     call.path("policyId")));
}

http::Response detach_policy_from_group(const Context& context, Call& call) {
  return revoked(
      context,
      context.directory.policies.detach_from_group(call.path("groupId"), call.path("policyId")),
      "policy");
}

http::Response set_group_acl(const Context& context, Call& call, std::string level) {
  const std::vector<std::string> policies = auth::policies_of_level(level);
  if (policies.empty()) {
    throw_invalid("permission: must be one of Read, Write, Super, Admin");
  }
  return granted(context, context.directory.policies.set_of_group(call.path("groupId"), policies));
}

http::Response get_group_acl(const Context& context, Call& call) {
  require_group(context, call);
  std::vector<std::string> names;
  for (const auth::Policy& policy :
       context.directory.policies.of_group(call.path("groupId"), {}).items) {
    names.push_back(policy.name);
  }
  if (const auto level = auth::level_of_policies(std::move(names))) {
    return json_response(200, json::acl_body(*level));
  }
  http::Response response = json_response(404, json::no_acl_body(call.request.id));
  response.headers.add("X-Tarn-Error", "no_acl");
  return response;
}

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

http::Response delete_policy(const Context& context, Call& call) {
  return revoked(context, context.directory.policies.remove(call.path("policyId")), "policy");
}

// Access keys and external principals of users.

namespace {

constexpr size_t kBytesPerKey = 96;

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

http::Response create_limited_key(const Context& context, Call& call, auth::KeyLimits limits) {
  return json_response(201, json::new_key_body(expect_found(
                                context.directory.credentials.create(
                                    call.path("userId"), context.engine.clock.now(), limits),
                                "user")));
}

// Invitations, by which users make their own access keys.

http::Response create_invitation(const Context& context, Call& call) {
  const auth::Invitation made =
      expect_found(context.directory.invitations.create(call.path("userId"), call.caller.user,
                                                        call.request.peer),
                   "user");
  return json_response(201, json::invitation_body(made, str_cat(base_url(context, call.request),
                                                                "/invitation#", made.token)));
}

http::Response list_invitations(const Context& context, Call& call) {
  require_user(context, call);
  constexpr size_t kBytesPerInvitation = 64;
  Page<auth::OpenInvitation> page;
  if (auto open = context.directory.invitations.find(call.path("userId"))) {
    page.items.push_back(*std::move(open));
  }
  return json_response(200, json::list_of(page, kBytesPerInvitation, json::write_open_invitation));
}

http::Response withdraw_invitation(const Context& context, Call& call) {
  expect_removed(context.directory.invitations.withdraw(call.path("userId")), "open invitation");
  return empty_response(204);
}

http::Response accept_invitation(const Context& context, Call& call, std::string token) {
  return json_response(
      201, json::accepted_body(context.directory.invitations.accept(
               token, context.authenticator, call.request.peer, context.engine.clock.now())));
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

namespace {

std::vector<auth::Policy> effective_policies(const Context& context, const std::string& user) {
  std::vector<auth::Policy> out;
  PageStart start;
  while (true) {
    auto page = context.directory.policies.of_user(user, /*effective=*/true, start);
    const bool more = page.has_more;
    start.after = page.next;
    for (auth::Policy& policy : page.items) out.push_back(std::move(policy));
    if (!more) return out;
  }
}

}  // namespace

http::Response check_permissions(const Context& context, Call& call, json::PermissionChecks given) {
  if (given.user.empty()) given.user = call.caller.user.name;
  expect_found(context.directory.users.find(given.user), "user");
  const auth::ExplainedPermissions permissions(given.user, effective_policies(context, given.user));
  std::vector<auth::Explanation> explanations;
  for (const json::PermissionCheck& check : given.checks) {
    explanations.push_back(permissions.explain(check.action, check.resource, call.request.peer));
    // The policies allow it, and the key does not.
    if (given.user == call.caller.user.name && !call.caller.limits.empty() &&
        !call.caller.permissions->allows(check.action, check.resource, call.request.peer)) {
      explanations.back().decision = auth::Permissions::Decision::kDenied;
      explanations.back().policy.clear();
    }
  }
  // Everybody may know what they may do; the policies of a user can be read with this permission.
  const bool names = call.caller.permissions->allows(auth::Action::kReadUser,
                                                     auth::user_arn(given.user), call.request.peer);
  return json_response(200, json::permission_checks_body(given, explanations, names));
}

}  // namespace tarn::api
