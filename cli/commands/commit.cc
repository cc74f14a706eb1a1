// tarn commit
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/expected_objects.h"
#include "cli/commands/operation.h"
#include "cli/message_editor.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// Paths that the editor shows; further ones are only counted as such.
constexpr size_t kPathsShown = 50;

struct CommitOptions {
  std::string branch;
  std::string message;
  std::vector<std::string> metadata;
  bool allow_empty = false;
  bool require_changes = false;
  std::vector<std::string> expected;
  bool only = false;
  std::string head;
  bool async = false;

  void declare(Command& command) {
    command.optional_argument("BRANCH", branch, "tarn://repository/branch, or a name in --repo")
        .option("-m,--message", message,
                "the commit message; without it, on a terminal, an editor opens")
        .option("--meta", metadata, "metadata of the commit, key=value; may be repeated")
        .flag("--allow-empty", allow_empty, "create a commit even if nothing changed")
        .flag("--require-changes", require_changes, "fail if nothing changed")
        .option("--expect", expected,
                "commit only if the branch has these bytes: PATH=SHA256, PATH=FILE or "
                "PREFIX/=DIRECTORY (/=DIRECTORY: the root); may be repeated")
        .flag("--expect-only", only, "commit only if no other object is changed")
        .condition("--expect-head", head, "commit only if this commit is the head of the branch")
        .flag("--async", async,
              "do not wait for a slow request; print the id of its background operation");
  }
};

/// The uncommitted changes, one per line; "" = none.
std::string changes_in_words(Client& client, const Uri& branch) {
  std::string lines;
  size_t shown = 0;
  client.each(
      {.path = api_path({"repositories", branch.repository, "branches", branch.ref, "diff"})},
      [&](const Json& item) {
        if (shown == kPathsShown) {
          lines += "  and more\n";
          return false;
        }
        lines +=
            str_cat("  ", item.value("type", ""), "  ", printable(item.value("path", "")), '\n');
        ++shown;
        return true;
      });
  return lines;
}

/// Throws or prints that there is nothing to commit, as the options demand.
void refuse_to_commit_nothing(Session& session, const Uri& uri, const CommitOptions& options) {
  const std::string why = str_cat("nothing to commit on ", to_string(uri));
  if (options.require_changes) throw Error(ErrorCode::kInvalidArgument, why);
  if (!options.metadata.empty()) {
    throw Error(ErrorCode::kConflict,
                str_cat(why, ", so the metadata was not kept: --allow-empty makes a commit of it"));
  }
  print_no_changes(session.out, "Commit", why);
}

void run_commit(Session& session, const CommitOptions& options) {
  const Uri uri = session.ref(options.branch);
  std::string message = options.message;
  if (message.empty() && may_edit(session)) {
    const std::string changes = changes_in_words(session.client, uri);
    if (changes.empty() && !options.allow_empty) {
      return refuse_to_commit_nothing(session, uri, options);
    }
    message = edit_message("", str_cat("Message of the commit on ", to_string(uri), " of:\n",
                                       changes.empty() ? "  no changes\n" : changes));
  }
  if (message.empty()) {
    throw usage_error("committing: -m MESSAGE is needed (on a terminal an editor opens)");
  }
  Json body{{"message", message},
            {"metadata", metadata_from(options.metadata)},
            {"allow_empty", options.allow_empty}};
  if (!options.expected.empty() || options.only || !options.head.empty()) {
    body["expect"] = {{"objects", expected_objects(session, "--expect", options.expected)},
                      {"only", options.only}};
    if (!options.head.empty()) body["expect"]["head"] = options.head;
  }
  Request request = post_request(
      api_path({"repositories", uri.repository, "branches", uri.ref, "commits"}), body);
  if (options.async) request.headers = no_wait();
  const Answer answer = session.client.ask(request);
  if (print_when_deferred(session, answer)) return;
  if (says_no_changes(answer) && !options.require_changes) {
    return refuse_to_commit_nothing(session, uri, options);
  }
  print_commit(session.out, "Commit", json_of(answer));
}

}  // namespace

void add_commit_command(CommandTree& tree) {
  tree.add<CommitOptions>("commit", "Commit the changes of a branch", run_commit);
}

}  // namespace tarn::cli
