// tarn reference
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr std::string_view kHead =
    "# Commands of tarn\n"
    "\n"
    "Made by `tarn reference`. `tarn COMMAND --help` says what each argument and option is for; "
    "[cli.md](cli.md) is about all\nof them.\n";

std::string words_of(const OptionNote& option) {
  std::string words;
  for (const std::string& name : option.names) words += str_cat(words.empty() ? "" : ",", name);
  return str_cat('`', words, option.value.empty() ? "" : " ", option.value, '`');
}

std::string options_of(const CommandNote& command) {
  std::string all;
  for (const OptionNote& option : command.options) {
    if (option.names.back() != "--help") all += str_cat(all.empty() ? "" : " ", words_of(option));
  }
  return all;
}

std::string usage_of(const CommandNote& command) {
  std::string usage = command.name;
  for (const ArgumentNote& argument : command.arguments) {
    const std::string name = str_cat(argument.name, argument.repeated ? "..." : "");
    usage += argument.required ? str_cat(' ', name) : str_cat(" [", name, ']');
  }
  return usage;
}

void print_rows(std::ostream& out, const CommandNote& command) {
  if (command.commands.empty() || !command.arguments.empty()) {
    out << "| `" << usage_of(command) << "` | " << command.help << " | " << options_of(command)
        << " |\n";
  }
  for (const CommandNote& below : command.commands) print_rows(out, below);
}

void print_options(std::ostream& out, const CommandNote& root) {
  out << "\n## Options of every command\n\n| option | means |\n|---|---|\n";
  for (const OptionNote& option : root.options) {
    out << "| " << words_of(option) << " | " << option.help << " |\n";
  }
}

}  // namespace

void add_reference_command(CommandTree& tree) {
  tree.add("reference", "Print docs/cli-reference.md",
           [&tree](Session& session) {
             std::ostream& out = session.out.data();
             const CommandNote root = tree.describe();
             out << kHead << "\n| command | does | options |\n|---|---|---|\n";
             print_rows(out, root);
             print_options(out, root);
             return ExitCode::kOk;
           })
      .hidden();
}

}  // namespace tarn::cli
