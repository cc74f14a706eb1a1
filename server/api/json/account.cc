#include "server/api/json/account.h"

#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/str_cat.h"
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

CreateGroup parse_create_group(const Value& body) {
  return {.id = body.at("id").text(), .description = body.text_or_empty("description")};
}

std::string parse_acl(const Value& body) { return body.at("permission").text(); }

void write_group(Writer& out, const auth::Group& group) {
  out.begin_object();
  out.number("creation_date", to_seconds(group.created));
  out.text("description", group.description);
  out.text("id", group.name);
  out.text("name", group.name);
  out.end_object();
}

std::string group_body(const auth::Group& group) {
  Writer out;
  write_group(out, group);
  return std::move(out).take();
}

std::string acl_body(std::string_view level) {
  Writer out;
  out.begin_object();
  out.text("permission", level);
  out.end_object();
  return std::move(out).take();
}

std::string no_acl_body(std::string_view request_id) {
  Writer out;
  out.begin_object();
  out.text("message", "the group's policies are not one access level");
  out.boolean("no_acl", true);
  out.text("code", "no_acl");
  out.text("request_id", request_id);
  out.end_object();
  return std::move(out).take();
}

namespace {

std::string format_resources(const std::vector<std::string>& resources) {
  if (resources.size() == 1) return resources.front();
  Writer out;
  out.begin_array();
  for (const std::string& resource : resources) out.text(resource);
  out.end_array();
  std::string text = std::move(out).take();
  text.pop_back();  // the newline
  return text;
}

auth::Statement parse_statement(const Value& body) {
  auth::Statement out;
  const std::string effect = body.at("effect").text();
  if (effect != "allow" && effect != "deny") {
    body.at("effect").fail("must be \"allow\" or \"deny\"");
  }
  out.effect = effect == "deny" ? auth::Statement::Effect::kDeny : auth::Statement::Effect::kAllow;
  out.actions = body.at("action").texts();
  out.resources = parse_resources(body.at("resource").text());
  if (const std::optional<Value> condition = body.find("condition")) {
    for (const auto& [op, fields] : condition->members()) {
      for (const auto& [field, values] : fields.members()) {
        out.conditions[op][field] = values.texts();
      }
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> parse_resources(std::string_view text) {
  if (!text.starts_with('[')) return {std::string(text)};
  try {
    return Document::parse(text).root().texts();
  } catch (const Error&) {
    throw_invalid(
        "request body: a statement's resource that starts with '[' must be a JSON "
        "array of strings");
  }
}

auth::Policy parse_policy(const Value& body) {
  auth::Policy out;
  out.name = body.at("id").text();
  if (const std::optional<Value> date = body.find_number("creation_date")) date->integer();
  for (const Value& statement : body.at("statement").items()) {
    out.statements.push_back(parse_statement(statement));
  }
  return out;
}

namespace {

void write_statements(Writer& out, const std::vector<auth::Statement>& statements) {
  out.key("statement");
  out.begin_array();
  for (const auth::Statement& statement : statements) {
    out.begin_object();
    out.key("action");
    out.begin_array();
    for (const std::string& action : statement.actions) out.text(action);
    out.end_array();
    if (!statement.conditions.empty()) {
      out.key("condition");
      out.begin_object();
      for (const auto& [op, fields] : statement.conditions) {
        out.key(op);
        out.begin_object();
        for (const auto& [field, values] : fields) {
          out.key(field);
          out.begin_array();
          for (const std::string& value : values) out.text(value);
          out.end_array();
        }
        out.end_object();
      }
      out.end_object();
    }
    out.text("effect", statement.effect == auth::Statement::Effect::kDeny ? "deny" : "allow");
    out.text("resource", format_resources(statement.resources));
    out.end_object();
  }
  out.end_array();
}

}  // namespace

void write_policy(Writer& out, const auth::Policy& policy) {
  out.begin_object();
  out.number("creation_date", to_seconds(policy.created));
  out.text("id", policy.name);
  write_statements(out, policy.statements);
  out.end_object();
}

std::string policy_body(const auth::Policy& policy) {
  Writer out;
  write_policy(out, policy);
  return std::move(out).take();
}

namespace {

std::string_view name_of(auth::Permissions::Decision decision) {
  switch (decision) {
    case auth::Permissions::Decision::kAllowed:
      return "allowed";
    case auth::Permissions::Decision::kDenied:
      return "denied";
    case auth::Permissions::Decision::kNotAllowed:
      break;
  }
  return "not_allowed";
}

PermissionCheck parse_check(const Value& body) {
  const std::string name = body.at("action").text();
  const std::optional<auth::Action> action = auth::find_action(name);
  if (!action) {
    body.at("action").fail(str_cat(
        "\"", name, "\" is no action; docs/rest-compatibility.md lists those of operations"));
  }
  PermissionCheck check{.action = *action, .resource = body.at("resource").text()};
  if (check.resource.empty() || check.resource.size() > auth::kPatternBytesMax) {
    body.at("resource").fail(str_cat("must have 1 to ", auth::kPatternBytesMax, " bytes"));
  }
  return check;
}

}  // namespace

PermissionChecks parse_permission_checks(const Value& body) {
  PermissionChecks out{.user = body.text_or_empty("user"), .checks = {}};
  const std::vector<Value> checks = body.at("checks").items();
  if (checks.empty() || checks.size() > kPermissionChecksMax) {
    body.at("checks").fail(str_cat("must have 1 to ", kPermissionChecksMax, " elements"));
  }
  for (const Value& check : checks) out.checks.push_back(parse_check(check));
  return out;
}

std::string permission_checks_body(const PermissionChecks& checked,
                                   const std::vector<auth::Explanation>& explanations, bool names) {
  Writer out;
  out.begin_object();
  out.key("results");
  out.begin_array();
  for (size_t i = 0; i < explanations.size(); ++i) {
    const auth::Explanation& explanation = explanations[i];
    out.begin_object();
    out.text("action", auth::name_of(checked.checks[i].action));
    out.boolean("allowed", explanation.decision == auth::Permissions::Decision::kAllowed);
    out.text("decision", name_of(explanation.decision));
    if (names && !explanation.policy.empty()) {
      out.text("policy", explanation.policy);
      out.number("statement", static_cast<int64_t>(explanation.statement));
    }
    out.text("resource", checked.checks[i].resource);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

std::vector<std::map<std::string, std::string>> parse_principal_settings(const Value& body) {
  std::vector<std::map<std::string, std::string>> out;
  if (const std::optional<Value> settings = body.find("settings")) {
    for (const Value& item : settings->items()) out.push_back(item.text_map());
  }
  return out;
}

void write_key(Writer& out, const auth::KeyRow& key) {
  out.begin_object();
  out.text("access_key_id", key.id);
  out.number("creation_date", to_seconds(key.created));
  if (key.expires) out.number("expires_at", to_seconds(*key.expires));
  if (!key.limits.empty()) write_statements(out, key.limits);
  out.end_object();
}

auth::KeyLimits parse_key_limits(const Value& body) {
  auth::KeyLimits out;
  if (const auto life = body.find_number("life_seconds")) {
    out.life =
        std::chrono::seconds{life->integer(1, std::chrono::seconds(auth::kKeyLifeMax).count())};
  }
  if (const auto statements = body.find("statement")) {
    for (const Value& statement : statements->items()) {
      out.statements.push_back(parse_statement(statement));
    }
    if (out.statements.empty()) statements->fail("must not be empty");
  }
  if (!out.life && out.statements.empty()) {
    throw_invalid("limits of a key: give life_seconds, statement or both");
  }
  return out;
}

std::string key_body(const auth::KeyRow& key) {
  Writer out;
  write_key(out, key);
  return std::move(out).take();
}

namespace {

void write_new_key(Writer& out, const auth::NewKey& key) {
  out.text("access_key_id", key.id);
  out.number("creation_date", to_seconds(key.created));
  out.text("secret_access_key", key.secret);
  if (key.expires) out.number("expires_at", to_seconds(*key.expires));
}

}  // namespace

std::string new_key_body(const auth::NewKey& key) {
  Writer out;
  out.begin_object();
  write_new_key(out, key);
  out.end_object();
  return std::move(out).take();
}

std::string invitation_body(const auth::Invitation& invitation, std::string_view url) {
  Writer out;
  out.begin_object();
  out.number("expires_at", to_seconds(invitation.expires));
  out.text("token", invitation.token);
  out.text("url", url);
  out.end_object();
  return std::move(out).take();
}

void write_open_invitation(Writer& out, const auth::OpenInvitation& invitation) {
  out.begin_object();
  out.number("expires_at", to_seconds(invitation.expires));
  out.text("made_by", invitation.made_by);
  out.end_object();
}

std::string parse_acceptance(const Value& body) { return body.at("token").text(); }

std::string accepted_body(const auth::AcceptedInvitation& accepted) {
  Writer out;
  out.begin_object();
  write_new_key(out, accepted.key);
  out.text("user_id", accepted.user);
  out.end_object();
  return std::move(out).take();
}

void write_principal(Writer& out, const auth::ExternalPrincipal& principal) {
  out.begin_object();
  out.text("id", principal.id);
  // lakectl cannot read an empty list.
  if (!principal.settings.empty()) {
    out.key("settings");
    out.begin_array();
    for (const auto& item : principal.settings) out.text_map(item);
    out.end_array();
  }
  out.text("user_id", principal.user);
  out.end_object();
}

std::string principal_body(const auth::ExternalPrincipal& principal) {
  Writer out;
  write_principal(out, principal);
  return std::move(out).take();
}

}  // namespace tarn::api::json
