// tarn branch stale; tarn branch cleanup show | set | remove
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr int64_t kDaysNotGiven = -1;

std::string cleanup_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "settings", "branch_cleanup"});
}

struct Stale {
  std::string repository;
  std::string prefix;
  int64_t days = kDaysNotGiven;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--days", days, "without a commit for so many days (what the rules say, else 30)")
        .option("--prefix", prefix, "only names that begin with this prefix");
  }
};

/// "2026-12-01T00:00:00Z (announced)", "kept: it has an open pull request", or "".
std::string fate_of(const Json& branch) {
  if (branch.contains("kept_because")) {
    return str_cat("kept: ", branch["kept_because"].get<std::string>());
  }
  if (!branch.contains("deletes_at")) return "";
  return str_cat(branch["deletes_at"].get<std::string>(),
                 branch.value("announced", false) ? " (announced)" : "");
}

void stale(Session& session, const Stale& options) {
  const Uri uri = session.repository(options.repository);
  Request request{.path = api_path({"repositories", uri.repository, "stale_branches"}),
                  .query = {{"prefix", options.prefix}}};
  if (options.days != kDaysNotGiven)
    request.query.emplace_back("days", std::to_string(options.days));
  print_list(session, request, "StaleBranchList", {"branch", "idle days", "why", "is deleted"},
             [](const Json& item) -> Cells {
               std::string why;
               for (const Json& reason : item.at("reasons")) {
                 why += str_cat(why.empty() ? "" : " ", reason.get<std::string>());
               }
               return {item.value("id", ""), std::to_string(item.value("idle_days", int64_t{0})),
                       why, fate_of(item)};
             });
}

struct CleanupRulesOf {
  std::string repository;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo");
  }
};

std::string days_in(const Json& rule, const char* name) {
  return rule.contains(name) ? std::to_string(rule[name].get<int64_t>()) : "";
}

void print_rules(Session& session, const Json& rules) {
  ListWriter rows = session.out.list(
      "BranchCleanup", {"pattern", "stale after", "losers", "deleted after", "notice"});
  for (const Json& rule : rules.at("rules")) {
    rows.add(rule, {rule.value("pattern", ""), days_in(rule, "stale_days"),
                    rule.value("losers", false) ? "stale" : "", days_in(rule, "expire_days"),
                    days_in(rule, "notice_days")});
  }
  rows.finish();
}

void show_cleanup_rule(Session& session, const CleanupRulesOf& options) {
  const Uri uri = session.repository(options.repository);
  print_rules(session, session.client.call({.path = cleanup_path(uri)}));
}

struct Rule {
  std::string pattern;
  std::string repository;
  int64_t stale = 0;
  int64_t expire = 0;
  int64_t notice = kDaysNotGiven;
  int64_t most = kDaysNotGiven;
  bool losers = false;

  void declare(Command& command) {
    command.argument("PATTERN", pattern, "a pattern of names: 'exp-*'")
        .optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--stale-days", stale, "name branches stale after so many days without a commit")
        .flag("--losers", losers, "name branches stale that lost a promotion")
        .option("--expire-days", expire, "delete branches after so many days without a commit")
        .option("--notice-days", notice, "tell of a deletion so many days before (7)")
        .option("--deletions-max", most,
                "announce at most so many deletions in an hour, by all rules");
  }
};

/// Replaces the rule of the pattern where it stands, or adds it as the last one.
void set_cleanup_rule(Session& session, const Rule& options) {
  const Uri uri = session.repository(options.repository);
  Json rule{{"pattern", options.pattern}};
  if (options.stale > 0) rule["stale_days"] = options.stale;
  if (options.losers) rule["losers"] = true;
  if (options.expire > 0) rule["expire_days"] = options.expire;
  if (options.notice != kDaysNotGiven) rule["notice_days"] = options.notice;
  Json all = session.client.call({.path = cleanup_path(uri)});
  Json& rules = all.at("rules");
  const auto there = std::find_if(rules.begin(), rules.end(), [&](const Json& one) {
    return one.value("pattern", "") == options.pattern;
  });
  if (there == rules.end()) {
    rules.push_back(std::move(rule));
  } else {
    *there = std::move(rule);
  }
  if (options.most != kDaysNotGiven) all["deletions_max"] = options.most;
  print_rules(session, session.client.call(put_request(cleanup_path(uri), all)));
}

struct Removal {
  std::string pattern;
  std::string repository;

  void declare(Command& command) {
    command.argument("PATTERN", pattern, "the pattern of the rule")
        .optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo");
  }
};

void remove_cleanup_rule(Session& session, const Removal& options) {
  const Uri uri = session.repository(options.repository);
  Json all = session.client.call({.path = cleanup_path(uri)});
  Json& rules = all.at("rules");
  const auto there = std::find_if(rules.begin(), rules.end(), [&](const Json& one) {
    return one.value("pattern", "") == options.pattern;
  });
  if (there == rules.end()) {
    throw Error(ErrorCode::kNotFound, str_cat("rule \"", options.pattern, "\": not found"));
  }
  rules.erase(there);
  session.client.call(put_request(cleanup_path(uri), all));
  session.out.remark("removed the rule");
}

}  // namespace

void add_branch_cleanup_commands(CommandTree& tree) {
  tree.add<Stale>("branch stale",
                  "List branches that are no longer used, and when rules delete them", stale);
  tree.group("branch cleanup", "Rules for branches that are no longer used");
  tree.add<CleanupRulesOf>("branch cleanup show", "Show the rules", show_cleanup_rule);
  tree.add<Rule>("branch cleanup set", "Set the rule of a pattern", set_cleanup_rule);
  tree.add<Removal>("branch cleanup remove", "Remove the rule of a pattern", remove_cleanup_rule);
}

}  // namespace tarn::cli
