#include "core/auth/built_in.h"
#include "core/base/error.h"
#include "server/api/handlers/handlers.h"
#include "server/api/handlers/outcome.h"
#include "server/api/json/account.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
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
JsonHandler create_group() { return json_handler<json::parse_create_group, create_group>; }

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
JsonHandler set_group_acl() { return json_handler<json::parse_acl, set_group_acl>; }

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

}  // namespace tarn::api
