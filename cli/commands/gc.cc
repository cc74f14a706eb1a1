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

struct SetCollectionRules {
  std::string repository;
  int64_t days = kNotGiven;
  std::vector<std::string> branches;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option(
            "--days", days,
            "how long to keep history and what branches no longer show; those with a time of their "
            "own apart")
        .option("--branch-days", branches, "BRANCH=DAYS: one's own time; again for more");
  }
};

std::string rules_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "settings", "gc_rules"});
}

void show_collection_rules(Session& session, const InRepository& options) {
  const Json rules =
      session.client.call({.path = rules_path(session.repository(options.repository))});
  std::vector<std::pair<std::string, std::string>> lines{
      {"days", std::to_string(rules.value("default_retention_days", int64_t{0}))}};
  for (const Json& branch : rules.value("branches", Json::array())) {
    lines.emplace_back(branch.value("branch_id", ""),
                       std::to_string(branch.value("retention_days", int64_t{0})));
  }
  session.out.object("GarbageCollectionRules", rules, lines);
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

void set_collection_rules(Session& session, const SetCollectionRules& options) {
  if (options.days < 0)
    throw usage_error("setting how long to keep things: --days (0 or more) is needed");
  Json rules{{"default_retention_days", options.days}, {"branches", Json::array()}};
  for (const std::string& word : options.branches) rules["branches"].push_back(branch_rule(word));
  const Uri uri = session.repository(options.repository);
  session.client.call(put_request(rules_path(uri), rules));
  show_collection_rules(session, {to_string(uri)});
}

void remove_collection_rules(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  session.client.call(delete_request(rules_path(uri)));
  session.out.remark(str_cat("deleted the rules of ", to_string(uri)));
}

}  // namespace

void add_gc_commands(CommandTree& tree) {
  tree.group("gc", "Garbage collection: plan, run and reports; retention rules");
  tree.add<InRepository>("gc get-config", "Show the retention rules", show_collection_rules);
  tree.add<SetCollectionRules>("gc set-config", "Replace the retention rules",
                               set_collection_rules);
  tree.add<InRepository>("gc delete-config", "Delete the retention rules", remove_collection_rules);
  add_gc_run_commands(tree);
}

}  // namespace tarn::cli
