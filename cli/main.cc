// The `tarn` command: parses, runs one command, and turns failures into messages and exit statuses.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/failure_advice.h"
#include "cli/name_advice.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct Global {
  Flags flags;
  std::string output = "table";
  ScreenFlags screen;
  bool quiet = false;
};

void declare_global(CommandTree& tree, Global& global) {
  tree.root()
      .option("--endpoint", global.flags.endpoint,
              "URL of the server (TARN_ENDPOINT, http://127.0.0.1:8000)")
      .option("--access-key", global.flags.access_key, "(TARN_ACCESS_KEY)")
      .option("--secret-key", global.flags.secret_key,
              "(TARN_SECRET_KEY, which other users cannot see)")
      .option("--token", global.flags.token, "a token instead of an access key (TARN_TOKEN)")
      .option("--repo", global.flags.repository, "default repository (TARN_REPO)")
      .option("--branch", global.flags.branch, "default branch (TARN_BRANCH)")
      .option("--profile", global.flags.profile, "profile of the configuration file (TARN_PROFILE)")
      .option("--config", global.flags.file,
              "configuration file (TARN_CONFIG, ~/.config/tarn/config.yaml)")
      .option("-o,--output", global.output, "table, json, jsonl, yaml, csv, md or name")
      .option("--color", global.screen.color,
              "colours: auto (on a terminal, unless NO_COLOR is set), always or never")
      .flag("--no-pager", global.screen.no_pager,
            "do not show long lists with TARN_PAGER, PAGER or less")
      .flag("-q,--quiet", global.quiet, "print no messages");
}

Terminal look_at_terminal(const Environment& environment, bool quiet) {
  return {.may_prompt = may_prompt(environment, ::isatty(STDIN_FILENO) != 0),
          .shows_progress = !quiet && ::isatty(STDERR_FILENO) != 0};
}

/// The error with what to do next. Errors of the advice itself must not hide it.
Error explained(Session& session, const std::string& command, const Error& error) {
  const Request* missing = session.client.missing();
  const bool about_a_name =
      error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kInvalidArgument;
  if (about_a_name && missing != nullptr) {
    try {
      const std::string advice = advice_for_missing(session, command, error, Request(*missing));
      if (!advice.empty())
        return Error(error.code(), error.reason(), str_cat(error.message(), "; ", advice));
    } catch (const std::exception&) {
    }
  }
  return with_advice(error, session.settings);
}

void advise_of_emptiness(Session& session) {
  const Request* empty = session.client.empty_list();
  if (empty == nullptr) return;
  try {
    const std::string advice = advice_for_empty(session, Request(*empty));
    if (!advice.empty()) session.out.remark(advice);
  } catch (const std::exception&) {
  }
}

ExitCode run(const CommandTree::Parsed& command, const Global& global) {
  const Environment environment = process_environment();
  const bool logs_in = command.name == "tarn auth login";
  const Settings settings =
      load_settings(global.flags, environment, working_directory(), /*new_profile=*/logs_in);
  Output out(parse_format(global.output), std::cout, std::cerr, global.quiet,
             look_at_screen(global.screen, environment));
  Client client(settings);
  Session session{settings, client, out, look_at_terminal(environment, global.quiet)};
  ExitCode code = ExitCode::kOk;
  try {
    code = command.run(session);
    advise_of_emptiness(session);
  } catch (const Error& error) {
    throw explained(session, command.name, error);
  }
  if (!std::cout.flush()) throw Error(ErrorCode::kInternal, "writing to standard output: failed");
  return code;
}

/// A failure must be printed even if --output or --color is what was wrong.
Format format_or_table(const std::string& word) {
  const auto names = format_names();
  return std::find(names.begin(), names.end(), word) == names.end() ? Format::kTable
                                                                    : parse_format(word);
}

bool colours_of_failures(ScreenFlags flags) {
  if (flags.color != "always" && flags.color != "never") flags.color = "auto";
  return look_at_screen(flags, process_environment()).colours_messages;
}

/// Converts nlohmann's exception for a member that is missing or of another type.
Error strange_answer(const Json::exception& error) {
  return Error(ErrorCode::kInternal,
               str_cat("reading the answer: not what a Tarn server sends (`tarn doctor` looks at "
                       "the endpoint): ",
                       error.what()));
}

ExitCode parse_and_run(const std::vector<std::string>& arguments) {
  CommandTree tree;
  Global global;
  declare_global(tree, global);
  add_commands(tree);
  const auto fail = [&](const Error& error) {
    print_failure(std::cerr, error, format_or_table(global.output),
                  colours_of_failures(global.screen));
    return exit_code_of(error);
  };
  try {
    const CommandTree::Parsed parsed = tree.parse(arguments);
    if (!parsed.run) {
      std::cout << parsed.text;
      return ExitCode::kOk;
    }
    return run(parsed, global);
  } catch (const Error& error) {
    return fail(error);
  } catch (const Json::exception& error) {
    return fail(strange_answer(error));
  } catch (const std::exception& error) {
    return fail(Error(ErrorCode::kInternal, error.what()));
  }
}

}  // namespace
}  // namespace tarn::cli

int main(int argc, char** argv) {
  return static_cast<int>(tarn::cli::parse_and_run({argv + 1, argv + argc}));
}
