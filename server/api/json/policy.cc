#include "server/api/json/policy.h"

#include "core/base/error.h"

namespace tarn::api::json {
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

void write_policy(Writer& out, const auth::Policy& policy) {
  out.begin_object();
  out.number("creation_date", to_seconds(policy.created));
  out.text("id", policy.name);
  out.key("statement");
  out.begin_array();
  for (const auth::Statement& statement : policy.statements) {
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
  out.end_object();
}

std::string policy_body(const auth::Policy& policy) {
  Writer out;
  write_policy(out, policy);
  return std::move(out).take();
}

}  // namespace tarn::api::json
