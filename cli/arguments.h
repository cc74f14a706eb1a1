// Declarations of commands, their arguments and options. The only user of the parsing library,
// which is slow to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cli/exit_code.h"

namespace CLI {
class App;
}

namespace tarn::cli {

struct Session;

/// One command while it is declared. What options are bound to must outlive the tree.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command& argument(const std::string& name, std::string& into, const std::string& help);
  Command& optional_argument(const std::string& name, std::string& into, const std::string& help);
  /// One or more.
  Command& arguments(const std::string& name, std::vector<std::string>& into,
                     const std::string& help);
  Command& optional_arguments(const std::string& name, std::vector<std::string>& into,
                              const std::string& help);
  /// `names` is "-m,--message".
  Command& option(const std::string& names, std::string& into, const std::string& help);
  Command& option(const std::string& names, int64_t& into, const std::string& help);
  /// May be given several times.
  Command& option(const std::string& names, std::vector<std::string>& into,
                  const std::string& help);
  /// A state without which the command must do nothing. An empty value, as of a variable that a
  /// script did not set, is refused.
  Command& condition(const std::string& names, std::string& into, const std::string& help);
  Command& flag(const std::string& names, bool& into, const std::string& help);
  /// Left out of help and describe(): for programs.
  Command& hidden();

 private:
  CLI::App* app_;
};

struct OptionNote {
  std::vector<std::string> names;  ///< "-m", "--message"
  std::string help;
  std::string value;  ///< "<message>"; "" = a flag
};

struct ArgumentNote {
  std::string name;
  std::string help;
  bool required = false;
  bool repeated = false;
};

/// The description of a command, for completion and for the reference.
struct CommandNote {
  std::string name;     ///< "tarn repo create"
  std::string section;  ///< of the help of `tarn`, under which the command is listed
  std::string help;
  std::vector<OptionNote> options;
  std::vector<ArgumentNote> arguments;
  std::vector<CommandNote> commands;  ///< below a group
};

/// All commands of the program.
class CommandTree {
 public:
  using Run = std::function<ExitCode(Session&)>;

  CommandTree();
  ~CommandTree();

  /// For options that every command takes.
  Command root();
  /// The heading under which help lists the commands that are added next.
  void section(std::string_view heading);
  /// A group that only holds commands: "repo", or "auth users" in a group.
  void group(std::string_view name, const std::string& help);
  /// `path` is "commit", "repo create" or longer; the groups in it must be there already. `run`
  /// takes (Session&, const Options&), after Options::declare(Command&) has said what fills the
  /// options, and returns the exit status, or nothing, which is success. A last word "list" can be
  /// written "ls", "delete" as "rm", and the other way round.
  template <typename Options, typename Function>
  void add(std::string_view path, const std::string& help, Function run) {
    auto options = std::make_shared<Options>();
    Command command = add(
        path, help, Run([options, run](Session& session) {
          if constexpr (std::is_void_v<std::invoke_result_t<Function, Session&, const Options&>>) {
            run(session, *options);
            return ExitCode::kOk;
          } else {
            return run(session, *options);
          }
        }));
    if constexpr (requires { options->declare(command); }) options->declare(command);
  }
  /// For a command that needs more than the session.
  Command add(std::string_view path, const std::string& help, Run run);

  struct Parsed {
    Run run;  ///< empty = nothing to run: `text` is help for standard output
    std::string text{};
    std::string name;  ///< "tarn repo create"
  };
  /// `tarn help NAME` is `tarn NAME --help`. Throws a usage error, which names a mistyped command.
  Parsed parse(std::vector<std::string> arguments);
  /// The root, with everything below it.
  CommandNote describe() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::cli
