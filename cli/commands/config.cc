// tarn config show | set

#include <cstdint>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

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

// tarn use

namespace {

struct Use {
  std::string what;
  bool clear = false;

  void declare(Command& command) {
    command
        .optional_argument("WHAT", what,
                           "REPOSITORY, REPOSITORY/BRANCH or tarn://REPOSITORY/BRANCH")
        .flag("--clear", clear, "remove the defaults of this directory");
  }
};

void use(Session& session, const Use& options) {
  const std::filesystem::path here = std::filesystem::current_path();
  if (options.what.empty() != options.clear) {
    throw usage_error("name a repository or repository/branch, or give --clear");
  }
  if (options.clear) {
    save_directory_settings(here, "", "");
    session.out.remark(str_cat("removed ", (here / kDirectoryFile).string()));
    return;
  }
  // A short name is a repository here, whatever --repo says.
  const bool is_full = options.what.find("://") != std::string::npos;
  const Uri uri = any_uri(is_full ? options.what : str_cat("tarn://", options.what), {});
  const bool whole = uri.ref.empty();
  session.client.call(
      {.path = whole ? api_path({"repositories", uri.repository})
                     : api_path({"repositories", uri.repository, "branches", uri.ref})});
  save_directory_settings(here, uri.repository, uri.ref);
  session.out.remark(str_cat("commands in ", here.string(), " and below it use tarn://",
                             uri.repository, whole ? "" : "/", uri.ref));
}

}  // namespace

void add_use_command(CommandTree& tree) {
  tree.add<Use>("use", "Set the default repository and branch of a directory", use);
}

// tarn status

namespace {

/// Uncommitted changes that are counted; of more, this number and a plus sign are shown.
constexpr int64_t kChangesCounted = 1000;

struct StatusOptions {
  std::string branch;

  void declare(Command& command) {
    command.optional_argument(
        "BRANCH", branch,
        "tarn://repository/branch, or a branch in --repo; default: the default branch");
  }
};

struct Changes {
  int64_t added = 0;
  int64_t changed = 0;
  int64_t removed = 0;
  bool more = false;  ///< there are others
  int64_t count() const { return added + changed + removed; }
};

Changes count_changes(Client& client, const Uri& branch) {
  Changes out;
  client.each(
      {.path = api_path({"repositories", branch.repository, "branches", branch.ref, "diff"})},
      [&](const Json& item) {
        if (out.count() == kChangesCounted) {
          out.more = true;
          return false;
        }
        const std::string type = item.value("type", "");
        ++(type == "added" ? out.added : type == "removed" ? out.removed : out.changed);
        return true;
      });
  return out;
}

std::string words_of(const Changes& changes) {
  if (changes.count() == 0) return "none";
  return str_cat(changes.count(), changes.more ? "+" : "", " (", changes.added, " added, ",
                 changes.changed, " changed, ", changes.removed, " removed)");
}

/// The newest run of the branch; null = none, or not permitted to read runs.
Json newest_run(Client& client, const Uri& branch) {
  Json found;
  try {
    client.each({.path = api_path({"repositories", branch.repository, "runs"}),
                 .query = {{"branch", branch.ref}, {"amount", "1"}}},
                [&](const Json& run) {
                  found = run;
                  return false;
                });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPermissionDenied && error.code() != ErrorCode::kNotFound) throw;
  }
  return found;
}

/// Names of the gate policies whose destination is the branch.
std::vector<std::string> gates_of(Client& client, const Uri& branch) {
  std::vector<std::string> names;
  try {
    client.each({.path = api_path({"repositories", branch.repository, "policies"})},
                [&](const Json& policy) {
                  if (policy.value("destination", "") == branch.ref) {
                    names.push_back(policy.value("name", ""));
                  }
                  return true;
                });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPermissionDenied && error.code() != ErrorCode::kNotFound) throw;
  }
  return names;
}

void run_status(Session& session, const StatusOptions& options) {
  const Uri uri = session.ref_or_default(options.branch);
  const Json branch = session.client.call(
      {.path = api_path({"repositories", uri.repository, "branches", uri.ref})});
  const Json head = get_commit(session.client, uri.repository, branch.value("commit_id", ""));
  const Changes changes = count_changes(session.client, uri);
  const Json experiment = newest_run(session.client, uri);
  const std::vector<std::string> gates = gates_of(session.client, uri);
  const std::string id = head.value("id", "");
  std::vector<std::pair<std::string, std::string>> lines{
      {"branch", to_string(uri)},
      {"head", str_cat(short_id(session.out, id), "  ", head.value("message", ""))},
      {"uncommitted", words_of(changes)}};
  if (!experiment.is_null()) {
    lines.emplace_back(
        "run", str_cat(experiment.value("run_id", ""), " of ", experiment.value("experiment", ""),
                       experiment.value("commit_id", "") == id ? "" : ", of an earlier commit"));
  }
  if (!gates.empty()) lines.emplace_back("gate", joined(gates, ", "));
  session.out.object("Status",
                     {{"repository", uri.repository},
                      {"branch", uri.ref},
                      {"head", head},
                      {"uncommitted",
                       {{"added", changes.added},
                        {"changed", changes.changed},
                        {"removed", changes.removed},
                        {"more", changes.more}}},
                      {"run", experiment},
                      {"policies", gates}},
                     lines);
  if (changes.count() > 0) {
    session.out.remark(str_cat("see them: tarn diff ", to_string(uri),
                               "; commit them: tarn commit ", to_string(uri), " -m MESSAGE"));
  }
}

}  // namespace

void add_status_command(CommandTree& tree) {
  tree.add<StatusOptions>(
      "status", "Show a branch: its head, uncommitted changes, newest run and gate", run_status);
}

// tarn version

namespace {

struct VersionOptions {
  bool server = false;

  void declare(Command& command) {
    command.flag("--server", server, "also show the version of the server");
  }
};

void run_version(Session& session, const VersionOptions& options) {
  Json fields{{"version", TARN_VERSION}};
  std::vector<std::pair<std::string, std::string>> lines{{"tarn", TARN_VERSION}};
  if (options.server) {
    const Json config = session.client.call({.path = "/config"});
    const std::string lakefs = config.value("/version_config/version"_json_pointer, "");
    const std::string version = config.value("/version_config/tarn_version"_json_pointer, lakefs);
    fields["server_version"] = version;
    lines.emplace_back("tarnd", version);
  }
  session.out.object("Version", std::move(fields), lines);
}

}  // namespace

void add_version_command(CommandTree& tree) {
  tree.add<VersionOptions>("version", "Show versions", run_version);
}

}  // namespace tarn::cli
