#include "cli/arguments.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/examples.h"
#include "cli/suggestion.h"
#include "core/base/str_cat.h"

namespace tarn::cli {

struct CommandTree::State {
  CLI::App app{
      "Git-like branches for your object store.\nURIs name things: tarn://repository/branch/path",
      "tarn"};
  std::vector<std::pair<const CLI::App*, Run>> runs;
  std::string section = "Commands";
};

namespace {

constexpr const char* kFooter =
    "Exit status: 0 done, or nothing to do; 1 failed; 2 usage; 3 not allowed; 4 not found; 5 "
    "exists; 6 conflict;\n"
    "7 destination moved; 8 timeout, the work goes on; 9 server unavailable; 10 gate failed; 11 "
    "metric missing;\n"
    "12 approval or check wanted; 13 hook failed; 14 a quota, disk or limit is full; 20 some items "
    "failed;\n"
    "130 interrupted";

constexpr size_t kNamesShownMax = 3;  // as what an unknown command may mean
constexpr const char* kGlobalOptions = "Options of every command: tarn --help";

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
  if (parent == nullptr) return app->help();
  const std::string name = full_name(app);
  std::string help = app->help(full_name(parent));
  while (help.ends_with("\n\n")) help.pop_back();
  if (const auto example = example_of(name)) help += str_cat("\nExample:\n  ", *example, '\n');
  return help + str_cat('\n', kGlobalOptions, '\n');
}

/// "<message>" of "-m,--message".
std::string value_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? "<value>" : str_cat('<', option.get_lnames().front(), '>');
}

std::vector<std::string> names_below(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* below : app.get_subcommands({})) {
    if (!below->get_group().empty()) names.push_back(below->get_name());
  }
  return names;
}

const CLI::App* find_below(const CLI::App& app, const std::string& word) {
  for (const CLI::App* below : app.get_subcommands({})) {
    if (below->check_name(word)) return below;
  }
  return nullptr;
}

/// The commands that are called `word` in the groups below `app`. Objects come first: they are what
/// users of other tools mean who leave the group out.
std::vector<std::string> names_in_groups(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* group : app.get_subcommands({})) {
    if (group->get_group().empty() || find_below(*group, word) == nullptr) continue;
    const bool objects = group->get_name() == "fs";
    names.insert(objects ? names.begin() : names.end(), str_cat(full_name(group), ' ', word));
  }
  if (names.size() > kNamesShownMax) names.resize(kNamesShownMax);
  return names;
}

/// The commands that do what a word of git or of the AWS command does.
std::vector<std::string> counterparts_of(const std::string& word) {
  static const std::map<std::string, std::vector<std::string>> kCounterparts = {
      {"clone", {"tarn fs download -r", "tarn fs archive"}},
      {"pull", {"tarn fs download -r --delete"}},
      {"fetch", {"tarn fs download -r"}},
      {"push", {"tarn fs upload -r --delete"}},
      {"sync", {"tarn fs upload -r --delete", "tarn fs download -r --delete"}},
      {"checkout", {"tarn fs download -r", "tarn branch create"}},
  };
  const auto found = kCounterparts.find(word);
  return found == kCounterparts.end() ? std::vector<std::string>() : found->second;
}

/// "" if no command is near.
std::string meant_by(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names = names_in_groups(app, word);
  if (names.empty() && app.get_parent() == nullptr) names = counterparts_of(word);
  if (names.empty()) {
    const auto near = closest_word(word, names_below(app));
    if (near) names.push_back(str_cat(full_name(&app), ' ', *near));
  }
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view before = i == 0                 ? "; did you mean "
                                    : i + 1 < names.size() ? ", "
                                                           : " or ";
    out += str_cat(before, '"', names[i], '"');
  }
  return out.empty() ? out : out + "?";
}

/// Whether the option that is written as `word` takes the next word as its value.
bool takes_next_word(const CLI::App& app, const std::string& word) {
  if (word.find('=') != std::string::npos) return false;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    const CLI::Option* option = at->get_option_no_throw(word);
    if (option != nullptr) return option->get_items_expected_max() > 0;
  }
  return false;
}

