#include "server/api/json/tag_rule.h"

#include "server/api/json/branch_rule.h"

namespace tarn::api::json {
namespace {

bool flag_or_true(const Value& rule, std::string_view member) {
  const std::optional<Value> flag = rule.find(member);
  return !flag || flag->boolean();
}

}  // namespace

std::string tag_rules_body(const std::vector<TagRule>& rules) {
  Writer out;
  out.begin_array();
  for (const TagRule& rule : rules) {
    out.begin_object();
    out.boolean("create", rule.may_create);
    out.boolean("delete", rule.may_delete);
    out.text("pattern", rule.pattern.pattern());
    out.end_object();
  }
  out.end_array();
  return std::move(out).take();
}

std::vector<TagRule> parse_tag_rules(const Value& body) {
  std::vector<TagRule> out;
  for (const Value& rule : body.items()) {
    out.push_back({.pattern = parse_rule_pattern(rule),
                   .may_create = flag_or_true(rule, "create"),
                   .may_delete = flag_or_true(rule, "delete")});
  }
  return out;
}

}  // namespace tarn::api::json
