#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"
#include "server/api/json/merge.h"

namespace tarn::api::json {
namespace {

TEST(ReviewBodies, AreReadAndWrittenWhole) {
  const std::string zeros(64, '0');
  EXPECT_EQ(review_body({.verdict = ReviewVerdict::kChangesRequested, .outdated = true}, "ben"),
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
