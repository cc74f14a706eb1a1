#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"
#include "server/api/json/merge.h"

namespace tarn::api::json {
namespace {

TEST(ReviewBodies, AreReadAndWrittenWhole) {
  const std::string zeros(64, '0');
  EXPECT_EQ(
      review_body({.verdict = ReviewVerdict::kChangesRequested, .commit = {}, .outdated = true},
                  "ben"),
      R"({"commit_id":")" + zeros +
          R"(","creation_date":"1970-01-01T00:00:00.000Z","outdated":true,)"
          R"("verdict":"changes_requested","user":"ben"})"
          "\n");
  Writer out;
  write_reviewer(out, {.user = "cid", .asked_by = "ann"});
  EXPECT_EQ(std::move(out).take(), R"({"asked_by":"ann","user":"cid"})"
                                   "\n");
  const Reviewing given =
      parsed(parse_review, R"({"verdict":"approved","commit_id":")" + zeros + "\"}");
  EXPECT_EQ(given.verdict, ReviewVerdict::kApproved);
  EXPECT_EQ(given.commit, CommitId{});
  EXPECT_EQ(parsed(parse_reviewers, R"({"users":["ben","cid"]})"),
            (std::vector<std::string>{"ben", "cid"}));
  EXPECT_NE(failure(parse_review, R"({"verdict":"fine","commit_id":")" + zeros + "\"}"), "");
  EXPECT_NE(failure(parse_review, R"({"verdict":"approved"})"), "");
  EXPECT_NE(failure(parse_reviewers, R"({"users":[1]})"), "");
  EXPECT_NE(failure(parse_reviewers, "{}"), "");
}

TEST(CommentBodies, AreReadAndWrittenWhole) {
  const std::string zeros(64, '0');
  PullComment comment{.id = 2, .thread = 1, .author = "ben", .body = "<b>", .deleted = false};
  EXPECT_EQ(comment_body(comment),
            R"({"author":"ben","body":"<b>","creation_date":"1970-01-01T00:00:00.000Z",)"
            R"("deleted":false,"id":2,"outdated":false,"thread":1})"
            "\n");
  comment.path = "a/b";
  comment.line = 3;
  comment.row = 4;
  comment.commit = CommitId{};
  comment.edited = from_millis(0);
  comment.resolved_by = "ann";
  const std::string whole = comment_body(comment);
  for (const std::string& member :
       {std::string(R"("path":"a/b")"), std::string(R"("line":3)"), std::string(R"("row":4)"),
        R"("commit_id":")" + zeros, std::string(R"("edited_date":"1970)"),
        std::string(R"("resolved_by":"ann")")}) {
    EXPECT_NE(whole.find(member), std::string::npos) << member;
  }
  const PullComment given = parsed(
      parse_create_comment, R"({"body":"x","path":"a/b","line":3,"commit_id":")" + zeros + "\"}");
  EXPECT_EQ(given.body, "x");
  EXPECT_EQ(given.path, "a/b");
  EXPECT_EQ(given.line, 3);
  EXPECT_EQ(given.row, std::nullopt);
  EXPECT_EQ(given.commit, CommitId{});
  EXPECT_EQ(given.thread, 0);
  EXPECT_EQ(parsed(parse_create_comment, R"({"body":"x","reply_to":7})").thread, 7);
  for (const char* body :
       {R"({})", R"({"body":1})", R"({"body":"x","line":0})", R"({"body":"x","row":null})",
        R"({"body":"x","row":2147483648})", R"({"body":"x","path":""})",
        R"({"body":"x","reply_to":0})", R"({"body":"x","commit_id":"main"})"}) {
    EXPECT_NE(failure(parse_create_comment, body), "") << body;
  }
  EXPECT_EQ(parsed(parse_update_comment, R"({"body":"y"})").body, "y");
  EXPECT_EQ(parsed(parse_update_comment, R"({"resolved":false})").resolved, false);
  EXPECT_NE(failure(parse_update_comment, "{}"), "");
  EXPECT_NE(failure(parse_update_comment, R"({"body":"y","resolved":true})"), "");
}

TEST(PullRequestBodies, AreReadAndWrittenWhole) {
  PullRequest pull{.id = "i",
                   .number = 12,
                   .title = "t",
                   .author = "ann",
                   .source = BranchName("dev"),
                   .destination = BranchName("main")};
  EXPECT_EQ(
      pull_request_body(pull),
      R"({"author":"ann","creation_date":"1970-01-01T00:00:00.000Z","description":"",)"
      R"("destination_branch":"main","id":"i","number":12,"source_branch":"dev","status":"open",)"
      R"("title":"t"})"
      "\n");
  pull.status = PullRequestStatus::kMerged;
  pull.closed = from_millis(0);
  pull.merged_commit = CommitId{};
  const std::string zeros(64, '0');
  const std::string merged = pull_request_body(pull);
  EXPECT_NE(merged.find(R"("closed_date":"1970-01-01T00:00:00.000Z")"), std::string::npos);
  EXPECT_NE(merged.find(R"("merged_commit_id":")" + zeros), std::string::npos);
  EXPECT_EQ(merged.find("merged_source_commit_id"), std::string::npos);
  pull.merged_source = CommitId{};
  EXPECT_NE(pull_request_body(pull).find(R"("merged_source_commit_id":")" + zeros),
            std::string::npos);
  EXPECT_EQ(approval_body({.user = "ben", .commit = {}, .created = {}, .valid = true}),
            R"({"commit_id":")" + zeros +
                R"(","creation_date":"1970-01-01T00:00:00.000Z","user":"ben","valid":true})"
                "\n");
  EXPECT_EQ(parsed(parse_update_pull_request, R"({"status":"closed"})").status,
            PullRequestStatus::kClosed);
  EXPECT_EQ(parsed(parse_update_pull_request, "{}").status, std::nullopt);
  EXPECT_NE(failure(parse_update_pull_request, R"({"status":"merged"})"), "");
  EXPECT_NE(failure(parse_update_pull_request, R"({"status":""})"), "");
  EXPECT_NE(failure(parse_create_pull_request, R"({"title":"t","source_branch":"a"})"), "");
  EXPECT_NE(failure(parse_approve, R"({"commit_id":"abc"})"), "");
}

}  // namespace
}  // namespace tarn::api::json
