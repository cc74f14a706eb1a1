#include "cli/completion.h"

#include <gtest/gtest.h>

#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct NoOptions {
  std::string branch;
  std::string message;
  std::vector<std::string> more;
  bool yes = false;

  void declare(Command& command) {
    command.argument("BRANCH", branch, "which")
        .arguments("FILE", more, "and more")
        .option("-m,--message", message, "why")
        .flag("-y,--yes", yes, "do not ask");
  }
};

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    tree_.root().option("-o,--output", text_, "format").option("--repo", text_, "repository");
    tree_.group("branch", "Branches");
    for (const char* path : {"branch create", "branch delete", "branches"}) {
      tree_.add<NoOptions>(path, "help", [](Session&, const NoOptions&) { return ExitCode::kOk; });
    }
    tree_.add("secret", "For programs", [](Session&) { return ExitCode::kOk; }).hidden();
  }

  Completion after(const std::vector<std::string>& words) {
    return complete(tree_.describe(), words);
  }
  std::string offered(const std::vector<std::string>& words) {
    std::string all;
    for (const Candidate& candidate : after(words).candidates) all += candidate.word + ' ';
    return all;
  }
  std::string value_of(const std::vector<std::string>& words) {
    const Completion found = after(words);
    EXPECT_TRUE(found.candidates.empty());
    return str_cat(found.value_of, '|', found.lead, '|', found.value);
  }

  CommandTree tree_;
  std::string text_;
};

TEST_F(CompletionTest, OffersCommands) {
  EXPECT_EQ(offered({""}), "branch branches ");
  EXPECT_EQ(offered({}), "branch branches ");
  EXPECT_EQ(offered({"branche"}), "branches ");
  EXPECT_EQ(offered({"branch", ""}), "create delete ");
  EXPECT_EQ(offered({"-o", "json", "branch", "c"}), "create ");
  EXPECT_EQ(offered({"nonsense", "b"}), "branch branches ");
  EXPECT_EQ(offered({"sec"}), "");
  EXPECT_EQ(after({"branches"}).candidates.at(0), (Candidate{"branches", "help"}));
}

TEST_F(CompletionTest, OffersOptionsOfTheCommandAndOfAll) {
  EXPECT_EQ(offered({"branch", "create", "--"}), "--help --message --yes --output --repo ");
  EXPECT_EQ(offered({"branch", "create", "-"}),
            "-h --help -m --message -y --yes -o --output --repo ");
  EXPECT_EQ(offered({"--r"}), "--repo ");
  EXPECT_EQ(offered({"branch", "create", "--", "--r"}), "");
}

TEST_F(CompletionTest, KnowsWhichOptionTakesTheValue) {
  EXPECT_EQ(value_of({"branches", "ma"}), "BRANCH||ma");
  EXPECT_EQ(value_of({"branches", "main", ""}), "FILE||");
  EXPECT_EQ(value_of({"branches", "main", "a", "b", "c"}), "FILE||c");
  EXPECT_EQ(value_of({"branches", "-y", "-m", "why", "ma"}), "BRANCH||ma");
  EXPECT_EQ(value_of({"branches", "--message=why", "ma"}), "BRANCH||ma");
  EXPECT_EQ(value_of({"branches", "-m", "w"}), "--message||w");
  EXPECT_EQ(value_of({"branches", "--message=w"}), "--message|--message=|w");
  EXPECT_EQ(value_of({"branches", "--yes=w"}), "||--yes=w");
  EXPECT_EQ(value_of({"branches", "--nonsense=w"}), "||--nonsense=w");
  EXPECT_EQ(value_of({"branches", "--", "-x", "y"}), "FILE||y");
}

TEST_F(CompletionTest, ReturnsOptionsAlreadyGiven) {
  const Completion found = after({"--repo", "lake", "branches", "--output=csv", ""});
  EXPECT_EQ(found.given, (std::vector<std::pair<std::string, std::string>>{{"--repo", "lake"},
                                                                           {"--output", "csv"}}));
}

TEST_F(CompletionTest, ThereIsAScriptForEachShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_NE(completion_script(shell).find("complete --"), std::string_view::npos) << shell;
  }
  EXPECT_THROW(completion_script("tcsh"), Error);
}

}  // namespace
}  // namespace tarn::cli
