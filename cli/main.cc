// The `tarn` command: parses, runs one command, and turns failures into messages and exit statuses.

#include <algorithm>
#include <array>
#include <cctype>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/failure_advice.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

// Advice for names that were taken for something else than they are: a path for a ref, a ref for a
// path or a repository.

bool may_name_branch(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
  });
}

/// Whether the request succeeds; of a list, whether it has an item.
bool finds(Session& session, const Request& request) {
  const Answer answer = session.client.ask(request);
  if (!answer.ok()) return false;
  const Json body = parse_json(answer.body);
  return !body.is_object() || !body.contains("results") || !body["results"].empty();
}

bool is_repository(Session& session, std::string_view name) {
  return !name.empty() && finds(session, {.path = api_path({"repositories", name})});
}

bool is_ref(Session& session, std::string_view repository, std::string_view name) {
  return !name.empty() &&
         finds(session, {.path = api_path({"repositories", repository, "commits", name})});
}

std::string query_of(const Request& request, std::string_view name) {
  const auto at = std::find_if(request.query.begin(), request.query.end(),
                               [&](const auto& pair) { return pair.first == name; });
  return at == request.query.end() ? "" : at->second;
}

/// The branch in which a short path is read.
std::string branch_of(Session& session, const std::string& repository) {
  const Settings& settings = session.settings;
  if (settings.repository.value == repository && !settings.branch.value.empty()) {
    return settings.branch.value;
  }
  const Answer answer = session.client.ask({.path = api_path({"repositories", repository})});
  if (!answer.ok()) return "";
  return json_of(answer).value("default_branch", "");
}

std::string command_about_object(std::string_view command, const Uri& uri) {
  if (command == "tarn log") return str_cat("tarn log --object '", uri.path, '\'');
  if (command == "tarn diff") return str_cat("tarn diff --prefix '", uri.path, '\'');
  return str_cat("tarn fs stat '", to_string(uri), '\'');
}

std::string command_about_prefix(std::string_view command, const Uri& uri) {
  if (command == "tarn log" || command == "tarn diff") {
    return str_cat(command, " --prefix '", uri.path, '\'');
  }
  return str_cat("tarn fs ls '", to_string(uri), '\'');
}

/// Advice about a word that was taken for a ref of the repository.
std::string instead_of_ref(Session& session, std::string_view command,
                           const std::string& repository, const std::string& name) {
  const std::string branch = branch_of(session, repository);
  const std::string objects = api_path({"repositories", repository, "refs", branch, "objects"});
  const std::string lead = str_cat('"', name, "\" is ");
  const std::string tail =
      str_cat(" of tarn://", repository, '/', branch, " and was read as a branch, tag or commit: ");
  if (!name.ends_with('/') &&
      finds(session, {.path = objects + "/stat", .query = {{"path", name}}})) {
    return str_cat(lead, "an object", tail,
                   command_about_object(command, {repository, branch, name}));
  }
  const std::string prefix = name.ends_with('/') ? name : str_cat(name, '/');
  if (finds(session, {.path = objects + "/ls", .query = {{"prefix", prefix}, {"amount", "1"}}})) {
    return str_cat(lead, "a prefix", tail,
                   command_about_prefix(command, {repository, branch, prefix}));
  }
  if (is_repository(session, name.substr(0, name.find('/')))) {
    return str_cat(lead, "was read as a branch, tag or commit of tarn://", repository,
                   ": write tarn://", name, " to name a repository");
  }
  return "";
}

/// Advice about a path whose first part is a ref of the repository.
std::string instead_of_path(Session& session, const std::string& repository,
                            const std::string& path) {
  const size_t slash = std::min(path.find('/'), path.size());
  const std::string ref = path.substr(0, slash);
  if (!is_ref(session, repository, ref)) return "";
  return str_cat('"', ref, "\" is a branch, tag or commit and was read as a path: write tarn://",
                 repository, '/', ref, slash == path.size() ? "/" : path.substr(slash));
}

