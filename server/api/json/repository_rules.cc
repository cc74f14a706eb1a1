#include "server/api/json/repository_rules.h"

#include <optional>
#include <set>

#include "core/base/str_cat.h"
#include "core/model/names.h"

namespace tarn::api::json {
namespace {

template <typename Name>
void write_names(Writer& out, std::string_view member, const std::optional<std::set<Name>>& names) {
  if (!names) return;
  out.key(member);
  out.begin_array();
  for (const Name name : *names) out.text(name_of(name));
  out.end_array();
}

/// nullopt if the member is absent.
template <typename Name>
std::optional<std::set<Name>> parse_names(const Value& rule, std::string_view member,
                                          std::optional<Name> (*parse)(std::string_view)) {
  const std::optional<Value> list = rule.find(member);
  if (!list) return std::nullopt;
  std::set<Name> out;
  for (const Value& item : list->items()) {
    const std::optional<Name> name = parse(item.text());
    if (!name) item.fail(str_cat("is none of the ", member, " that a rule can name"));
    out.insert(*name);
  }
  return out;
}

BranchRule parse_rule(const Value& body) {
  BranchRule out{
      .pattern = parse_rule_pattern(body),
      .blocked_actions = parse_names(body, "blocked_actions", parse_branch_action),
      .merge_methods = parse_names(body, "merge_methods", parse_merge_method),
  };
  if (const std::optional<Value> approvals = body.find_number("approvals")) {
    out.approvals = static_cast<uint32_t>(approvals->integer(0, kApprovalsMax));
  }
  return out;
}

}  // namespace

std::string branch_rules_body(const std::vector<BranchRule>& rules) {
  Writer out;
  out.begin_array();
  for (const BranchRule& rule : rules) {
    out.begin_object();
    if (rule.approvals) out.number("approvals", *rule.approvals);
    write_names(out, "blocked_actions", rule.blocked_actions);
    write_names(out, "merge_methods", rule.merge_methods);
    out.text("pattern", rule.pattern.pattern());
    out.end_object();
  }
  out.end_array();
  return std::move(out).take();
}

std::vector<BranchRule> parse_branch_rules(const Value& body) {
  std::vector<BranchRule> out;
  for (const Value& rule : body.items()) out.push_back(parse_rule(rule));
  return out;
}

Glob parse_rule_pattern(const Value& rule) {
  const Value member = rule.at("pattern");
  const std::string pattern = member.text();
  const std::string problem = rule_pattern_problem(pattern);
  if (!problem.empty()) member.fail(problem);
  return Glob(pattern);
}

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

namespace {

uint32_t days_of(const Value& days) {
  return static_cast<uint32_t>(days.integer(0, kRetentionDaysMax));
}

}  // namespace

std::string collection_rules_body(const CollectionRules& rules) {
  Writer out;
  out.begin_object();
  out.key("branches");
  out.begin_array();
  for (const auto& [branch, days] : rules.retention_days) {
    out.begin_object();
    out.text("branch_id", branch);
    out.number("retention_days", days);
    out.end_object();
  }
  out.end_array();
  out.number("default_retention_days", rules.default_retention_days);
  out.end_object();
  return std::move(out).take();
}

CollectionRules parse_collection_rules(const Value& body) {
  CollectionRules out{.default_retention_days = days_of(body.at("default_retention_days")),
                      .retention_days = {}};
  const Value branches = body.at("branches");
  for (const Value& rule : branches.items()) {
    const Value name = rule.at("branch_id");
    if (!is_branch_name(name.text())) name.fail("must be the name of a branch");
    if (!out.retention_days.emplace(name.text(), days_of(rule.at("retention_days"))).second) {
      name.fail("is named twice");
    }
  }
  if (out.retention_days.size() > kCollectionBranchesMax) {
    branches.fail(str_cat("must be at most ", kCollectionBranchesMax, " branches"));
  }
  return out;
}

}  // namespace tarn::api::json
