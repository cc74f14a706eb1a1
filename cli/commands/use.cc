// tarn use
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
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

}  // namespace tarn::cli