/// Advice about an alias that is nowhere, such as one that a rollback removed; "" = it is
/// somewhere.
std::string about_alias(Session& session, const std::string& repository, const std::string& ref) {
  const std::string name = ref.substr(1, ref.find_first_of("~^") - 1);
  if (finds(session, {.path = api_path({"repositories", repository, "aliases", name})})) return "";
  return str_cat("@", name, " is nowhere: tarn alias log tarn://", repository, "/", name,
                 " shows where it was");
}

/// Whether the command has -r, for everything below a prefix.
bool takes_prefixes(std::string_view command) {
  constexpr std::array<std::string_view, 4> kRecursive{"tarn fs rm", "tarn fs cp", "tarn fs mv",
                                                       "tarn fs download"};
  return std::find(kRecursive.begin(), kRecursive.end(), command) != kRecursive.end();
}

/// The name to write instead, after the server found nothing for the request of `command`
/// ("tarn log"); "" = nothing else has the name. Sends up to four requests.
std::string advice_for_missing(Session& session, std::string_view command, const Error& error,
                               const Request& missing) {
  const std::vector<std::string> words = api_segments(missing.path);
  constexpr size_t kNamed = 2;   // repositories/lake
  constexpr size_t kMember = 4;  // repositories/lake/branches/main
  if (words.size() < kNamed || words[0] != "repositories") return "";
  const std::string& repository = words[1];
  if (error.reason() == reason::kRepositoryNotFound) {
    const std::string& usual = session.settings.repository.value;
    if (usual.empty() || usual == repository || !is_ref(session, usual, repository)) return "";
    return str_cat('"', repository, "\" is a branch, tag or commit of tarn://", usual,
                   " and was read as a repository: write tarn://", usual, '/', repository,
                   " for it, or leave it out where a repository is wanted");
  }
  if (words.size() >= kMember && words[3].starts_with('@')) {
    if (std::string advice = about_alias(session, repository, words[3]); !advice.empty()) {
      return advice;
    }
  }
  if (error.reason() == reason::kObjectNotFound) {
    const std::string path = query_of(missing, "path");
    const std::string below = path.ends_with('/') ? path : str_cat(path, '/');
    if (words.size() > kMember && !path.empty() &&
        finds(session,
              {.path = api_path({"repositories", repository, "refs", words[3], "objects", "ls"}),
               .query = {{"prefix", below}, {"amount", "1"}}})) {
      return str_cat('"', path, "\" is a prefix with objects below it: ",
                     takes_prefixes(command) ? str_cat(command, " -r") : "tarn fs ls", ' ',
                     to_string({repository, words[3], below}));
    }
    return instead_of_path(session, repository, path);
  }
  constexpr std::array<std::string_view, 3> kOfRefs{"branches", "refs", "commits"};
  const bool named = words.size() >= kMember &&
                     std::find(kOfRefs.begin(), kOfRefs.end(), words[2]) != kOfRefs.end();
  // A request that is wrong otherwise names something that exists.
  const bool refused = error.code() == ErrorCode::kInvalidArgument;
  if (refused && (error.reason() != name_of(error.code()) || !named || may_name_branch(words[3])))
    return "";
  return named ? instead_of_ref(session, command, repository, words[3]) : "";
}

/// The same after a list of the objects below a prefix was empty. Sends one request.
std::string advice_for_empty(Session& session, const Request& empty) {
  const std::vector<std::string> words = api_segments(empty.path);
  const std::string prefix = query_of(empty, "prefix");
  constexpr std::array<std::string_view, 2> kOfPaths{"refs", "usage"};
  const bool of_paths = words.size() >= 3 && words[0] == "repositories" &&
                        std::find(kOfPaths.begin(), kOfPaths.end(), words[2]) != kOfPaths.end();
  if (!of_paths || prefix.empty()) return "";
  return instead_of_path(session, words[1], prefix);
}

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
