// tarn revert, tarn cherry-pick

#include <optional>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct RevertOptions {
  std::string commit;
  std::string branch;
  std::string message;
  int64_t parent = 0;
  bool require_changes = false;

  void declare(Command& command) {
    command.argument("COMMIT", commit, "tarn://repository/ref, or a ref in --repo")
        .optional_argument("BRANCH", branch, "the branch that changes; default --branch")
        .option("-m,--message", message, "message of the commit; default: generated")
        .option("--parent", parent,
                "for a merge commit: the number of the parent to compare with, from 1")
        .flag("--require-changes", require_changes, "fail if nothing changes");
  }
};

struct Targets {
  Uri commit;
  Uri branch;
};

Targets targets_of(const Session& session, const RevertOptions& options) {
  Targets targets{session.ref(options.commit), {}};
  targets.branch =
      ref_uri(options.branch, {targets.commit.repository, session.settings.branch.value});
  need_same_repository(targets.commit, targets.branch);
  return targets;
}

/// Sends the request to `verb`; nullopt if there was nothing to change.
std::optional<Answer> ask(Session& session, std::string_view verb, const Targets& targets,
                          const RevertOptions& options, Json body) {
  body["ref"] = targets.commit.ref;
  if (!options.message.empty()) body["commit_overrides"] = {{"message", options.message}};
  const Answer answer = session.client.ask(post_request(
      str_cat(api_path({"repositories", targets.branch.repository, "branches", targets.branch.ref}),
              '/', verb),
      body));
  if (says_no_changes(answer) && !options.require_changes) return std::nullopt;
  if (!answer.ok()) throw error_from(answer);
  return answer;
}

void revert(Session& session, const RevertOptions& options) {
  const Targets targets = targets_of(session, options);
  if (!ask(session, "revert", targets, options, {{"parent_number", options.parent}})) {
    print_no_changes(session.out, "Revert",
                     str_cat("nothing to undo on ", to_string(targets.branch)));
    return;
  }
  // The answer has no commit id, and reading the branch might show a later commit.
  print_commit(session.out, "Revert",
               get_commit(session.client, targets.branch.repository, targets.branch.ref));
}

void cherry_pick(Session& session, const RevertOptions& options) {
  const Targets targets = targets_of(session, options);
  Json body = Json::object();
  if (options.parent != 0) body["parent_number"] = options.parent;
  const std::optional<Answer> answer =
      ask(session, "cherry-pick", targets, options, std::move(body));
  if (!answer) {
    print_no_changes(session.out, "CherryPick",
                     str_cat(to_string(targets.branch), " already has these changes"));
    return;
  }
  print_commit(session.out, "CherryPick", json_of(*answer));
}

}  // namespace

void add_revert_commands(CommandTree& tree) {
  tree.add<RevertOptions>("revert", "Revert a commit by a new commit", revert);
  tree.add<RevertOptions>("cherry-pick", "Apply the changes of a commit to a branch", cherry_pick);
}

// tarn checkout-path

namespace {

struct CheckoutPathOptions {
  std::string ref;
  std::vector<std::string> globs;
  bool yes = false;
  bool dry_run = false;

  void declare(Command& command) {
    command.argument("REF", ref, "tarn://repository/ref, or a ref in --repo")
        .arguments("GLOB", globs,
                   "a pattern of paths such as \"models/**\"; paths that the ref lacks are deleted")
        .flag("-y,--yes", yes, "do not ask for confirmation before objects are deleted")
        .flag("--dry-run", dry_run, "only count what would be written and deleted");
  }
};

void run_checkout_path(Session& session, const CheckoutPathOptions& options) {
  const Uri source = session.ref(options.ref);
  const Uri branch = ref_uri("", {source.repository, session.settings.branch.value});
  const auto checkout = [&](bool dry_run) {
    Json body{{"ref", source.ref}, {"paths", options.globs}};
    if (dry_run) body["dry_run"] = true;
    return session.client.call(post_request(
        api_path({"repositories", branch.repository, "branches", branch.ref, "checkout-path"}),
        body));
  };
  if (!options.yes && !options.dry_run) {
    const int64_t deleted = checkout(true).at("deleted").get<int64_t>();
    if (deleted > 0) {
      session.confirm(
          str_cat("This checkout deletes ", deleted, deleted == 1 ? " object" : " objects", " of ",
                  to_string(branch), " that ", source.ref, " lacks. Go on?"),
          false);
    }
  }
  const Json counts = checkout(options.dry_run);
  session.out.object("Checkout", counts,
                     {{"added", json_text(counts.at("added"))},
                      {"changed", json_text(counts.at("changed"))},
                      {"deleted", json_text(counts.at("deleted"))},
                      {"unchanged", json_text(counts.at("unchanged"))}});
}

}  // namespace

void add_checkout_path_command(CommandTree& tree) {
  tree.add<CheckoutPathOptions>(
      "checkout-path", "Stage objects of another ref on --branch by reference; no bytes move",
      run_checkout_path);
}

}  // namespace tarn::cli