/// The option of the command, or of one above it, that the word writes: "-n", "-n5", "--amount=5".
const CLI::Option* find_option(const CLI::App& app, const std::string& word) {
  const std::string name =
      word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    if (const CLI::Option* option = at->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

/// The words that a mistyped option probably stands for; "" = unknown.
std::string option_meant_by(const CLI::App& app, const std::string& word) {
  const bool is_long = word.starts_with("--");
  const bool is_group = app.get_require_subcommand_min() > 0;
  if (!is_long && std::isdigit(static_cast<unsigned char>(word[1])) != 0) {
    return app.get_option_no_throw("--amount") == nullptr ? "" : "-n " + word.substr(1);
  }
  if (!is_long && is_group) {
    // Git's `branch -d` is the command `branch delete` here.
    if (app.get_parent() == nullptr && (word == "-v" || word == "-V")) return "tarn --version";
    const std::vector<std::string> below = names_below(app);
    const auto at = std::find_if(below.begin(), below.end(),
                                 [&](const std::string& name) { return name[0] == word[1]; });
    return at == below.end() ? "" : str_cat(full_name(&app), ' ', *at);
  }
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return closest_word(word.substr(0, word.find('=')), names).value_or("");
}

[[noreturn]] void refuse_option(const CLI::App& app, const std::string& word) {
  const std::string meant = option_meant_by(app, word);
  throw usage_error(str_cat('"', full_name(&app), "\" has no option ",
                            word.substr(0, word.find('=')),
                            meant.empty() ? "" : str_cat("; did you mean \"", meant, "\"?"),
                            "\nsee: ", full_name(&app), " --help"));
}

/// Throws if a word stands where the name of a command must, and for options that do not exist.
/// CLI11 says only that one is missing, or blames the next argument.
void check_names(const CLI::App& root, const std::vector<std::string>& arguments) {
  const CLI::App* at = &root;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "-h" || word == "--help" || word == "--" || at->get_group().empty()) return;
    if (word.starts_with('-') && word != "-") {
      if (find_option(*at, word) == nullptr) refuse_option(*at, word);
      if (takes_next_word(*at, word)) ++i;
      continue;
    }
    const CLI::App* below = find_below(*at, word);
    if (below == nullptr && at->get_require_subcommand_min() == 0) continue;
    if (below == nullptr) {
      throw usage_error(str_cat("there is no command \"", full_name(at), ' ', word, '"',
                                meant_by(*at, word), "\nsee: ", full_name(at), " --help"));
    }
    at = below;
  }
  if (at->get_require_subcommand_min() > 0) {
    throw usage_error(str_cat("which command?\n\n", help_of(at)));
  }
}

/// The other usual name of a command.
std::optional<std::string> alias_of(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
      {"list", "ls"}, {"ls", "list"}, {"delete", "rm"}, {"rm", "delete"}, {"remove", "rm"}};
  for (const auto& [known, other] : kAliases) {
    if (name == known) return std::string(other);
  }
  return std::nullopt;
}

/// Adds the last word of `path` as a command below the groups of the other words.
CLI::App* subcommand(CLI::App& root, std::string_view path, const std::string& help) {
  CLI::App* parent = &root;
  for (size_t space = path.find(' '); space != std::string_view::npos; space = path.find(' ')) {
    parent = parent->get_subcommand(std::string(path.substr(0, space)));
    path.remove_prefix(space + 1);
  }
  CLI::App* command = parent->add_subcommand(std::string(path), help);
  command->footer("");  // the root's, which a new command inherits
  if (const auto alias = alias_of(path)) command->alias(*alias);
  return command;
}

OptionNote note_of_option(const CLI::Option& option) {
  OptionNote note{{},
                  option.get_description(),
                  option.get_items_expected_max() > 0 ? value_name(option) : std::string()};
  for (const std::string& name : option.get_snames()) note.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) note.names.push_back("--" + name);
  return note;
}

CommandNote note_of(const CLI::App* app) {
  CommandNote note{full_name(app), app->get_group(), app->get_description(), {}, {}, {}};
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
  app_->add_option(name, into, help)->required()->type_name("");
  return *this;
}

Command& Command::optional_argument(const std::string& name, std::string& into,
                                    const std::string& help) {
  app_->add_option(name, into, help)->type_name("");
  return *this;
}

Command& Command::arguments(const std::string& name, std::vector<std::string>& into,
                            const std::string& help) {
  app_->add_option(name, into, help)->required()->type_name("");
  return *this;
}

Command& Command::optional_arguments(const std::string& name, std::vector<std::string>& into,
                                     const std::string& help) {
  app_->add_option(name, into, help)->type_name("");
  return *this;
}

Command& Command::option(const std::string& names, std::string& into, const std::string& help) {
  CLI::Option* option = app_->add_option(names, into, help);
  option->type_name(value_name(*option));
  return *this;
}

Command& Command::option(const std::string& names, int64_t& into, const std::string& help) {
  CLI::Option* option = app_->add_option(names, into, help);
  option->type_name(value_name(*option));
  return *this;
}

Command& Command::option(const std::string& names, std::vector<std::string>& into,
                         const std::string& help) {
  CLI::Option* option = app_->add_option(names, into, help);
  option->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name(value_name(*option));
  return *this;
}

Command& Command::condition(const std::string& names, std::string& into, const std::string& help) {
  CLI::Option* option = app_->add_option(names, into, help);
  option->type_name(value_name(*option))->check([](const std::string& value) {
    return value.empty() ? std::string("is empty; leave it out to go on in any state") : "";
  });
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

void CommandTree::section(std::string_view heading) { state_->section = heading; }

void CommandTree::group(std::string_view name, const std::string& help) {
  CLI::App* group = subcommand(state_->app, name, help);
  group->require_subcommand(1);
  group->fallthrough();
  if (group->get_parent() == &state_->app) group->group(state_->section);
}

Command CommandTree::add(std::string_view path, const std::string& help, Run run) {
  CLI::App* command = subcommand(state_->app, path, help);
  command->fallthrough();
  if (command->get_parent() == &state_->app) command->group(state_->section);
  state_->runs.emplace_back(command, std::move(run));
  return Command(command);
}

CommandNote CommandTree::describe() const { return note_of(&state_->app); }

CommandTree::Parsed CommandTree::parse(std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  if (arguments == std::vector<std::string>{"--version"}) arguments = {"version"};
  check_names(state_->app, arguments);
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
