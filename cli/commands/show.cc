// tarn show
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/session.h"

namespace tarn::cli {
namespace {

struct Options {
  std::string ref;
};

void declare(Command& command, Options& options) {
  command.optional_argument("REF", options.ref,
                            "tarn://repository/ref, or a ref in --repo; default --branch");
}

ExitCode run(Session& session, const Options& options) {
  const Uri uri = session.ref(options.ref);
  print_commit(session.out, "Commit", get_commit(session.client, uri.repository, uri.ref));
  return ExitCode::kOk;
}

}  // namespace

void add_show_command(CommandTree& tree) {
  tree.add<Options>("show", "Show the commit that a ref stands for", declare, run);
}

}  // namespace tarn::cli
