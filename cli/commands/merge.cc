// tarn merge

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/operation.h"
#include "cli/json_text.h"
#include "cli/message_editor.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr int kStatusConflict = 409;
/// Further conflicts are counted, not shown.
constexpr size_t kConflictsShown = 1000;

struct MergeOptions {
  std::string source;
  std::string destination;
  std::string message;
  std::vector<std::string> metadata;
  std::string strategy;
  bool squash = false;
  bool allow_empty = false;
  bool require_changes = false;
  std::vector<std::string> take_source;
  std::vector<std::string> take_destination;
  std::vector<std::string> paths;
  bool no_edit = false;
  bool async = false;

  void declare(Command& command) {
    command.argument("SOURCE", source, "tarn://repository/ref, or a ref in --repo")
        .optional_argument("DESTINATION", destination, "the branch that changes; default --branch")
        .option("-m,--message", message,
                "message of the merge commit; without it, on a terminal, an editor opens")
        .flag("--no-edit", no_edit, "open no editor, let the server choose the message")
        .option("--meta", metadata, "metadata of the commit, key=value; may be repeated")
        .option("--strategy", strategy, "resolve conflicts: source-wins or dest-wins")
        .flag("--squash", squash, "make one commit that does not have the source as a parent")
        .flag("--allow-empty", allow_empty, "create a commit even if nothing changed")
        .flag("--require-changes", require_changes, "fail if nothing changed")
        .option(
            "--take-source", take_source,
            "resolve conflicts of paths that match this pattern with the source; may be repeated")
        .option("--take-dest", take_destination,
                "resolve conflicts of paths that match this pattern with the destination; may be "
                "repeated")
        .option("--path", paths, "merge only paths that match this pattern; may be repeated")
        .flag("--async", async,
              "do not wait for a slow request; print the id of its background operation");
  }
};

Json body_of(const MergeOptions& options, const std::string& message) {
  Json body{{"metadata", metadata_from(options.metadata)},
            {"allow_empty", options.allow_empty},
            {"squash_merge", options.squash}};
  if (!message.empty()) body["message"] = message;
  if (!options.strategy.empty()) body["strategy"] = options.strategy;
  for (const std::string& glob : options.take_source)
    body["resolutions"].push_back({{"glob", glob}, {"take", "source"}});
  for (const std::string& glob : options.take_destination)
    body["resolutions"].push_back({{"glob", glob}, {"take", "dest"}});
  if (!options.paths.empty()) body["paths"] = options.paths;
  return body;
}

/// A merge conflict is answered with the schema of success, other 409s with a message.
bool is_merge_conflict(const Answer& answer) {
  if (answer.status != kStatusConflict) return false;
  const Json body = parse_json(answer.body);
  return answer.reason() == "merge_conflict" || (body.is_object() && body.contains("reference"));
}

ExitCode print_conflicts(Session& session, const Uri& source, const Uri& destination) {
  const Request request{.path = api_path({"repositories", source.repository, "refs",
                                          destination.ref, "diff", source.ref}),
                        .query = {{"type", "three_dot"}}};
  Json paths = Json::array();
  session.client.each(request, [&](const Json& item) {
    if (item.value("type", "") == "conflict") paths.push_back(item.value("path", ""));
    return paths.size() < kConflictsShown;
  });
  session.out.warn(str_cat("tarn: merging ", to_string(source), " into ", to_string(destination),
                           ": both changed these paths; nothing was merged (--strategy says who "
                           "wins, --take-source and --take-dest by path)"));
  ListWriter rows = session.out.list("MergeConflict", {"path"});
  for (const Json& path : paths) rows.add({{"path", path}}, {path.get<std::string>()});
  rows.finish();
  return ExitCode::kConflict;
}

ExitCode run_merge(Session& session, const MergeOptions& options) {
  const Uri source = session.ref(options.source);
  const Uri destination =
      ref_uri(options.destination, {source.repository, session.settings.branch.value});
  need_same_repository(source, destination);
  std::string message = options.message;
  if (message.empty() && !options.no_edit && may_edit(session)) {
    const std::string what = str_cat("'", source.ref, "' into '", destination.ref, "'");
    message = edit_message(str_cat("Merge ", what),
                           str_cat("Message of the merge of ", what, " in ", source.repository));
  }
  Request request = post_request(
      api_path({"repositories", source.repository, "refs", source.ref, "merge", destination.ref}),
      body_of(options, message));
  if (options.async) request.headers = no_wait();
  const Answer answer = session.client.ask(request);
  if (print_when_deferred(session, answer)) return ExitCode::kOk;
  if (is_merge_conflict(answer)) return print_conflicts(session, source, destination);
  if (says_no_changes(answer) && !options.require_changes) {
    print_no_changes(session.out, "Merge",
                     str_cat(to_string(destination), " already has all of ", to_string(source)));
    return ExitCode::kOk;
  }
  const std::string commit = json_of(answer).value("reference", "");
  session.out.object("Merge", {{"reference", commit}, {"changed", true}}, {{"commit", commit}});
  return ExitCode::kOk;
}

}  // namespace

void add_merge_command(CommandTree& tree) {
  tree.add<MergeOptions>("merge", "Merge a ref into a branch", run_merge);
}

// tarn find-merge-base

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
