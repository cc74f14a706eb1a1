#include "cli/uri.h"

#include <functional>
#include <ostream>

#include <gtest/gtest.h>

#include "cli/exit_code.h"

namespace tarn::cli {

void PrintTo(const Uri& uri, std::ostream* out) {
  *out << uri.repository << '|' << uri.ref << '|' << uri.path;
}

namespace {

const Defaults kNone;
const Defaults kLake{"lake", "main"};

std::string usage_message(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error& error) {
    EXPECT_EQ(exit_code_of(error), ExitCode::kUsage);
    return error.message();
  }
  return "no error";
}

TEST(Uri, ReadsBothSchemes) {
  const Uri expected{"lake", "main", "a/b.txt"};
  EXPECT_EQ(object_uri("tarn://lake/main/a/b.txt", kNone), expected);
  EXPECT_EQ(object_uri("lakefs://lake/main/a/b.txt", kNone), expected);
}

TEST(Uri, KeepsThePathAsItIs) {
  EXPECT_EQ(object_uri("tarn://lake/main//a b%20?#/../x/", kNone),
            (Uri{"lake", "main", "/a b%20?#/../x/"}));
}

TEST(Uri, KeepsRefExpressions) {
  EXPECT_EQ(ref_uri("tarn://lake/main~2", kNone), (Uri{"lake", "main~2", ""}));
}

TEST(Uri, TakesShortNamesWithDefaults) {
  EXPECT_EQ(repository_uri("", kLake), (Uri{"lake", "", ""}));
  EXPECT_EQ(repository_uri("other", kLake), (Uri{"other", "", ""}));
  EXPECT_EQ(ref_uri("dev", kLake), (Uri{"lake", "dev", ""}));
  EXPECT_EQ(ref_uri("", kLake), (Uri{"lake", "main", ""}));
  EXPECT_EQ(object_uri("a/b", kLake), (Uri{"lake", "main", "a/b"}));
  EXPECT_EQ(prefix_uri("", kLake), (Uri{"lake", "main", ""}));
}

TEST(Uri, AppendsShortNamesToTheBaseOfLakectl) {
  const Defaults base{"", "", "lakefs://lake/"};
  EXPECT_EQ(ref_uri("dev", base), (Uri{"lake", "dev", ""}));
  EXPECT_EQ(object_uri("dev/a/b", base), (Uri{"lake", "dev", "a/b"}));
  EXPECT_EQ(object_uri("tarn://other/main/x", base), (Uri{"other", "main", "x"}));
  const Defaults both{"mine", "main", "lakefs://lake/"};
  EXPECT_EQ(object_uri("dev/a", both), (Uri{"mine", "main", "dev/a"}));
}

TEST(Uri, SaysWhichPartIsMissing) {
  EXPECT_NE(usage_message([] { repository_uri("", kNone); }).find("--repo"), std::string::npos);
  EXPECT_NE(usage_message([] { ref_uri("tarn://lake", kNone); }).find("--branch"),
            std::string::npos);
  EXPECT_NE(usage_message([] { object_uri("tarn://lake/main", kNone); }).find("path is missing"),
            std::string::npos);
  EXPECT_NE(usage_message([] { object_uri("tarn://lake/main/", kNone); }).find("path is missing"),
            std::string::npos);
  EXPECT_NE(usage_message([] { object_uri("tarn://", kNone); }).find("no repository"),
            std::string::npos);
  EXPECT_NE(usage_message([] { object_uri("tarn://lake//x", kNone); }).find("before the path"),
            std::string::npos);
}

TEST(Uri, RefusesPartsThatHaveNoMeaning) {
  EXPECT_NE(
      usage_message([] { repository_uri("tarn://lake/main", kNone); }).find("only a repository"),
      std::string::npos);
  EXPECT_NE(usage_message([] { repository_uri("lake/main", kNone); }).find("write lake"),
            std::string::npos);
  EXPECT_NE(usage_message([] { ref_uri("tarn://lake/main/x", kNone); }).find("no meaning"),
            std::string::npos);
  EXPECT_NE(usage_message([] { object_uri("s3://lake/main/x", kLake); }).find("not a tarn://"),
            std::string::npos);
}

TEST(Uri, TakesAsManyPartsAsThereAreWhereEachHasMeaning) {
  EXPECT_EQ(any_uri("tarn://lake", kNone), (Uri{"lake", "", ""}));
  EXPECT_EQ(any_uri("tarn://lake/main", kNone), (Uri{"lake", "main", ""}));
  EXPECT_EQ(any_uri("tarn://lake/main/a/", kNone), (Uri{"lake", "main", "a/"}));
  const Defaults both{"mine", "dev", ""};
  EXPECT_EQ(any_uri("", both), (Uri{"mine", "dev", ""}));
  EXPECT_EQ(any_uri("a/", both), (Uri{"mine", "dev", "a/"}));
  EXPECT_EQ(any_uri("", {"mine", "", ""}), (Uri{"mine", "", ""}));
  EXPECT_NE(usage_message([] {
              any_uri("a/", {"mine", "", ""});
            }).find("--branch"),
            std::string::npos);
  EXPECT_NE(usage_message([] { any_uri("", kNone); }).find("--repo"), std::string::npos);
}

/// One rule for every command whose ref may be absent: in a default repository a word is what its
/// argument says, without one it is a repository.
TEST(Uri, ReadsAWordAsARepositoryOnlyWhereThereIsNoDefaultOne) {
  const Defaults repository_alone{"lake", "", ""};
  EXPECT_EQ(optional_ref_uri("dev", repository_alone), (Uri{"lake", "dev", ""}));
  EXPECT_EQ(optional_prefix_uri("dev", kLake), (Uri{"lake", "main", "dev"}));
  EXPECT_EQ(any_uri("dev", kLake), (Uri{"lake", "main", "dev"}));
  for (const auto& read : {optional_ref_uri, optional_prefix_uri, any_uri}) {
    EXPECT_EQ(read("dev", kNone), (Uri{"dev", "", ""}));
    const std::string told = usage_message([&] { read("dev/main", kNone); });
    EXPECT_NE(told.find("write tarn://dev/main"), std::string::npos) << told;
  }
  for (const auto& read : {optional_prefix_uri, prefix_uri, object_uri, any_uri}) {
    const std::string told = usage_message([&] { read("dev", repository_alone); });
    EXPECT_NE(told.find("write tarn://lake/REF/dev for the path, tarn://lake/dev/ if it is the "
                        "branch"),
              std::string::npos)
        << told;
  }
}

TEST(Uri, LeavesTheRefToTheDefaultBranchWhereThatWillDo) {
  const Uri without_ref{"lake", "", ""};
  EXPECT_EQ(optional_ref_uri("", {"lake", "", ""}), without_ref);
  EXPECT_EQ(optional_ref_uri("tarn://lake", kNone), without_ref);
  EXPECT_EQ(optional_ref_uri("", {"", "", "lakefs://lake/"}), without_ref);
  EXPECT_EQ(optional_ref_uri("lake", kNone), without_ref) << "nothing else it could name";
  EXPECT_EQ(optional_ref_uri("dev", {"lake", "", ""}), (Uri{"lake", "dev", ""}));
  EXPECT_EQ(optional_ref_uri("", kLake), (Uri{"lake", "main", ""}));
  EXPECT_EQ(optional_ref_uri("tarn://lake", kLake), (Uri{"lake", "main", ""}));
  EXPECT_EQ(optional_ref_uri("tarn://lake", {"", "dev", ""}), (Uri{"lake", "dev", ""}));
  EXPECT_EQ(optional_ref_uri("tarn://other", kLake), (Uri{"other", "", ""}))
      << "--branch is of the default repository";
  EXPECT_EQ(optional_prefix_uri("", {"lake", "", ""}), without_ref);
  EXPECT_EQ(optional_prefix_uri("tarn://lake", kNone), without_ref);
  EXPECT_EQ(optional_prefix_uri("a/", kLake), (Uri{"lake", "main", "a/"}));
  EXPECT_NE(usage_message([] { optional_ref_uri("", kNone); }).find("--repo"), std::string::npos);
  EXPECT_NE(usage_message([] { optional_ref_uri("main~2", kNone); }).find("--repo"),
            std::string::npos);
  EXPECT_NE(usage_message([] {
              optional_prefix_uri("main", {"lake", "", ""});
            }).find("--branch"),
            std::string::npos)
      << "a word is a path, and an empty listing of it would mislead";
}

TEST(Uri, PrintsWhatItRead) {
  EXPECT_EQ(to_string(Uri{"lake", "main", "a/b"}), "tarn://lake/main/a/b");
  EXPECT_EQ(to_string(Uri{"lake", "", ""}), "tarn://lake");
}

}  // namespace
}  // namespace tarn::cli
