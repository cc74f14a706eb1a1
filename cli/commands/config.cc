// tarn config show | set
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct Show {};

void declare_show(Command&, Show&) {}

ExitCode show(Session& session, const Show&) {
  const Settings& settings = session.settings;
  Setting secret = settings.secret_key;
  if (!secret.value.empty()) secret.value = "(set)";
  const std::vector<std::pair<std::string, Setting>> all{
      {"endpoint", settings.endpoint}, {"access_key", settings.access_key},
      {"secret_key", secret},          {"repo", settings.repository},
      {"branch", settings.branch},     {"file", {settings.file.string(), ""}}};
  ListWriter rows = session.out.list("Config", {"key", "value", "from"});
  for (const auto& [key, setting] : all) {
    rows.add({{"key", key}, {"value", setting.value}, {"from", setting.origin}},
             {key, setting.value, setting.origin});
  }
  rows.finish();
  return ExitCode::kOk;
}

struct Set {
  std::string key;
  std::string value;
};

void declare_set(Command& command, Set& options) {
  command.argument("KEY", options.key, "endpoint, access_key, secret_key, repo or branch")
      .optional_argument("VALUE", options.value, "left out: the key is removed");
}

ExitCode set(Session& session, const Set& options) {
  save_setting(session.settings.file, options.key, options.value);
  session.out.remark(str_cat(options.value.empty() ? "removed " : "set ", options.key, " in ",
                             session.settings.file.string()));
  return ExitCode::kOk;
}

}  // namespace

void add_config_commands(CommandTree& tree) {
  tree.group("config", "What this command remembers");
  tree.add<Show>("config show", "Show the settings in force and where each comes from",
                 declare_show, show);
  tree.add<Set>("config set", "Keep a setting in the configuration file", declare_set, set);
}

}  // namespace tarn::cli
