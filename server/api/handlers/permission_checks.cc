#include <string>
#include <vector>

#include "core/auth/explanation.h"
#include "core/auth/resource.h"
#include "server/api/handlers/handlers.h"
#include "server/api/handlers/outcome.h"
#include "server/api/json/account.h"
#include "server/api/response.h"

namespace tarn::api {
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
  }
  // Everybody may know what they may do; the policies of a user can be read with this permission.
  const bool names = call.caller.permissions->allows(auth::Action::kReadUser,
                                                     auth::user_arn(given.user), call.request.peer);
  return json_response(200, json::permission_checks_body(given, explanations, names));
}
JsonHandler check_permissions() {
  return json_handler<json::parse_permission_checks, check_permissions>;
}

}  // namespace tarn::api
