// tarn version
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"

namespace tarn::cli {
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
