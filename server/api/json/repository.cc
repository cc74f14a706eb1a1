#include "server/api/json/repository.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "core/base/str_cat.h"
#include "core/model/names.h"

namespace tarn::api::json {
namespace {

constexpr std::array<std::string_view, 7> kSchemes = {
    "s3://", "gs://", "http://", "https://", "mem://", "local://", "transient://"};

constexpr std::string_view kStrictPaths = "strict";
constexpr std::string_view kAnyPaths = "any";

}  // namespace

void write_repository(Writer& out, const Repository& repository) {
  out.begin_object();
  out.number("creation_date", to_seconds(repository.created));
  out.text("default_branch", repository.default_branch.str());
  out.text("id", repository.name.str());
  out.boolean("read_only", repository.read_only);
  out.text("storage_id", "");  // readers use it to find their storage, so it is never omitted
  out.text("storage_namespace", repository.storage_namespace);
  out.end_object();
}

std::string repository_body(const Repository& repository) {
  Writer out;
  write_repository(out, repository);
  return std::move(out).take();
}

CreateRepository parse_create_repository(const Value& body) {
  CreateRepository out;
  const std::string name = body.at("name").text();
  if (!is_repository_name(name)) {
    body.at("name").fail("must be 3 to 63 lower-case letters, digits and hyphens");
  }
  out.name = RepositoryName(name);
  out.storage_namespace = body.at("storage_namespace").text();
  const bool known = std::any_of(kSchemes.begin(), kSchemes.end(), [&](std::string_view scheme) {
    return out.storage_namespace.starts_with(scheme);
  });
  if (!known)
    body.at("storage_namespace").fail("must begin with a storage scheme, for example s3://");
  out.default_branch = body.text_or_empty("default_branch");
  out.storage_id = body.text_or_empty("storage_id");
  out.sample_data = body.flag("sample_data");
  out.read_only = body.flag("read_only");
  if (body.find("paths")) out.strict_paths = parse_paths(body);
  return out;
}

std::string paths_body(bool strict) {
  Writer out;
  out.begin_object();
  out.text("paths", strict ? kStrictPaths : kAnyPaths);
  out.end_object();
  return std::move(out).take();
}

bool parse_paths(const Value& body) {
  const Value paths = body.at("paths");
  const std::string given = paths.text();
  if (given != kStrictPaths && given != kAnyPaths) paths.fail("must be \"strict\" or \"any\"");
  return given == kStrictPaths;
}

Metadata parse_set_metadata(const Value& body) { return body.at("metadata").text_map(); }

std::vector<std::string> parse_metadata_keys(const Value& body) { return body.at("keys").texts(); }

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

namespace {

void write_members(Writer& out, const Webhook& webhook) {
  out.boolean("active", webhook.active);
  out.text("created_by", webhook.created_by);
  out.text("creation_date", to_rfc3339(webhook.created));
  out.key("events");
  out.begin_array();
  for (const std::string& event : webhook.events) out.text(event);
  out.end_array();
  out.text("format", name_of(webhook.format));
  out.text("id", webhook.name);
  out.text("url", webhook.url);
}

}  // namespace

void write_webhook(Writer& out, const Webhook& webhook) {
  out.begin_object();
  write_members(out, webhook);
  out.end_object();
}

std::string webhook_body(const Webhook& webhook, const std::optional<std::string>& secret) {
  Writer out;
  out.begin_object();
  write_members(out, webhook);
  if (secret) out.text("secret", *secret);
  out.end_object();
  return std::move(out).take();
}

void write_delivery(Writer& out, const Delivery& delivery) {
  out.begin_object();
  out.number("attempts", delivery.attempts);
  out.text("creation_date", to_rfc3339(delivery.created));
  if (delivery.ended) out.text("end_date", to_rfc3339(*delivery.ended));
  out.text("id", delivery.id);
  if (!delivery.last_error.empty()) out.text("last_error", delivery.last_error);
  if (delivery.last_status) out.number("last_status", *delivery.last_status);
  if (delivery.next_attempt) out.text("next_attempt", to_rfc3339(*delivery.next_attempt));
  out.text("state", name_of(delivery.state));
  out.text("type", delivery.type);
  out.end_object();
}

std::string delivery_body(const Delivery& delivery) {
  Writer out;
  write_delivery(out, delivery);
  return std::move(out).take();
}

std::string ping_body(const PingResult& result) {
  Writer out;
  out.begin_object();
  out.boolean("delivered", result.error.empty());
  out.number("duration_ms", result.took.count());
  if (!result.error.empty()) out.text("error", result.error);
  out.text("id", result.id);
  if (result.status) out.number("status", *result.status);
  out.end_object();
  return std::move(out).take();
}

PutWebhook parse_put_webhook(const Value& body) {
  PutWebhook out;
  out.webhook.url = body.at("url").text();
  if (const auto events = body.find("events")) {
    out.webhook.events = events->texts(kWebhookEventsMax);
  }
  if (const auto format = body.find("format")) {
    const auto known = parse_webhook_format(format->text());
    if (!known) format->fail("must be standard or mlflow");
    out.webhook.format = *known;
  }
  if (const auto active = body.find("active")) out.webhook.active = active->boolean();
  out.secret = body.find_text("secret");
  return out;
}

}  // namespace tarn::api::json
