#include "core/base/glob.h"

#include <algorithm>
#include <chrono>
#include <random>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

struct Case {
  std::string_view pattern;
  std::string_view matching;   // joined by blanks
  std::string_view different;  // joined by blanks
};

constexpr Case kCases[] = {
    {"main", "main", "mai mainx xmain Main"},
    {"*", "a main-2 ä", "a/b /"},
    {"release-*", "release- release-1 release-1-x", "release releases-1 release-1/x"},
    {"*-stable", "x-stable -stable", "stable x-stable-1"},
    {"v?", "v1 vä v.", "v v12 v/"},
    {"[a-c]x", "ax bx cx", "dx x aax"},
    {"[!a-c]x", "dx äx", "ax x /x"},
    {"[^a]", "b", "a /"},
    {"[]a]", "] a", "b"},
    {"[a-]", "a -", "b"},
    {"[\\]]", "]", "\\ a"},
    {"[ä-ö]", "ä ö å", "a z"},
    {"{main,dev}", "main dev", "mai main,dev {main,dev}"},
    {"{a,b*}-{x,y}", "a-x b-y bcd-x", "a- c-x a-z"},
    {"{a,{b,c}d}e", "ae bde cde", "be cd e"},
    {"a{,b}", "a ab", "abb b"},
    {"{*,x/*}z", "z az x/z x/az", "y/z x/y/z"},
    {"a,b}", "a,b}", "a"},
    {"\\*", "*", "a"},
    {"a\\{b", "a{b", "ab"},
    {"data/*", "data/a", "data/a/b data data/a/"},
    {"data/**", "data/a data/a/b data/a/b/c", "data database/x"},
    {"**", "a a/b /", ""},
    {"**/*.csv", "a.csv x/a.csv x/y/a.csv", "a.csv/x a.txt"},
    {"a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb axb"},
    {"a**b", "ab axb a/b a/x/yb", "a ba"},
    {"x**/b", "x/b xa/b xa/c/b", "xb"},
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

TEST(Glob, MatchesWholeTexts) {
  for (const Case& c : kCases) {
    const Glob glob(c.pattern);
    for (const std::string& text : words(c.matching)) {
      EXPECT_TRUE(glob.matches(text)) << c.pattern << " " << text;
    }
    for (const std::string& text : words(c.different)) {
      EXPECT_FALSE(glob.matches(text)) << c.pattern << " " << text;
    }
  }
  EXPECT_TRUE(Glob("*").matches(""));
  EXPECT_TRUE(Glob("").matches(""));
  EXPECT_FALSE(Glob("?").matches(""));
}

TEST(Glob, TakesBytesThatAreNoTextAsOneCharacterEach) {
  EXPECT_TRUE(
      Glob("a?b").matches("a\xff"
                          "b"));
  EXPECT_TRUE(Glob("a??").matches("a\xc3\xff"));
  EXPECT_FALSE(Glob("a?").matches("a\xe2\x82"));
}

TEST(Glob, FindsLiteralsOfEveryMatch) {
  struct Known {
    std::string pattern;
    std::string prefix;
    std::string suffix;
    std::vector<std::string> literals;
  };
  const std::vector<Known> all = {
      {"", "", "", {}},
      {"data/a.csv", "data/a.csv", "data/a.csv", {"data/a.csv"}},
      {"**/*.png", "", ".png", {".png"}},
      {"data/**/x-?.csv", "data/", ".csv", {"data/", "x-", ".csv"}},
      {"a**/b", "a", "/b", {"a", "/b"}},
      {"a{b,c}d[e]*", "a", "", {"a", "d"}},
      {"{a,b}", "", "", {}},
      {"a\\*b\xc3\xa9?", "a*b\xc3\xa9", "", {"a*b\xc3\xa9"}},
  };
  for (const Known& known : all) {
    const Glob glob(known.pattern);
    EXPECT_EQ(glob.prefix(), known.prefix) << known.pattern;
    EXPECT_EQ(glob.suffix(), known.suffix) << known.pattern;
    EXPECT_EQ(glob.literals(), known.literals) << known.pattern;
  }
}

// Verified by mutation: keeping characters inside braces as literals.
TEST(Glob, HoldsItsLiteralsInEveryMatch) {
  std::mt19937 random(7);
  constexpr std::string_view kPieces[] = {"a",   "b", "ab",   "/",     "*",     "**", "**/",
                                          "/**", "?", "[ab]", "{a,b}", "{,ab}", "\\*"};
  constexpr std::string_view kText = "ab/*";
  int matched = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string pattern;
    for (size_t i = random() % 6; i > 0; --i) pattern += kPieces[random() % std::size(kPieces)];
    std::string text;
    for (size_t i = random() % 7; i > 0; --i) text += kText[random() % kText.size()];
    const Glob glob(pattern);
    if (!glob.matches(text)) continue;
    ++matched;
    ASSERT_TRUE(text.starts_with(glob.prefix())) << pattern << " " << text;
    ASSERT_TRUE(text.ends_with(glob.suffix())) << pattern << " " << text;
    size_t at = 0;
    for (const std::string& literal : glob.literals()) {
      at = text.find(literal, at);
      ASSERT_NE(at, std::string::npos) << pattern << " " << text << " " << literal;
      at += literal.size();
    }
  }
  EXPECT_GT(matched, 500);
}

TEST(Glob, SaysWhatIsWrongWithAPattern) {
  EXPECT_EQ(Glob::problem("a*[b-d]{x,y}"), "");
  EXPECT_EQ(Glob::problem("ab[c"), "'[' without ']' at byte 2");
  EXPECT_EQ(Glob::problem("[]"), "'[' without ']' at byte 0");
  EXPECT_EQ(Glob::problem("{a,b"), "'{' without '}' at byte 0");
  EXPECT_EQ(Glob::problem("a\\"), "'\\' with nothing behind it at byte 1");
  EXPECT_EQ(Glob::problem("[z-a]"), "a range of a class that ends before it begins at byte 4");
  EXPECT_EQ(Glob::problem("\xff"), "is not UTF-8");
  EXPECT_EQ(Glob::problem(std::string(kGlobBytesMax + 1, 'a')), "is longer than 1024 bytes");
  EXPECT_EQ(Glob::problem(std::string(kGlobNestingMax, '{') + std::string(kGlobNestingMax, '}')),
            "");
  EXPECT_EQ(Glob::problem(std::string(kGlobNestingMax + 1, '{')),
            "braces nested deeper than 8 at byte 8");
  EXPECT_THROW(Glob("["), Error);
}

// A matcher that tries one choice after the other needs about 2^20 of these characters' time.
TEST(Glob, RunsInLinearTime) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  const Glob glob(pattern + "b");
  const Glob braces("{a,aa,aaa,aaaa,*}{a,aa,aaa,*}{a,aa,aaa,*}{a,aa,aaa,**}b");
  const std::string text(1024, 'a');
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(glob.matches(text));
  EXPECT_FALSE(braces.matches(text));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace tarn
