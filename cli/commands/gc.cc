// tarn gc get-config | set-config | delete-config
#include <charconv>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr int64_t kNotGiven = -1;

struct Options {
  std::string repository;
};

void declare(Command& command, Options& options) {
  command.optional_argument("REPOSITORY", options.repository,
                            "tarn://NAME or NAME; default --repo");
}

struct Set {
  std::string repository;
  int64_t days = kNotGiven;
  std::vector<std::string> branches;
};

void declare_set(Command& command, Set& options) {
  command.optional_argument("REPOSITORY", options.repository, "tarn://NAME or NAME; default --repo")
      .option("--days", options.days,
              "how long to keep what branches no longer show; those with a time of their own apart")
      .option("--branch-days", options.branches, "BRANCH=DAYS: one's own time; again for more");
}

std::string rules_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "settings", "gc_rules"});
}

ExitCode show(Session& session, const Options& options) {
  const Json rules =
      session.client.call({.path = rules_path(session.repository(options.repository))});
  std::vector<std::pair<std::string, std::string>> lines{
      {"days", std::to_string(rules.value("default_retention_days", int64_t{0}))}};
  for (const Json& branch : rules.value("branches", Json::array())) {
    lines.emplace_back(branch.value("branch_id", ""),
                       std::to_string(branch.value("retention_days", int64_t{0})));
  }
  session.out.object("GarbageCollectionRules", rules, lines);
  return ExitCode::kOk;
}

Json branch_rule(const std::string& word) {
  const size_t equals = word.rfind('=');
  int64_t days = 0;
  if (equals != std::string::npos && equals > 0) {
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + equals + 1, end, days);
    if (error == std::errc() && stop == end && days >= 0)
      return {{"branch_id", word.substr(0, equals)}, {"retention_days", days}};
  }
  throw usage_error(str_cat("reading --branch-days \"", word, "\": expected BRANCH=DAYS"));
}

ExitCode set(Session& session, const Set& options) {
  if (options.days < 0)
    throw usage_error("setting how long to keep things: --days (0 or more) is needed");
  Json rules{{"default_retention_days", options.days}, {"branches", Json::array()}};
  for (const std::string& word : options.branches) rules["branches"].push_back(branch_rule(word));
  const Uri uri = session.repository(options.repository);
  session.client.call({.method = Method::kPut, .path = rules_path(uri), .json = rules.dump()});
  return show(session, {to_string(uri)});
}

ExitCode remove(Session& session, const Options& options) {
  const Uri uri = session.repository(options.repository);
  session.client.call({.method = Method::kDelete, .path = rules_path(uri)});
  session.out.remark(str_cat("deleted the rules of ", to_string(uri)));
  return ExitCode::kOk;
}

}  // namespace

void add_gc_commands(CommandTree& tree) {
  tree.group("gc", "How long to keep what branches no longer show");
  tree.add<Options>("gc get-config", "Show the rules", declare, show);
  tree.add<Set>("gc set-config", "Replace the rules", declare_set, set);
  tree.add<Options>("gc delete-config", "Drop the rules", declare, remove);
}

}  // namespace tarn::cli
