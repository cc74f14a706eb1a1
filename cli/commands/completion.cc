// tarn completion bash | zsh | fish
#include "cli/completion.h"

#include <array>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// Maximum number of suggestions; with more, users continue typing.
constexpr std::string_view kNamesMax = "100";
/// Short, because the user waits after pressing a key.
constexpr std::chrono::seconds kConnectMax{1};
constexpr std::chrono::seconds kAnswerMax{3};

enum class Kind {
  kRepository,
  kBranch,
  kTag,
  kAlias,
  kRef,
  kPath,
  kPathOrFile,
  kFile,
  kFormat,
  kAccount
};

/// The kinds of values of all arguments and options, by name.
struct Value {
  std::string_view name;
  Kind kind;
  std::string_view list = "";  ///< of accounts: where they are listed
};

constexpr std::array<Value, 27> kValues{{
    {"REPOSITORY", Kind::kRepository},
    {"--repo", Kind::kRepository},
    {"BRANCH", Kind::kBranch},
    {"DESTINATION", Kind::kBranch},
    {"--branch", Kind::kBranch},
    {"TAG", Kind::kTag},
    {"ALIAS", Kind::kAlias},
    {"REF", Kind::kRef},
    {"COMMIT", Kind::kRef},
    {"LEFT", Kind::kRef},
    {"RIGHT", Kind::kRef},
    {"SOURCE", Kind::kRef},
    {"--source", Kind::kRef},
    {"--to", Kind::kRef},
    {"--stop-at", Kind::kRef},
    {"OBJECT", Kind::kPath},
    {"PREFIX", Kind::kPath},
    {"TARGET", Kind::kPath},
    {"FROM", Kind::kPathOrFile},
    {"TO", Kind::kPathOrFile},
    {"LOCAL", Kind::kFile},
    {"FILE", Kind::kFile},
    {"--config", Kind::kFile},
    {"--output", Kind::kFormat},
    {"USER", Kind::kAccount, "/auth/users"},
    {"GROUP", Kind::kAccount, "/auth/groups"},
    {"POLICY", Kind::kAccount, "/auth/policies"},
}};

const Value* find_value(std::string_view name) {
  const auto found = std::find_if(kValues.begin(), kValues.end(),
                                  [&](const Value& value) { return value.name == name; });
  return found == kValues.end() ? nullptr : &*found;
}

Settings settings_with(const Completion& completion) {
  Flags flags;
  for (const auto& [name, value] : completion.given) {
    if (name == "--endpoint") flags.endpoint = value;
    if (name == "--access-key") flags.access_key = value;
    if (name == "--secret-key") flags.secret_key = value;
    if (name == "--token") flags.token = value;
    if (name == "--repo") flags.repository = value;
    if (name == "--profile") flags.profile = value;
    if (name == "--config") flags.file = value;
  }
  return load_settings(flags, process_environment(), working_directory());
}

/// Prints the values that start with the typed text.
class Values {
 public:
  Values(Output& out, const Completion& completion)
      : out_(out),
        completion_(completion),
        settings_(settings_with(completion)),
        client_(settings_, {.attempts = 1, .connect = kConnectMax, .answer = kAnswerMax}) {}

  void print(const Value& value) {
    const std::string& typed = completion_.value;
    if (value.kind == Kind::kFormat) return print_formats();
    if (value.kind == Kind::kAccount) return print_list(std::string(value.list), "", typed, "");
    if (value.kind == Kind::kFile) return print_word(":files");
    const size_t scheme = typed.find("://");
    if (scheme != std::string::npos) return print_uris(value.kind, scheme + 3);
    if (value.kind == Kind::kPathOrFile) print_word(":files");
    if (std::string_view("tarn://").starts_with(typed)) print_word("tarn://");
    const std::string& repository = settings_.repository.value;
    if (value.kind == Kind::kRepository) return print_list("/repositories", "", typed, "");
    if (!repository.empty()) print_refs(value.kind, repository, "", typed, "");
  }

 private:
  void print_word(std::string_view word) { out_.data() << completion_.lead << word << "\t\n"; }

  void print_formats() {
    for (std::string_view name : format_names()) {
      if (name.starts_with(completion_.value)) print_word(name);
    }
  }

