// tarn actions run | list | describe | validate
#include <algorithm>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/local_file.h"
#include "cli/session.h"
#include "core/actions/action_file.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// Runs and hooks too that have not ended.
const std::pair<std::string, std::string> kRunning{"running", "true"};

std::string runs_path(const std::string& repository) {
  return api_path({"repositories", repository, "actions", "runs"});
}

struct RunAction {
  std::string ref;
  std::string event;
  std::string branch;
  std::string tag;
  std::string action;
  bool dry_run = false;

  void declare(Command& command) {
    command
        .argument("REF", ref,
                  "tarn://repository/ref, or a ref in --repo: where the action files are")
        .argument("EVENT", event, "the event: pre-commit, post-merge, ...")
        .option("--on", branch,
                "the branch of the event if it is not REF; for merges the destination")
        .option("--tag", tag, "the tag of an event about a tag")
        .option("--action", action, "only the action with this name")
        .flag("--dry-run", dry_run, "show what would run; run nothing");
  }
};

void print_plan(Session& session, const Json& plan) {
  ListWriter rows = session.out.list("HookPlan", {"action", "hook", "type", "if", "file", "at"});
  for (const Json& hook : plan.value("hooks", Json::array())) {
    rows.add(hook, {hook.value("action", ""), hook.value("hook_id", ""), hook.value("type", ""),
                    hook.value("if", ""), hook.value("file", ""), hook.value("ref", "")});
  }
  rows.finish();
}

Json get_hooks(Client& client, const Uri& run) {
  Json hooks = Json::array();
  const std::string path =
      api_path({"repositories", run.repository, "actions", "runs", run.ref, "hooks"});
  client.each({.path = path, .query = {kRunning}}, [&](const Json& item) {
    Json hook = item;
    const std::string id = hook.value("hook_run_id", "");
    const Answer output = client.ask({.path = api_path({"repositories", run.repository, "actions",
                                                        "runs", run.ref, "hooks", id, "output"})});
    if (!output.ok()) throw error_from(output);
    hook["output"] = output.body;
    hooks.push_back(std::move(hook));
    return true;
  });
  return hooks;
}

/// Exit status 13 unless the run completed.
ExitCode print_run(Session& session, const Uri& uri, Json run) {
  run["repository"] = uri.repository;
  run["hooks"] = get_hooks(session.client, uri);
  const std::string status = run.value("status", "");
  std::vector<std::pair<std::string, std::string>> lines = {
      {"run", to_string(uri)},
      {"event", run.value("event_type", "")},
      {"branch", run.value("branch", "")},
      {"commit", run.value("commit_id", "")},
      {"status", status},
      {"started", run.value("start_time", "")},
      {"ended", run.value("end_time", "")}};
  if (run.contains("error")) lines.emplace_back("error", run.value("error", ""));
  for (const Json& hook : run["hooks"]) {
    const bool skipped = hook.value("skipped", false);
    lines.emplace_back(str_cat(hook.value("action", ""), " / ", hook.value("hook_id", "")),
                       skipped ? "skipped" : hook.value("status", ""));
    std::istringstream output(hook.value("output", ""));
    for (std::string line; std::getline(output, line);) {
      std::replace(line.begin(), line.end(), '\t', ' ');  // which `print` puts between values
      lines.emplace_back("", line);
    }
  }
  session.out.object("HookRun", std::move(run), lines);
  return status == "completed" ? ExitCode::kOk : ExitCode::kHookFailed;
}

ExitCode run_action(Session& session, const RunAction& options) {
  const Uri at = session.ref(options.ref);
  Json body{{"ref", at.ref}, {"event", options.event}, {"dry_run", options.dry_run}};
  if (!options.branch.empty()) body["branch"] = options.branch;
  if (!options.tag.empty()) body["tag"] = options.tag;
  if (!options.action.empty()) body["action"] = options.action;
  Json made = session.client.call(post_request(runs_path(at.repository), body));
  if (options.dry_run) {
    print_plan(session, made);
    return ExitCode::kOk;
  }
  const Uri uri{at.repository, made.value("run_id", ""), ""};
  return print_run(session, uri, std::move(made));
}

struct ListActionRuns {
  std::string repository;
  std::string branch;
  std::string commit;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--of-branch", branch, "only runs of events of this branch")
        .option("--of-commit", commit, "only runs of events of this commit");
  }
};

void list_action_runs(Session& session, const ListActionRuns& options) {
  const Uri uri = session.repository(options.repository);
  Request request{.path = runs_path(uri.repository), .query = {kRunning}};
  if (!options.branch.empty()) request.query.emplace_back("branch", options.branch);
  if (!options.commit.empty()) request.query.emplace_back("commit", options.commit);
  print_list(session, request, "HookRunList",
             {"run", "event", "branch", "status", "started", "commit"},
             [](const Json& item) -> Cells {
               return {item.value("run_id", ""),     item.value("event_type", ""),
                       item.value("branch", ""),     item.value("status", ""),
                       item.value("start_time", ""), item.value("commit_id", "")};
             });
}

struct Describe {
  std::string run;

  void declare(Command& command) {
    command.argument("RUN", run, "tarn://repository/run, or the id of a run in --repo");
  }
};

void describe(Session& session, const Describe& options) {
  const Uri uri = session.ref(options.run);
  Json run = session.client.call(
      {.path = api_path({"repositories", uri.repository, "actions", "runs", uri.ref}),
       .query = {kRunning}});
  print_run(session, uri, std::move(run));
}

struct Validate {
  std::string file;

  void declare(Command& command) {
    command.argument("FILE", file, "a local action file; '-' = standard input");
  }
};

void validate(Session& session, const Validate& options) {
  FileReader reader(options.file);
  std::string text;
  while (text.size() <= actions::kActionFileBytesMax) {
    const std::string_view piece = reader.next();
    if (piece.empty()) break;
    text += piece;
  }
  try {
    const actions::ActionFile file = actions::parse_action_file(text);
    session.out.object("ActionFile",
                       {{"file", options.file},
                        {"name", file.name},
                        {"events", file.events.size()},
                        {"hooks", file.hooks.size()}},
                       {{"action", file.name},
                        {"events", std::to_string(file.events.size())},
                        {"hooks", std::to_string(file.hooks.size())}});
  } catch (const Error& error) {
    throw Error(error.code(), "action_file_invalid",
                str_cat("checking ", options.file, ": ", error.message()));
  }
}

}  // namespace

void add_actions_commands(CommandTree& tree) {
  tree.group("actions", "Hooks: their runs, and running them by hand");
  tree.add<RunAction>("actions run", "Run the hooks of an event, or show which would run",
                      run_action);
  tree.add<ListActionRuns>("actions list", "List hook runs, newest first", list_action_runs);
  tree.add<Describe>("actions describe", "Show a hook run and the output of each hook", describe);
  tree.add<Validate>("actions validate", "Check an action file", validate);
}

}  // namespace tarn::cli
