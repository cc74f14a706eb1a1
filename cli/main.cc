// The `tarn` command: parses, runs one command, and turns failures into messages and exit statuses.
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/failure.h"
#include "cli/session.h"

namespace tarn::cli {
namespace {

struct Global {
  Flags flags;
  std::string output = "table";
  bool quiet = false;
};

void declare_global(CommandTree& tree, Global& global) {
  tree.root()
      .option("--endpoint", global.flags.endpoint,
              "where tarnd is (TARN_ENDPOINT, http://127.0.0.1:8000)")
      .option("--access-key", global.flags.access_key, "(TARN_ACCESS_KEY)")
      .option("--secret-key", global.flags.secret_key,
              "(TARN_SECRET_KEY, which other users cannot see)")
      .option("--repo", global.flags.repository, "repository of short names (TARN_REPO)")
      .option("--branch", global.flags.branch, "branch of short paths (TARN_BRANCH)")
      .option("--config", global.flags.file,
              "configuration file (TARN_CONFIG, ~/.config/tarn/config.yaml)")
      .option("-o,--output", global.output, "table, json, jsonl, csv, md or name")
      .flag("-q,--quiet", global.quiet, "no remarks");
}

void declare_commands(CommandTree& tree) {
  add_repo_commands(tree);
  add_branch_commands(tree);
  add_tag_commands(tree);
  add_commit_command(tree);
  add_log_command(tree);
  add_diff_command(tree);
  add_merge_command(tree);
  add_revert_commands(tree);
  add_import_command(tree);
  add_fs_commands(tree);
  add_fs_transfer_commands(tree);
  add_config_commands(tree);
  add_version_command(tree);
  add_doctor_command(tree);
}

Terminal look_at_terminal(const Environment& environment, bool quiet) {
  return {.may_prompt = may_prompt(environment, ::isatty(STDIN_FILENO) != 0),
          .shows_progress = !quiet && ::isatty(STDERR_FILENO) != 0};
}

ExitCode run(const CommandTree::Run& command, const Global& global) {
  const Environment environment = process_environment();
  const Settings settings = load_settings(global.flags, environment);
  Output out(parse_format(global.output), std::cout, std::cerr, global.quiet);
  Client client(settings);
  Session session{settings, client, out, look_at_terminal(environment, global.quiet)};
  return command(session);
}

ExitCode parse_and_run(const std::vector<std::string>& arguments) {
  CommandTree tree;
  Global global;
  declare_global(tree, global);
  declare_commands(tree);
  try {
    const CommandTree::Parsed parsed = tree.parse(arguments);
    if (!parsed.run) {
      std::cout << parsed.text;
      return ExitCode::kOk;
    }
    return run(parsed.run, global);
  } catch (const Error& error) {
    print_failure(std::cerr, error, global.output == "json" || global.output == "jsonl");
    return exit_code_of(error);
  } catch (const std::exception& error) {
    print_failure(std::cerr, Error(ErrorCode::kInternal, error.what()), false);
    return ExitCode::kFailure;
  }
}

}  // namespace
}  // namespace tarn::cli

int main(int argc, char** argv) {
  return static_cast<int>(tarn::cli::parse_and_run({argv + 1, argv + argc}));
}
