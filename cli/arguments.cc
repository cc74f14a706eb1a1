#include "cli/arguments.h"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>

#include "core/base/str_cat.h"

namespace tarn::cli {

struct CommandTree::State {
  CLI::App app{"Git-like branches for your object store.\nURIs name things: tarn://repository/branch/path", "tarn"};
  std::vector<std::pair<const CLI::App*, Run>> runs;
};

namespace {

constexpr const char* kFooter =
    "Exit status: 0 done, or nothing to do; 1 failed; 2 usage; 3 not allowed; 4 not found; 5 exists; 6 conflict;\n"
    "7 destination moved; 8 timeout, the work goes on; 9 server unavailable; 13 hook failed; 20 some items failed";

const CLI::App* chosen(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

}  // namespace

Command& Command::argument(const std::string& name, std::string& into, const std::string& help) {
  app_->add_option(name, into, help)->required();
  return *this;
}

Command& Command::optional_argument(const std::string& name, std::string& into, const std::string& help) {
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

Command& Command::option(const std::string& names, std::vector<std::string>& into, const std::string& help) {
  app_->add_option(names, into, help)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Command& Command::flag(const std::string& names, bool& into, const std::string& help) {
  app_->add_flag(names, into, help);
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
  CLI::App* group = state_->app.add_subcommand(std::string(name), help);
  group->require_subcommand(1);
  group->fallthrough();
}

Command CommandTree::add_command(std::string_view path, const std::string& help, Run run) {
  CLI::App* parent = &state_->app;
  const size_t space = path.find(' ');
  if (space != std::string_view::npos) {
    parent = parent->get_subcommand(std::string(path.substr(0, space)));
    path.remove_prefix(space + 1);
  }
  CLI::App* command = parent->add_subcommand(std::string(path), help);
  command->fallthrough();
  state_->runs.emplace_back(command, std::move(run));
  return Command(command);
}

CommandTree::Parsed CommandTree::parse(std::vector<std::string> arguments) {
  // CLI11 takes them last one first.
  std::reverse(arguments.begin(), arguments.end());
  try {
    state_->app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return {{}, chosen(state_->app)->help(), ""};
  } catch (const CLI::ParseError& error) {
    const CLI::App* app = chosen(state_->app);
    throw usage_error(str_cat(error.what(), "\nsee: tarn ", app == &state_->app ? "" : app->get_name() + " ", "--help"));
  }
  const CLI::App* app = chosen(state_->app);
  for (const auto& [candidate, run] : state_->runs) {
    if (candidate != app) continue;
    const bool grouped = app->get_parent() != &state_->app;
    return {run, "", grouped ? str_cat(app->get_parent()->get_name(), ' ', app->get_name()) : app->get_name()};
  }
  return {{}, app->help(), ""};
}

}  // namespace tarn::cli
