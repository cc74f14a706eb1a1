#include "cli/arguments.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct CreateOptions {
  std::string name;
  std::string message;
  std::vector<std::string> metadata;
  std::string expect;
  int64_t amount = 0;
  bool yes = false;

  void declare(Command& command) {
    command.argument("NAME", name, "n")
        .option("-m,--message", message, "m")
        .option("--meta", metadata, "m")
        .condition("--expect", expect, "e")
        .option("-n,--amount", amount, "n")
        .flag("-y,--yes", yes, "y");
  }
};

CreateOptions seen_options;

class Arguments : public testing::Test {
 protected:
  Arguments() {
    tree_.root().option("-o,--output", output_, "format");
    tree_.group("repo", "Repositories");
    tree_.add<CreateOptions>("repo create", "Make one", [](Session&, const CreateOptions& options) {
      seen_options = options;
      return ExitCode::kOk;
    });
    tree_.add<CreateOptions>("commit", "Commit",
                             [](Session&, const CreateOptions&) { return ExitCode::kConflict; });
  }

  ExitCode exit_of(const std::vector<std::string>& arguments) {
    try {
      tree_.parse(arguments);
    } catch (const Error& error) {
      message_ = error.message();
      return exit_code_of(error);
    }
    return ExitCode::kOk;
  }

  CommandTree tree_;
  std::string output_;
  std::string message_;
};

TEST_F(Arguments, ReachTheCommand) {
  const CommandTree::Parsed parsed =
      tree_.parse({"repo", "create", "lake", "-m", "a b", "--meta", "k=v", "--meta", "l=w",
                   "--amount", "7", "-y", "-o", "json"});
  ASSERT_TRUE(parsed.run);
  EXPECT_EQ(parsed.name, "tarn repo create");
  EXPECT_EQ(output_, "json");
  Session* const none = nullptr;
  parsed.run(*none);
  EXPECT_EQ(seen_options.name, "lake");
  EXPECT_EQ(seen_options.message, "a b");
  EXPECT_EQ(seen_options.metadata, (std::vector<std::string>{"k=v", "l=w"}));
  EXPECT_EQ(seen_options.amount, 7);
  EXPECT_TRUE(seen_options.yes);
}

TEST_F(Arguments, GlobalOptionsMayBeAnywhere) {
  tree_.parse({"-o", "csv", "commit", "x"});
  EXPECT_EQ(output_, "csv");
}

TEST_F(Arguments, OptionTakesOneValueOnly) {
  const CommandTree::Parsed parsed = tree_.parse({"repo", "create", "--meta", "k=v", "lake"});
  Session* const none = nullptr;
  parsed.run(*none);
  EXPECT_EQ(seen_options.name, "lake");
  EXPECT_EQ(seen_options.metadata, (std::vector<std::string>{"k=v"}));
}

TEST_F(Arguments, AnEmptyConditionIsNotNone) {
  EXPECT_EQ(exit_of({"repo", "create", "lake", "--expect", ""}), ExitCode::kUsage);
  EXPECT_NE(message_.find("--expect: is empty"), std::string::npos) << message_;
  EXPECT_EQ(exit_of({"repo", "create", "lake", "--expect="}), ExitCode::kUsage);
  EXPECT_EQ(exit_of({"repo", "create", "lake", "--expect", "main"}), ExitCode::kOk);
}

TEST_F(Arguments, MistakesAreUsageErrorsThatNameTheHelp) {
  EXPECT_EQ(exit_of({"repo", "create"}), ExitCode::kUsage);
  EXPECT_NE(message_.find("tarn repo create --help"), std::string::npos);
  EXPECT_EQ(exit_of({"repo", "creat"}), ExitCode::kUsage);
  EXPECT_EQ(exit_of({"commit", "x", "--nope"}), ExitCode::kUsage);
  EXPECT_EQ(exit_of({"commit", "x", "y"}), ExitCode::kUsage);
  EXPECT_EQ(exit_of({"commit", "x", "--amount", "many"}), ExitCode::kUsage);
  EXPECT_EQ(exit_of({}), ExitCode::kUsage);
}

