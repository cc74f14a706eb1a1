#include "server/api/json/permission_check.h"

#include <optional>
#include <utility>

#include "core/base/str_cat.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {
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

}  // namespace tarn::api::json
