// tarn commit
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/operation.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct Options {
  std::string branch;
  std::string message;
  std::vector<std::string> metadata;
  bool allow_empty = false;
  bool require_changes = false;
  bool async = false;

  void declare(Command& command) {
    command.optional_argument("BRANCH", branch, "tarn://repository/branch, or a name in --repo")
        .option("-m,--message", message, "the commit message")
        .option("--meta", metadata, "metadata of the commit, key=value; may be repeated")
        .flag("--allow-empty", allow_empty, "create a commit even if nothing changed")
        .flag("--require-changes", require_changes, "fail if nothing changed")
        .flag("--async", async,
              "do not wait for a slow request; print the id of its background operation");
  }
};

void run(Session& session, const Options& options) {
  const Uri uri = session.ref(options.branch);
  if (options.message.empty()) throw usage_error("committing: -m MESSAGE is needed");
  const Json body{{"message", options.message},
                  {"metadata", metadata_from(options.metadata)},
                  {"allow_empty", options.allow_empty}};
  const Answer answer = session.client.ask(
      {.method = Method::kPost,
       .path = api_path({"repositories", uri.repository, "branches", uri.ref, "commits"}),
       .headers = options.async ? no_wait() : Pairs{},
       .json = body.dump()});
  if (print_when_deferred(session, answer)) return;
  if (says_no_changes(answer) && !options.require_changes && !options.metadata.empty()) {
    throw Error(ErrorCode::kConflict,
                str_cat("nothing to commit on ", to_string(uri),
                        ", so the metadata was not kept: --allow-empty makes a commit of it"));
  }
  if (says_no_changes(answer) && !options.require_changes) {
    print_no_changes(session.out, "Commit", str_cat("nothing to commit on ", to_string(uri)));
    return;
  }
  if (!answer.ok()) throw error_from(answer);
  print_commit(session.out, "Commit", Json::parse(answer.body));
}

}  // namespace

void add_commit_command(CommandTree& tree) {
  tree.add<Options>("commit", "Commit the changes of a branch", run);
}

}  // namespace tarn::cli