TEST_F(Arguments, MistypedOptionsAreNamed) {
  const auto nothing = [](Session&, const CreateOptions&) { return ExitCode::kOk; };
  tree_.add<CreateOptions>("repo delete", "Delete one", nothing);
  const struct {
    std::vector<std::string> words;
    std::string expected;
  } kRows[] = {
      {{"commit", "x", "--mesage", "m"},
       "\"tarn commit\" has no option --mesage; did you mean \"--message\"?"},
      {{"commit", "--amuont=5", "x"},
       "\"tarn commit\" has no option --amuont; did you mean \"--amount\"?"},
      {{"repo", "create", "x", "--outptu", "json"},
       "\"tarn repo create\" has no option --outptu; did you mean \"--output\"?"},
      {{"commit", "-5", "x"}, "\"tarn commit\" has no option -5; did you mean \"-n 5\"?"},
      {{"repo", "-d", "x"}, "\"tarn repo\" has no option -d; did you mean \"tarn repo delete\"?"},
      {{"-v"}, "\"tarn\" has no option -v; did you mean \"tarn --version\"?"},
      {{"commit", "x", "-z"}, "\"tarn commit\" has no option -z"},
      {{"commit", "x", "--frobnicate"}, "\"tarn commit\" has no option --frobnicate"},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(exit_of(row.words), ExitCode::kUsage) << row.expected;
    EXPECT_EQ(message_.substr(0, message_.find('\n')), row.expected);
  }
  for (const std::vector<std::string>& fine :
       std::vector<std::vector<std::string>>{{"commit", "x", "-n5"},
                                             {"commit", "-m", "-z", "x"},
                                             {"commit", "--meta=-z", "-"},
                                             {"commit", "--", "-z"},
                                             {"-o", "json", "commit", "x", "-y"}}) {
    EXPECT_EQ(exit_of(fine), ExitCode::kOk) << fine[1] << ": " << message_;
  }
}

TEST_F(Arguments, MistypedCommandsAreNamed) {
  EXPECT_EQ(exit_of({"-o", "json", "comit", "x"}), ExitCode::kUsage);
  EXPECT_EQ(message_,
            "there is no command \"tarn comit\"; did you mean \"tarn commit\"?\nsee: tarn --help");
  EXPECT_EQ(exit_of({"repo", "--output=json", "creat", "x"}), ExitCode::kUsage);
  EXPECT_EQ(message_,
            "there is no command \"tarn repo creat\"; did you mean \"tarn repo create\"?\n"
            "see: tarn repo --help");
  EXPECT_EQ(exit_of({"frobnicate"}), ExitCode::kUsage);
  EXPECT_EQ(message_, "there is no command \"tarn frobnicate\"\nsee: tarn --help");
  EXPECT_EQ(exit_of({"help", "comit"}), ExitCode::kUsage);
  EXPECT_EQ(exit_of({"repo"}), ExitCode::kUsage);
  EXPECT_TRUE(message_.starts_with("which command?\n\nRepositories\n")) << message_;
}

TEST_F(Arguments, CommandsWithoutTheirGroupAreNamed) {
  const auto nothing = [](Session&, const CreateOptions&) { return ExitCode::kOk; };
  for (const char* group : {"op", "tag", "fs"}) tree_.group(group, "Things");
  for (const char* name : {"op rm", "op create", "tag create", "fs rm", "fs cp", "fs create"}) {
    tree_.add<CreateOptions>(name, "Do it", nothing);
  }
  EXPECT_EQ(exit_of({"cp", "x", "y"}), ExitCode::kUsage);
  EXPECT_EQ(message_,
            "there is no command \"tarn cp\"; did you mean \"tarn fs cp\"?\nsee: tarn --help");
  EXPECT_EQ(exit_of({"delete", "x"}), ExitCode::kUsage);
  EXPECT_TRUE(message_.find("did you mean \"tarn fs delete\" or \"tarn op delete\"?") !=
              std::string::npos)
      << message_;
  EXPECT_EQ(exit_of({"create", "x"}), ExitCode::kUsage);
  EXPECT_TRUE(message_.find("did you mean \"tarn fs create\", \"tarn repo create\" or "
                            "\"tarn op create\"?") != std::string::npos)
      << message_;
}

