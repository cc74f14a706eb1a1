#include "core/model/names.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

using namespace std::string_literals;

template <typename Parse>
std::string reason_of(Parse&& parse) {
  try {
    parse();
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return std::string(error.reason());
  }
}

TEST(RepositoryNames, AreLowerCaseLettersDigitsAndHyphens) {
  for (const std::string& good : {"abc"s, "a-b"s, "0-9"s, "abc-"s, std::string(63, 'a')}) {
    EXPECT_TRUE(is_repository_name(good)) << good;
    EXPECT_EQ(parse_repository_name(good).str(), good);
  }
  for (const std::string& bad : {""s, "ab"s, "-ab"s, "Abc"s, "a_b"s, "a.b"s, "a b"s, "a/b"s,
                                 "ab\0"s, "\xc3\xa9t\xc3\xa9"s, std::string(64, 'a')}) {
    EXPECT_FALSE(is_repository_name(bad)) << bad;
    EXPECT_EQ(reason_of([&] { parse_repository_name(bad); }), "invalid_argument");
  }
}

TEST(BranchNames, AreWordsWithHyphensInside) {
  for (const std::string& good : {"a"s, "_x"s, "Feature-1"s, "0"s, "a-"s, std::string(255, 'b')}) {
    EXPECT_TRUE(is_branch_name(good)) << good;
    EXPECT_EQ(parse_branch_name(good).str(), good);
  }
  for (const std::string& bad : {""s, "-a"s, "a/b"s, "a.b"s, "a~1"s, "a^"s, "a@"s, "a$"s, "a b"s,
                                 "\xc3\xa9"s, "a\n"s, std::string(256, 'b')}) {
    EXPECT_FALSE(is_branch_name(bad)) << bad;
    EXPECT_EQ(reason_of([&] { parse_branch_name(bad); }), "invalid_argument");
  }
}

TEST(TagNames, AreThoseOfGitWithoutSlashesAndModifiers) {
  for (const std::string& good :
       {"v1.0"s, "-x"s, "a{b}"s, "\xc3\xa9"s, "lock"s, "a.lock.b"s, std::string(255, 't')}) {
    EXPECT_TRUE(is_tag_name(good)) << good;
    EXPECT_EQ(parse_tag_name(good).str(), good);
  }
  for (const std::string& bad : {""s,     "a/b"s, "a b"s,    "a\tb"s, "a\x7f"s,
                                 "a..b"s, "a."s,  "a.lock"s, "a^"s,   "a:b"s,
                                 "a?"s,   "a*"s,  "a["s,     "a\\b"s, "a~1"s,
                                 "a@"s,   "a$"s,  "\xff"s,   "a\0b"s, std::string(256, 't')}) {
    EXPECT_FALSE(is_tag_name(bad)) << bad;
    EXPECT_EQ(reason_of([&] { parse_tag_name(bad); }), "invalid_argument");
  }
}

TEST(TagNames, NewOnesCannotContainInvisibleCharactersOrSpaces) {
  EXPECT_EQ(parse_new_tag_name("v1.0-\u00e9\u65e5").str(), "v1.0-\u00e9\u65e5");
  for (const std::string& bad : {"v1\u200b"s, "\u202e0.1v"s, "v\u00adone"s, "v1\u00a0"s,
                                 "\u3000v1"s, "v1\ufeff"s, "\U000e0041v1"s, "v 1"s}) {
    EXPECT_EQ(reason_of([&] { parse_new_tag_name(bad); }), "invalid_argument") << bad;
  }
  EXPECT_EQ(parse_tag_name("v1\u200b").str(), "v1\u200b") << "older ones are read";
}

TEST(Keys, AreAnyUtf8WithoutNulUpTo1024Bytes) {
  for (const std::string& good :
       {"a"s, "/a//../b"s, " "s, "\n"s, "\xf0\x9f\x90\xa6"s, std::string(1024, 'k')}) {
    EXPECT_EQ(parse_key(good).str(), good);
  }
  EXPECT_EQ(reason_of([] { parse_key(""); }), "invalid_argument");
  EXPECT_EQ(reason_of([] { parse_key(std::string(1025, 'k')); }), "key_too_long");
  EXPECT_EQ(reason_of([] { parse_key("a\0b"s); }), "invalid_key");
  EXPECT_EQ(reason_of([] { parse_key("\xed\xa0\x80"); }), "invalid_key");
}

TEST(Keys, ArePlainPathsIfADiskHasThemUnderTheSamePath) {
  for (const std::string plain :
       {"a", "a/b.c", "a/..b/c..", "...", "a/", "~", "a b", "\xc3\xa4:*?"})
    EXPECT_TRUE(is_plain_path(plain)) << plain;
  for (const std::string other : {"/a", "a//b", "a//", "/", ".", "..", "./a", "a/./b", "a/.",
                                  "a/../b", "a/..", "../a", "a/./", "a\\b", "a\nb", "\x7f", "a\tb"})
    EXPECT_FALSE(is_plain_path(other)) << other;
}

TEST(Keys, AreOrderedByTheirBytes) {
  EXPECT_LT(Key("a"), Key("a/"));
  EXPECT_LT(Key("a-"), Key("a/"));
  EXPECT_LT(Key("Z"), Key("a"));
  EXPECT_LT(Key("z"), Key("\xc3\xa9"));
  EXPECT_LT(Key("\xef\xbf\xbd"),
            Key("\xf0\x90\x80\x80"));  // UTF-16 would have it the other way round
}

TEST(PrefixEnd, IsTheFirstStringBeyondThePrefix) {
  EXPECT_EQ(prefix_end("a"), "b");
  EXPECT_EQ(prefix_end("a/"), "a0");
  EXPECT_EQ(prefix_end("a\xff"), "b");
  EXPECT_EQ(prefix_end("a\x7f"), "a\x80");
  EXPECT_EQ(prefix_end("\xff\xff"), "");
  EXPECT_EQ(prefix_end(""), "");
  const std::string end = prefix_end("dir/");
  EXPECT_LT("dir/\xff\xff\xff"s, end);
  EXPECT_GE("dir0"s, end);
}

}  // namespace
}  // namespace tarn
