// Cleanup of branches: its rules, and what is stale.
#include <algorithm>
#include <charconv>

#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/cleanup.h"
#include "server/api/handlers/handlers.h"
#include "server/api/handlers/tagged.h"
#include "server/api/json/values.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
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

CleanupRules parse_rules(const json::Value& body) {
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

http::Response get_cleanup_rules(const Context& context, Call& call) {
  auto rules = branch::get_cleanup_rules(context.engine, repository_of(context, call));
  return tagged_response(rules_body(rules.value), std::move(rules.etag));
}

JsonHandler set_cleanup_rules() { return json_handler<parse_rules, set_cleanup_rules>; }

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

}  // namespace tarn::api
