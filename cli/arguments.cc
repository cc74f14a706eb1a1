#include "cli/arguments.h"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>

#include "core/base/str_cat.h"

namespace tarn::cli {

struct CommandTree::State {
  CLI::App app{
      "Git-like branches for your object store.\nURIs name things: tarn://repository/branch/path",
      "tarn"};
  std::vector<std::pair<const CLI::App*, Run>> runs;
};

namespace {

constexpr const char* kFooter =
    "Exit status: 0 done, or nothing to do; 1 failed; 2 usage; 3 not allowed; 4 not found; 5 "
    "exists; 6 conflict;\n"
    "7 destination moved; 8 timeout, the work goes on; 9 server unavailable; 10 gate failed; 11 "
    "metric missing;\n"
    "12 approval or check wanted; 13 hook failed; 20 some items failed; 130 interrupted";

const CLI::App* chosen(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

/// "tarn repo create"
std::string full_name(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent == nullptr ? app->get_name() : str_cat(full_name(parent), ' ', app->get_name());
}

std::string help_of(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return app->help(parent == nullptr ? "" : full_name(parent));
}

/// Adds the last word of `path` as a command below the groups of the other words.
CLI::App* subcommand(CLI::App& root, std::string_view path, const std::string& help) {
  CLI::App* parent = &root;
  for (size_t space = path.find(' '); space != std::string_view::npos; space = path.find(' ')) {
    parent = parent->get_subcommand(std::string(path.substr(0, space)));
    path.remove_prefix(space + 1);
  }
  return parent->add_subcommand(std::string(path), help);
}

OptionNote note_of_option(const CLI::Option& option) {
  OptionNote note{{}, option.get_description(), option.get_items_expected_max() > 0};
  for (const std::string& name : option.get_snames()) note.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) note.names.push_back("--" + name);
  return note;
}

CommandNote note_of(const CLI::App* app) {
  CommandNote note{full_name(app), app->get_description(), {}, {}, {}};
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_positional()) {
      note.arguments.push_back({option->get_name(true), option->get_description(),
                                option->get_required(), option->get_items_expected_max() > 1});
    } else {
      note.options.push_back(note_of_option(*option));
    }
  }
  for (const CLI::App* below : app->get_subcommands({})) {
    if (!below->get_group().empty()) note.commands.push_back(note_of(below));
  }
  return note;
}

}  // namespace

Command& Command::argument(const std::string& name, std::string& into, const std::string& help) {
  app_->add_option(name, into, help)->required();
  return *this;
}

Command& Command::optional_argument(const std::string& name, std::string& into,
                                    const std::string& help) {
  app_->add_option(name, into, help);
  return *this;
}

Command& Command::arguments(const std::string& name, std::vector<std::string>& into,
                            const std::string& help) {
  app_->add_option(name, into, help)->required();
  return *this;
}

Command& Command::optional_arguments(const std::string& name, std::vector<std::string>& into,
                                     const std::string& help) {
  app_->add_option(name, into, help);
  return *this;
}

Command& Command::option(const std::string& names, std::string& into, const std::string& help) {
  app_->add_option(names, into, help);
  return *this;
}

Command& Command::option(const std::string& names, int64_t& into, const std::string& help) {
  app_->add_option(names, into, help);
  return *this;
}

Command& Command::option(const std::string& names, std::vector<std::string>& into,
                         const std::string& help) {
  app_->add_option(names, into, help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Command& Command::flag(const std::string& names, bool& into, const std::string& help) {
  app_->add_flag(names, into, help);
  return *this;
}

Command& Command::hidden() {
  app_->group("");
  return *this;
}

CommandTree::CommandTree() : state_(std::make_unique<State>()) {
  state_->app.require_subcommand(1);
  state_->app.fallthrough();
  state_->app.footer(kFooter);
}

CommandTree::~CommandTree() = default;

Command CommandTree::root() { return Command(&state_->app); }

void CommandTree::group(std::string_view name, const std::string& help) {
  CLI::App* group = subcommand(state_->app, name, help);
  group->require_subcommand(1);
  group->fallthrough();
}

Command CommandTree::add(std::string_view path, const std::string& help, Run run) {
  CLI::App* command = subcommand(state_->app, path, help);
  command->fallthrough();
  state_->runs.emplace_back(command, std::move(run));
  return Command(command);
}

CommandNote CommandTree::describe() const { return note_of(&state_->app); }

CommandTree::Parsed CommandTree::parse(std::vector<std::string> arguments) {
  if (arguments.empty()) throw usage_error(str_cat("which command?\n\n", help_of(&state_->app)));
  // CLI11 expects the last argument first.
  std::reverse(arguments.begin(), arguments.end());
  try {
    state_->app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return {{}, help_of(chosen(state_->app)), ""};
  } catch (const CLI::ParseError& error) {
    throw usage_error(str_cat(error.what(), "\nsee: ", full_name(chosen(state_->app)), " --help"));
  }
  const CLI::App* app = chosen(state_->app);
  for (const auto& [candidate, run] : state_->runs) {
    if (candidate == app) return {run, "", full_name(app)};
  }
  return {{}, help_of(app), full_name(app)};
}

}  // namespace tarn::cli
