// tarn show
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/session.h"

namespace tarn::cli {
namespace {

struct ShowOptions {
  std::string ref;

  void declare(Command& command) {
    command.optional_argument(
        "REF", ref, "tarn://repository/ref, or a ref in --repo; default: the default branch");
  }
};

void run_show(Session& session, const ShowOptions& options) {
  const Uri uri = session.ref_or_default(options.ref);
  print_commit(session.out, "Commit", get_commit(session.client, uri.repository, uri.ref));
}

}  // namespace

void add_show_command(CommandTree& tree) {
  tree.add<ShowOptions>("show", "Show the commit of a ref", run_show);
}

}  // namespace tarn::cli
