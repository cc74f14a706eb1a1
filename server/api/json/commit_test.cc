#include "server/api/json/commit.h"

#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"

namespace tarn::api::json {
namespace {

TEST(CommitBody, OfTheFirstCommitHasEmptyListsAndIds) {
  Commit commit;
  commit.id = an_id();
  commit.message = "Repository created";
  commit.created = from_millis(1'700'000'000'123);
  EXPECT_EQ(
      commit_body(commit),
      R"({"committer":"","creation_date":1700000000,"generation":1,"id":")" +
          std::string(kIdOfOnes) +
          R"(","message":"Repository created","meta_range_id":"","metadata":{},"parents":[],"version":1})"
          "\n");
}

TEST(MetarangeId, IsSixtyFourDigitsOfTheContent) {
  TreeRoot root;
  root.nid = 7;
  root.hash.bytes.fill(0xab);
  TreeRoot moved = root;
  moved.nid = 8;
  EXPECT_EQ(metarange_id(root).size(), 64u);
  EXPECT_EQ(metarange_id(root), metarange_id(moved)) << "the address is not part of it";
  EXPECT_EQ(parse_metarange_id(metarange_id(root)), root.hash);
  EXPECT_EQ(parse_metarange_id(""), Hash128{});
  for (const std::string& bad : {std::string("ab"), std::string(64, 'x'), std::string(63, 'a'),
                                 std::string(32, 'a') + std::string(32, 'b')}) {
    EXPECT_EQ(parse_metarange_id(bad), std::nullopt) << bad;
  }
}

TEST(CreateCommitBody, TakesZeroAsADate) {
  const auto given = parsed(parse_create_commit,
                            R"({"message":"","date":0,"metadata":{"a":"b"},"allow_empty":true})");
  EXPECT_EQ(given.message, "");
  EXPECT_EQ(given.date, from_millis(0));
  EXPECT_EQ(given.metadata, (Metadata{{"a", "b"}}));
  EXPECT_TRUE(given.allow_empty);
  EXPECT_EQ(parsed(parse_create_commit, R"({"message":"m"})").date, std::nullopt);
  EXPECT_EQ(parsed(parse_create_commit, R"({"message":"m"})").parents, std::nullopt);
  EXPECT_EQ(parsed(parse_create_commit, R"({"message":"m","parents":["a"]})").parents,
            std::vector<std::string>{"a"});
  EXPECT_NE(failure(parse_create_commit, R"({"message":"m","parents":"a"})"), "");
  EXPECT_NE(failure(parse_create_commit, "{}"), "");
  EXPECT_NE(failure(parse_create_commit, R"({"message":"m","metadata":{"a":1}})"), "");
  EXPECT_NE(failure(parse_create_commit, R"({"message":"m","date":999999999999999})"), "");
}

TEST(RevertBody, NeedsItsParentNumber) {
  EXPECT_EQ(parsed(parse_revert, R"({"ref":"main","parent_number":-1})").parent_number, -1);
  EXPECT_NE(failure(parse_revert, R"({"ref":"main"})"), "");
  EXPECT_EQ(parsed(parse_cherry_pick, R"({"ref":"x"})").parent_number, std::nullopt);
  const auto given = parsed(parse_cherry_pick,
                            R"({"ref":"x","parent_number":1,"commit_overrides":{"message":"m"}})");
  EXPECT_EQ(given.parent_number, 1);
  EXPECT_EQ(given.overrides.message, "m");
  EXPECT_EQ(given.overrides.metadata, std::nullopt);
}

}  // namespace
}  // namespace tarn::api::json