  /// The names in a list that begin with `prefix`, between `lead` and `tail`.
  void print_list(const std::string& path, const std::string& lead, const std::string& prefix,
                  std::string_view tail) {
    const Json page = client_.call(
        {.path = path, .query = {{"prefix", prefix}, {"amount", std::string(kNamesMax)}}});
    for (const Json& item : page.at("results")) {
      print_word(str_cat(lead, item.at("id").get<std::string>(), tail));
    }
  }

  void print_refs(Kind kind, const std::string& repository, const std::string& lead,
                  const std::string& prefix, std::string_view tail) {
    const std::string path = api_path({"repositories", repository});
    if (kind == Kind::kBranch || kind == Kind::kRef || !tail.empty())
      print_list(path + "/branches", lead, prefix, tail);
    if (kind == Kind::kTag || kind == Kind::kRef || !tail.empty())
      print_list(path + "/tags", lead, prefix, tail);
    if (kind == Kind::kAlias || kind == Kind::kRef || !tail.empty())
      print_aliases(kind, path, lead, prefix, tail);
  }

  /// The names begin with '@' where refs are wanted; commands about aliases use them without.
  void print_aliases(Kind kind, const std::string& path, const std::string& lead,
                     const std::string& prefix, std::string_view tail) {
    const bool typed = prefix.starts_with('@');
    if (typed || prefix.empty()) {
      print_list(path + "/aliases", lead + "@", prefix.substr(typed ? 1 : 0), tail);
    } else if (kind == Kind::kAlias) {
      print_list(path + "/aliases", lead, prefix, tail);
    }
  }

  void print_paths(const Uri& uri, const std::string& lead) {
    const Json page = client_.call(
        {.path = api_path({"repositories", uri.repository, "refs", uri.ref, "objects", "ls"}),
         .query = {{"prefix", uri.path}, {"delimiter", "/"}, {"amount", std::string(kNamesMax)}}});
    for (const Json& item : page.at("results")) {
      print_word(str_cat(lead, item.at("path").get<std::string>()));
    }
  }

  /// A URI in the scheme that the user typed; its names start at `at`.
  void print_uris(Kind kind, size_t at) {
    const std::string& typed = completion_.value;
    const bool has_path = kind == Kind::kPath || kind == Kind::kPathOrFile;
    const size_t first = typed.find('/', at);
    if (first == std::string::npos) {
      return print_list("/repositories", typed.substr(0, at), typed.substr(at),
                        kind == Kind::kRepository ? "" : "/");
    }
    const std::string repository = typed.substr(at, first - at);
    const size_t second = typed.find('/', first + 1);
    if (second == std::string::npos) {
      return print_refs(kind, repository, typed.substr(0, first + 1), typed.substr(first + 1),
                        has_path ? "/" : "");
    }
    if (!has_path) return;
    print_paths({repository, typed.substr(first + 1, second - first - 1), typed.substr(second + 1)},
                typed.substr(0, second + 1));
  }

  Output& out_;
  const Completion& completion_;
  const Settings settings_;
  Client client_;
};

struct Words {
  std::vector<std::string> words;
};

/// Prints one candidate per line, followed by a tab and help; ":files" stands for file names.
ExitCode print_words(Session& session, const CommandNote& root, const Words& options) {
  const Completion completion = complete(root, options.words);
  for (const Candidate& candidate : completion.candidates) {
    session.out.data() << candidate.word << '\t' << candidate.help << '\n';
  }
  if (const Value* value = find_value(completion.value_of)) {
    Values(session.out, completion).print(*value);
  }
  return ExitCode::kOk;
}

struct Script {
  std::string shell;

  void declare(Command& command) { command.argument("SHELL", shell, "bash, zsh or fish"); }
};

void run_completion(Session& session, const Script& options) {
  session.out.data() << completion_script(options.shell);
}

}  // namespace

void add_completion_command(CommandTree& tree) {
  tree.add<Script>("completion", "Print a completion script for a shell", run_completion);
  const auto words = std::make_shared<Words>();
  tree.add("complete", "What the shells ask",
           [&tree, words](Session& session) {
             return print_words(session, tree.describe(), *words);
           })
      .hidden()
      .optional_arguments("WORDS", words->words, "behind the program's name, behind --");
}

}  // namespace tarn::cli
