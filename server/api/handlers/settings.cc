#include "core/branch/settings.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/accounting/quotas.h"
#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/cleanup.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/repository.h"
#include "server/api/json/values.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

/// Sets the etag without quotes, as clients send it back; "" means the setting was never changed.
http::Response tagged_response(std::string body, std::string etag) {
  http::Response response = json_response(200, std::move(body));
  response.headers.add("ETag", std::move(etag));
  return response;
}

/// The condition of If-Match.
branch::SettingWrite write_of(const Call& call) {
  branch::SettingWrite write;
  if (const std::string* if_match = call.request.headers.find("If-Match")) {
    write.if_match = *if_match;
  }
  return write;
}

}  // namespace

http::Response get_protection_rules(const Context& context, Call& call) {
  auto rules = branch::get_branch_rules(context.engine, repository_of(context, call));
  return tagged_response(json::branch_rules_body(rules.value), std::move(rules.etag));
}

http::Response set_protection_rules(const Context& context, Call& call,
                                    std::vector<BranchRule> rules) {
  branch::set_branch_rules(context.engine, repository_of(context, call), rules, write_of(call));
  return empty_response(204);
}

http::Response add_protection_rule(const Context& context, Call& call, Glob pattern) {
  branch::add_branch_rule(context.engine, repository_of(context, call), pattern);
  return empty_response(204);
}

http::Response remove_protection_rule(const Context& context, Call& call, Glob pattern) {
  branch::remove_branch_rule(context.engine, repository_of(context, call), pattern.pattern());
  return empty_response(204);
}

http::Response get_tag_rules(const Context& context, Call& call) {
  auto rules = branch::get_tag_rules(context.engine, repository_of(context, call));
  return tagged_response(json::tag_rules_body(rules.value), std::move(rules.etag));
}

http::Response set_tag_rules(const Context& context, Call& call, std::vector<TagRule> rules) {
  branch::set_tag_rules(context.engine, repository_of(context, call), rules, write_of(call));
  return empty_response(204);
}

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

http::Response remove_collection_rules(const Context& context, Call& call) {
  branch::remove_collection_rules(context.engine, repository_of(context, call));
  return empty_response(204);
}

http::Response allow_settings(const Context& context, Call& call) {
  repository_of(context, call);
  return empty_response(204);
}

// Cleanup of branches: its rules, and what is stale.

namespace {

constexpr size_t kBytesPerBranch = 300;

std::string rules_body(const CleanupRules& rules) {
  json::Writer out;
  out.begin_object();
  out.key("rules");
  out.begin_array();
  for (const CleanupRule& rule : rules.rules) {
    out.begin_object();
    out.text("pattern", rule.pattern.pattern());
    if (rule.stale_days > 0) out.number("stale_days", rule.stale_days);
    if (rule.losers) out.boolean("losers", true);
    if (rule.expire_days > 0) {
      out.number("expire_days", rule.expire_days);
      out.number("notice_days", rule.notice_days);
    }
    out.end_object();
  }
  out.end_array();
  out.number("deletions_max", rules.deletions_max);
  out.end_object();
  return std::move(out).take();
}

uint32_t days_of(const json::Value& rule, std::string_view name, uint32_t otherwise) {
  const auto days = rule.find_number(name);
  return days ? static_cast<uint32_t>(days->integer(0, kCleanupDaysMax)) : otherwise;
}

void write_branch(json::Writer& out, const branch::StaleBranch& branch) {
  out.begin_object();
  out.text("id", branch.name);
  out.text("commit_id", to_text(branch.head));
  out.text("active_at", to_rfc3339(branch.active));
  out.number("idle_days", branch.idle_days);
  out.key("reasons");
  out.begin_array();
  for (const std::string& reason : branch.reasons) out.text(reason);
  out.end_array();
  if (!branch.rule.empty()) out.text("rule", branch.rule);
  if (branch.deletes && branch.kept_by.empty()) {
    out.text("deletes_at", to_rfc3339(*branch.deletes));
    out.boolean("announced", branch.announced);
  }
  if (!branch.kept_by.empty()) out.text("kept_because", branch.kept_by);
  out.end_object();
}

}  // namespace

http::Response set_cleanup_rules(const Context& context, Call& call, CleanupRules rules) {
  // The server applies the rule without another check, so the user who sets it must be permitted to
  // delete branches.
  const bool deletes = std::any_of(rules.rules.begin(), rules.rules.end(),
                                   [](const CleanupRule& rule) { return rule.expire_days > 0; });
  if (deletes) {
    call.require_permission(auth::Action::kDeleteBranch,
                            auth::branch_arn(call.path("repository"), "*"));
  }
  const Repository repository = repository_of(context, call);
  branch::set_cleanup_rules(context.engine, repository, rules, write_of(call));
  auto set = branch::get_cleanup_rules(context.engine, repository);
  return tagged_response(rules_body(set.value), std::move(set.etag));
}

CleanupRules parse_cleanup_rules(const json::Value& body) {
  CleanupRules out;
  for (const json::Value& item : body.at("rules").items()) {
    const json::Value pattern = item.at("pattern");
    if (pattern.text().empty()) pattern.fail("must not be empty");
    CleanupRule rule{.pattern = Glob(pattern.text())};
    rule.stale_days = days_of(item, "stale_days", 0);
    rule.expire_days = days_of(item, "expire_days", 0);
    rule.notice_days = days_of(item, "notice_days", kNoticeDaysDefault);
    if (const auto losers = item.find("losers")) rule.losers = losers->boolean();
    out.rules.push_back(std::move(rule));
  }
  if (const auto most = body.find_number("deletions_max")) {
    out.deletions_max = static_cast<uint32_t>(most->integer(1, kCleanupDeletionsMax));
  }
  return out;
}

