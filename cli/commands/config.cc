// tarn config show | set
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct ShowSetting {};

void show_setting(Session& session, const ShowSetting&) {
  ListWriter rows = session.out.list("Config", {"key", "value", "from"});
  const auto add = [&](std::string_view key, const std::string& value, const std::string& from) {
    rows.add({{"key", key}, {"value", value}, {"from", from}}, {std::string(key), value, from});
  };
  for (const NamedSetting& named : named_settings(session.settings)) {
    const bool hidden = named.secret && !named.setting.value.empty();
    add(named.key, hidden ? "(set)" : named.setting.value, named.setting.origin);
  }
  add("profile", session.settings.profile, "");
  add("file", session.settings.file.string(), "");
  rows.finish();
}

struct SetSetting {
  std::string key;
  std::string value;

  void declare(Command& command) {
    command.argument("KEY", key, "a key that `tarn config show` lists")
        .optional_argument("VALUE", value, "the value; if left out, the key is removed");
  }
};

void set_setting(Session& session, const SetSetting& options) {
  save_settings(session.settings.file, session.settings.profile, {{options.key, options.value}});
  session.out.remark(str_cat(options.value.empty() ? "removed " : "set ", options.key, " in ",
                             session.settings.file.string()));
}

}  // namespace

void add_config_commands(CommandTree& tree) {
  tree.group("config", "Settings of this command");
  tree.add<ShowSetting>("config show", "Show the current settings and the origin of each",
                        show_setting);
  tree.add<SetSetting>("config set", "Store a setting in the configuration file", set_setting);
}

}  // namespace tarn::cli
