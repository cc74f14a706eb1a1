// tarn revert, tarn cherry-pick
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct Options {
  std::string commit;
  std::string branch;
  std::string message;
  int64_t parent = 0;
  bool require_changes = false;
};

void declare(Command& command, Options& options) {
  command.argument("COMMIT", options.commit, "tarn://repository/ref, or a ref in --repo")
      .optional_argument("BRANCH", options.branch, "the branch that changes; default --branch")
      .option("-m,--message", options.message, "instead of the usual one")
      .option("--parent", options.parent, "of a merge commit: relative to which parent, from 1");
}

void declare_revert(Command& command, Options& options) {
  declare(command, options);
  command.flag("--require-changes", options.require_changes, "fail when there is nothing to undo");
}

struct Targets {
  Uri commit;
  Uri branch;
};

Targets targets_of(const Session& session, const Options& options) {
  Targets targets{session.ref(options.commit), {}};
  targets.branch =
      ref_uri(options.branch, {targets.commit.repository, session.settings.branch.value});
  need_same_repository(targets.commit, targets.branch);
  return targets;
}

Json body_of(const Targets& targets, const Options& options) {
  Json body{{"ref", targets.commit.ref}};
  if (!options.message.empty()) body["commit_overrides"] = {{"message", options.message}};
  return body;
}

std::string branch_path(const Targets& targets) {
  return api_path({"repositories", targets.branch.repository, "branches", targets.branch.ref});
}

ExitCode revert(Session& session, const Options& options) {
  const Targets targets = targets_of(session, options);
  Json body = body_of(targets, options);
  body["parent_number"] = options.parent;
  const Answer answer = session.client.ask(
      {.method = Method::kPost, .path = branch_path(targets) + "/revert", .json = body.dump()});
  if (says_no_changes(answer) && !options.require_changes) {
    print_no_changes(session.out, "Revert",
                     str_cat("nothing to undo on ", to_string(targets.branch)));
    return ExitCode::kOk;
  }
  if (!answer.ok()) throw error_from(answer);
  print_commit(session.out, "Revert",
               get_commit(session.client, targets.branch.repository, targets.branch.ref));
  return ExitCode::kOk;
}

ExitCode cherry_pick(Session& session, const Options& options) {
  const Targets targets = targets_of(session, options);
  Json body = body_of(targets, options);
  if (options.parent != 0) body["parent_number"] = options.parent;
  const Json commit = session.client.call({.method = Method::kPost,
                                           .path = branch_path(targets) + "/cherry-pick",
                                           .json = body.dump()});
  print_commit(session.out, "CherryPick", commit);
  return ExitCode::kOk;
}

}  // namespace

void add_revert_commands(CommandTree& tree) {
  tree.add<Options>("revert", "Undo a commit by a new one", declare_revert, revert);
  tree.add<Options>("cherry-pick", "Repeat a commit on a branch", declare, cherry_pick);
}

}  // namespace tarn::cli