http::Response get_cleanup_rules(const Context& context, Call& call) {
  auto rules = branch::get_cleanup_rules(context.engine, repository_of(context, call));
  return tagged_response(rules_body(rules.value), std::move(rules.etag));
}

http::Response list_stale_branches(const Context& context, Call& call) {
  branch::StaleQuery query{.prefix = std::string(call.parameter("prefix")),
                           .after = std::string(call.parameter("after")),
                           .limit = call.amount()};
  if (const std::string_view days = call.parameter("days"); !days.empty()) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(days.data(), days.data() + days.size(), number);
    if (error != std::errc() || end != days.data() + days.size() || number > kCleanupDaysMax) {
      throw_invalid(str_cat("days: must be a number from 0 to ", kCleanupDaysMax));
    }
    query.days = number;
  }
  const auto page =
      branch::list_stale_branches(context.engine, repository_of(context, call), query);
  return json_response(200, json::list_of(page, kBytesPerBranch, write_branch));
}

// Quotas: limits, usage and recounts.

namespace {

constexpr size_t kBytesPerQuota = 400;

void write_limit(json::Writer& out, std::string_view name, const QuotaLimit& limit) {
  if (!limit.soft && !limit.hard) return;
  out.key(name);
  out.begin_object();
  if (limit.soft) out.number("soft", *limit.soft);
  if (limit.hard) out.number("hard", *limit.hard);
  out.end_object();
}

void write_quota(json::Writer& out, const accounting::QuotaUsage& usage) {
  const Quota& quota = usage.quota;
  out.begin_object();
  if (!quota.scope.user.empty()) out.text("user", quota.scope.user);
  if (!quota.scope.branches.empty()) out.text("branches", quota.scope.branches);
  out.key("limits");
  out.begin_object();
  write_limit(out, "bytes", quota.limits.bytes);
  write_limit(out, "objects", quota.limits.objects);
  write_limit(out, "branches", quota.limits.branches);
  write_limit(out, "uploads", quota.limits.uploads);
  write_limit(out, "metadata_bytes", quota.limits.metadata);
  out.end_object();
  out.key("usage");
  out.begin_object();
  out.number("bytes", static_cast<int64_t>(quota.bytes));
  out.number("objects", static_cast<int64_t>(quota.objects));
  if (usage.branches) out.number("branches", static_cast<int64_t>(*usage.branches));
  if (quota.limits.metadata != QuotaLimit{}) {
    out.number("metadata_bytes", static_cast<int64_t>(quota.metadata));
  }
  if (usage.uploads) out.number("uploads", static_cast<int64_t>(*usage.uploads));
  out.end_object();
  if (quota.counted) out.text("recounted_at", to_rfc3339(*quota.counted));
  out.end_object();
}

std::string quota_body(const accounting::QuotaUsage& usage) {
  json::Writer out(kBytesPerQuota);
  write_quota(out, usage);
  return std::move(out).take();
}

QuotaLimit parse_limit(const json::Value& limits, std::string_view name) {
  QuotaLimit out;
  const auto limit = limits.find(name);
  if (!limit) return out;
  if (const auto soft = limit->find_number("soft")) out.soft = soft->integer();
  if (const auto hard = limit->find_number("hard")) out.hard = hard->integer();
  return out;
}

/// The repository of the path; 0 in paths without one.
RepositoryId repository_in(const Context& context, const Call& call) {
  return call.has_path("repository") ? repository_of(context, call).id : RepositoryId{};
}

QuotaScope scope_in(const Context& context, const Call& call) {
  return {.repository = repository_in(context, call),
          .user = std::string(call.parameter("user")),
          .branches = std::string(call.parameter("branches"))};
}

}  // namespace

http::Response set_quota(const Context& context, Call& call, QuotaBody given) {
  given.scope.repository = repository_in(context, call);
  return json_response(
      200, quota_body(accounting::set_quota(context.engine, given.scope, given.limits)));
}

QuotaBody parse_quota(const json::Value& body) {
  QuotaBody out;
  out.scope.user = body.text_or_empty("user");
  out.scope.branches = body.text_or_empty("branches");
  const json::Value limits = body.at("limits");
  out.limits.bytes = parse_limit(limits, "bytes");
  out.limits.objects = parse_limit(limits, "objects");
  out.limits.branches = parse_limit(limits, "branches");
  out.limits.uploads = parse_limit(limits, "uploads");
  out.limits.metadata = parse_limit(limits, "metadata_bytes");
  return out;
}

http::Response list_quotas(const Context& context, Call& call) {
  std::optional<Repository> repository;
  if (call.has_path("repository")) repository = repository_of(context, call);
  const auto page = accounting::list_quotas(context.engine, repository ? &*repository : nullptr,
                                            call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerQuota, write_quota));
}

http::Response remove_quota(const Context& context, Call& call) {
  accounting::remove_quota(context.engine, scope_in(context, call));
  return empty_response(204);
}

http::Response recount_quota(const Context& context, Call& call) {
  return json_response(
      200, quota_body(accounting::recount_quota(context.engine, scope_in(context, call))));
}

}  // namespace tarn::api