TEST_F(Arguments, AnArgumentMayLookLikeACommand) {
  EXPECT_EQ(tree_.parse({"commit", "repo"}).name, "tarn commit");
  EXPECT_EQ(tree_.parse({"repo", "create", "create"}).name, "tarn repo create");
}

TEST_F(Arguments, CommonCommandsHaveTwoNames) {
  const auto nothing = [](Session&, const CreateOptions&) { return ExitCode::kOk; };
  tree_.add<CreateOptions>("repo list", "List them", nothing);
  tree_.add<CreateOptions>("repo rm", "Delete one", nothing);
  EXPECT_EQ(tree_.parse({"repo", "ls", "x"}).name, "tarn repo list");
  EXPECT_EQ(tree_.parse({"repo", "delete", "x"}).name, "tarn repo rm");
}

TEST_F(Arguments, SectionsGroupTheHelp) {
  tree_.section("Other things");
  tree_.group("op", "Operations");
  const std::string help = tree_.parse({"--help"}).text;
  EXPECT_LT(help.find("Commands:\n  repo"), help.find("Other things:\n  op")) << help;
  EXPECT_EQ(tree_.describe().commands.back().section, "Other things");
}

TEST_F(Arguments, GroupsCanBeNested) {
  tree_.group("repo tag", "Tags of one");
  tree_.add<CreateOptions>("repo tag create", "Make one",
                           [](Session&, const CreateOptions&) { return ExitCode::kOk; });
  EXPECT_EQ(tree_.parse({"repo", "tag", "create", "v1"}).name, "tarn repo tag create");
  EXPECT_EQ(exit_of({"repo", "tag"}), ExitCode::kUsage);
}

TEST_F(Arguments, AreDescribed) {
  const CommandNote root = tree_.describe();
  EXPECT_EQ(root.name, "tarn");
  ASSERT_EQ(root.commands.size(), 2u);
  EXPECT_EQ(root.commands[0].name, "tarn repo");
  const CommandNote& create = root.commands[0].commands.at(0);
  EXPECT_EQ(create.name, "tarn repo create");
  EXPECT_EQ(create.help, "Make one");
  ASSERT_EQ(create.arguments.size(), 1u);
  EXPECT_EQ(create.arguments[0].name, "NAME");
  EXPECT_TRUE(create.arguments[0].required);
  EXPECT_FALSE(create.arguments[0].repeated);
  std::string options;
  for (const OptionNote& option : create.options) {
    options += option.names.back() + option.value + ' ';
  }
  EXPECT_EQ(options,
            "--help --message<message> --meta<meta> --expect<expect> --amount<amount> --yes ");
}

TEST_F(Arguments, HelpSucceeds) {
  const CommandTree::Parsed parsed = tree_.parse({"repo", "create", "--help"});
  EXPECT_FALSE(parsed.run);
  EXPECT_NE(parsed.text.find("Usage: tarn repo create [OPTIONS] NAME\n"), std::string::npos)
      << parsed.text;
  EXPECT_NE(parsed.text.find("-m,--message <message>"), std::string::npos) << parsed.text;
  EXPECT_EQ(parsed.text.find("Exit status"), std::string::npos);
  EXPECT_EQ(tree_.parse({"help", "repo", "create"}).text, parsed.text);
}

TEST_F(Arguments, TheHelpOfAllListsTheExitStatuses) {
  const std::string all = tree_.parse({"help"}).text;
  const size_t statuses = all.find("Exit status");
  ASSERT_NE(statuses, std::string::npos);
  const std::string text = all.substr(statuses);
  for (const ExitCode code :
       {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kAuth, ExitCode::kNotFound,
        ExitCode::kExists, ExitCode::kConflict, ExitCode::kDestinationMoved, ExitCode::kTimeout,
        ExitCode::kUnavailable, ExitCode::kGateFailed, ExitCode::kMetricMissing,
        ExitCode::kApprovalNeeded, ExitCode::kHookFailed, ExitCode::kLimitReached,
        ExitCode::kPartial, ExitCode::kInterrupted}) {
    const std::string number = str_cat(static_cast<int>(code), ' ');
    EXPECT_TRUE(text.find(' ' + number) != std::string::npos ||
                text.find('\n' + number) != std::string::npos)
        << number << text;
  }
}

}  // namespace
}  // namespace tarn::cli
