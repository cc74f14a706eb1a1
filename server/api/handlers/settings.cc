#include "core/branch/settings.h"

#include "core/base/error.h"
#include "server/api/handlers/handlers.h"
#include "server/api/handlers/tagged.h"
#include "server/api/json/repository.h"
#include "server/api/response.h"

namespace tarn::api {
http::Response get_protection_rules(const Context& context, Call& call) {
  auto rules = branch::get_branch_rules(context.engine, repository_of(context, call));
  return tagged_response(json::branch_rules_body(rules.value), std::move(rules.etag));
}

http::Response set_protection_rules(const Context& context, Call& call,
                                    std::vector<BranchRule> rules) {
  branch::set_branch_rules(context.engine, repository_of(context, call), rules, write_of(call));
  return empty_response(204);
}
JsonHandler set_protection_rules() {
  return json_handler<json::parse_branch_rules, set_protection_rules>;
}

http::Response add_protection_rule(const Context& context, Call& call, Glob pattern) {
  branch::add_branch_rule(context.engine, repository_of(context, call), pattern);
  return empty_response(204);
}
JsonHandler add_protection_rule() {
  return json_handler<json::parse_rule_pattern, add_protection_rule>;
}

http::Response remove_protection_rule(const Context& context, Call& call, Glob pattern) {
  branch::remove_branch_rule(context.engine, repository_of(context, call), pattern.pattern());
  return empty_response(204);
}
JsonHandler remove_protection_rule() {
  return json_handler<json::parse_rule_pattern, remove_protection_rule>;
}

http::Response get_tag_rules(const Context& context, Call& call) {
  auto rules = branch::get_tag_rules(context.engine, repository_of(context, call));
  return tagged_response(json::tag_rules_body(rules.value), std::move(rules.etag));
}

http::Response set_tag_rules(const Context& context, Call& call, std::vector<TagRule> rules) {
  branch::set_tag_rules(context.engine, repository_of(context, call), rules, write_of(call));
  return empty_response(204);
}
JsonHandler set_tag_rules() { return json_handler<json::parse_tag_rules, set_tag_rules>; }

http::Response get_collection_rules(const Context& context, Call& call) {
  const auto rules = branch::get_collection_rules(context.engine, repository_of(context, call));
  if (!rules && call.flag("optional")) return empty_response(204);
  if (!rules) throw Error(ErrorCode::kNotFound, "not found");
  return json_response(200, json::collection_rules_body(*rules));
}

http::Response set_collection_rules(const Context& context, Call& call, CollectionRules rules) {
  branch::set_collection_rules(context.engine, repository_of(context, call), rules);
  return empty_response(204);
}
JsonHandler set_collection_rules() {
  return json_handler<json::parse_collection_rules, set_collection_rules>;
}

http::Response remove_collection_rules(const Context& context, Call& call) {
  branch::remove_collection_rules(context.engine, repository_of(context, call));
  return empty_response(204);
}

http::Response allow_settings(const Context& context, Call& call) {
  repository_of(context, call);
  return empty_response(204);
}

}  // namespace tarn::api
