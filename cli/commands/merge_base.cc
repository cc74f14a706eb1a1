// tarn find-merge-base
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/session.h"

namespace tarn::cli {
namespace {

struct MergeBaseOptions {
  std::string source;
  std::string destination;

  void declare(Command& command) {
    command.argument("SOURCE", source, "tarn://repository/ref, or a ref in --repo")
        .optional_argument("DESTINATION", destination,
                           "the other ref; default: the default branch");
  }
};

void run_merge_base(Session& session, const MergeBaseOptions& options) {
  const Uri source = session.ref(options.source);
  const Uri destination = session.with_default_branch(
      optional_ref_uri(options.destination, {source.repository, session.settings.branch.value}));
  need_same_repository(source, destination);
  const Json found =
      session.client.call({.path = api_path({"repositories", source.repository, "refs", source.ref,
                                             "merge", destination.ref})});
  session.out.object("MergeBase", found,
                     {{"base", found.value("base_commit_id", "")},
                      {"source", found.value("source_commit_id", "")},
                      {"destination", found.value("destination_commit_id", "")}});
}

}  // namespace

void add_merge_base_command(CommandTree& tree) {
  tree.add<MergeBaseOptions>("find-merge-base", "Show the common ancestor of two refs",
                             run_merge_base);
}

}  // namespace tarn::cli
