#include "cli/examples.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/commands/commands.h"
#include "core/base/error.h"

namespace tarn::cli {
namespace {

/// The words of a command line as a shell reads them, up to a redirection.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  for (const char c : line) {
    if (quote == 0 && c == '>') break;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c != ' ' || quote != 0) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

void expect_examples(const CommandNote& note) {
  if (note.commands.empty() || !note.arguments.empty()) {
    const auto example = example_of(note.name);
    ASSERT_TRUE(example) << note.name;
    std::vector<std::string> words = words_of(*example);
    words.erase(words.begin());
    CommandTree tree;
    std::string ignored;
    tree.root()
        .option("-o,--output", ignored, "")
        .option("--branch", ignored, "")
        .option("--endpoint", ignored, "");
    add_commands(tree);
    try {
      EXPECT_EQ(tree.parse(words).name, note.name) << *example;
    } catch (const Error& error) {
      ADD_FAILURE() << *example << ": " << error.message();
    }
  }
  for (const CommandNote& below : note.commands) expect_examples(below);
}

TEST(Examples, EveryCommandHasOneThatParses) {
  CommandTree tree;
  add_commands(tree);
  for (const CommandNote& command : tree.describe().commands) expect_examples(command);
}

TEST(Examples, AreInTheHelp) {
  CommandTree tree;
  add_commands(tree);
  const std::string help = tree.parse({"help", "tag", "create"}).text;
  EXPECT_NE(help.find("Example:\n  tarn tag create tarn://lake/v1.0 main\n"), std::string::npos)
      << help;
}

}  // namespace
}  // namespace tarn::cli
