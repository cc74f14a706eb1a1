#include "core/branch/aliases.h"

#include "core/base/str_cat.h"
#include "server/api/handlers/expectation.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/ref.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerAlias = 150;
constexpr size_t kBytesPerAliasChange = 400;

AliasName alias_of(const Call& call) { return parse_alias_name(call.path("alias")); }

/// Meaning of the parameter `expect`, which may be empty: any position.
AliasExpectation expectation_of(const Call& call) {
  if (call.parameter("expect").empty()) return {};
  return {.any = false, .commit = expected_commit(call)};
}

}  // namespace

http::Response list_aliases(const Context& context, Call& call) {
  const Page<Alias> page =
      branch::list_aliases(context.engine, repository_of(context, call), call.parameter("prefix"),
                           call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerAlias, json::write_alias));
}

http::Response get_alias(const Context& context, Call& call) {
  return json_response(200, json::alias_body(branch::get_alias(
                                context.engine, repository_of(context, call), alias_of(call))));
}

http::Response list_alias_changes(const Context& context, Call& call) {
  const Page<AliasChange> page =
      branch::list_alias_changes(context.engine, repository_of(context, call), alias_of(call),
                                 call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerAliasChange, json::write_alias_change));
}

http::Response set_alias(const Context& context, Call& call, json::SetAlias given) {
  call.require_permission_on_source({given.to}, str_cat("@", call.path("alias")));
  const branch::AliasOutcome outcome =
      branch::set_alias(context.engine, repository_of(context, call),
                        {.name = alias_of(call),
                         .expected = given.expected,
                         .reason = given.reason,
                         .actor = call.caller.user.name},
                        given.to);
  return json_response(200, json::set_alias_body(outcome.alias, outcome.changed));
}
JsonHandler set_alias() { return json_handler<json::parse_set_alias, set_alias>; }

http::Response remove_alias(const Context& context, Call& call) {
  branch::remove_alias(context.engine, repository_of(context, call),
                       {.name = alias_of(call),
                        .expected = expectation_of(call),
                        .reason = std::string(call.parameter("reason")),
                        .actor = call.caller.user.name});
  return empty_response(204);
}

}  // namespace tarn::api
