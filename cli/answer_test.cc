#include "cli/answer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/failure_advice.h"

namespace tarn::cli {
namespace {

Answer answer_of(int status, const std::string& body, Pairs headers = {}) {
  return {.status = status, .headers = std::move(headers), .body = body};
}

std::string json_message(const std::string& message) {
  return nlohmann::json{{"message", message}}.dump();
}

struct Mapping {
  int status;
  const char* message;
  const char* reason;
  int exit;
};
constexpr Mapping kMappings[] = {
    {400, "commit: no changes", "no_changes", 1},
    {401, "error authenticating request", "", 3},
    {403, "cannot write to protected branch", "protected_branch", 3},
    {404, "branch not found", "not_found", 4},
    {409, "branch already exists: not unique", "", 5},
    {409, "tag ID v1: conflict found", "already_exists", 5},
    {409, "update branch: conflict found", "conflict", 6},
    {409, "destination has moved", "destination_moved", 7},
    {410, "No data", "", 1},
    {412, "path already exists", "", 5},
    {412, "pre-commit hook aborted, run id 'x': ...", "", 13},
    {412, "Precondition failed", "", 1},
    {412, "accuracy is below 0.6", "gate_failed", 10},
    {403, "needs an approval", "approval_required", 12},
    {422, "no metric accuracy", "", 11},
    {423, "branch is locked", "branch_locked", 9},
    {413, "the body is larger than 5 MB", "body_too_large", 14},
    {429, "slow down", "", 9},
    {429, "another server's limit", "", 9},
    {429, "the user has 100 branches", "too_many_branches", 14},
    {429, "the user has 10 open uploads", "too_many_uploads", 14},
    {429, "an object has at most 5 TB", "object_too_large", 14},
    {429, "a directory is too deep", "directory_too_deep", 14},
    {429, "the names of a directory take more than 4 GiB", "directory_too_large", 14},
    {429, "the promotion has 100 reports of checks", "too_many_checks", 14},
    {429, "the script took longer than 10 s", "script_timeout", 14},
    {429, "there are 10000 quotas", "resource_exhausted", 14},
    {429, "too many wrong secrets came from this address", "too_many_failures", 3},
    {400, "the user has 10 keys", "too_many_credentials", 14},
    {400, "the repository has 20 webhooks", "too_many_webhooks", 14},
    {500, "internal error", "", 1},
    {501, "Not Implemented", "", 1},
    {502, "bad gateway", "", 9},
    {503, "database is away", "unavailable", 9},
    {503, "the user's share of the server is in use", "overloaded", 9},
    {503, "there are 100 operations", "too_many_operations", 9},
    {503, "the body came too slowly", "body_too_slow", 9},
    {503, "the store failed", "store_failed", 9},
    {503, "the store is mounted read-only", "store_read_only", 9},
    {503, "the server lost its registration", "writer_lost", 9},
    {503, "the change may or may not have been made", "in_doubt", 1},
    {504, "gateway timeout", "", 9},
    {507, "quota of repository \"lake\" is exceeded", "quota_exceeded", 14},
    {507, "the disk of the store is full", "store_full", 14},
    {507, "the disk of the database is full", "database_full", 14},
    {507, "no room, says another server", "", 14},
    {400, "a server cannot claim our own usage errors", "usage", 1},
};

TEST(ErrorFrom, MapsStatusReasonAndMessage) {
  for (const Mapping& row : kMappings) {
    const Error error = error_from(
        answer_of(row.status, json_message(row.message), {{"x-tarn-error", row.reason}}));
    EXPECT_EQ(static_cast<int>(exit_code_of(error)), row.exit) << row.status << ' ' << row.message;
    EXPECT_EQ(error.message(), std::string(row.message) == "branch already exists: not unique"
                                   ? "branch already exists"
                                   : row.message);
  }
}

/// A presigned URL is asked at the store, which answers in XML.
TEST(ErrorFrom, ReadsTheXmlOfAStore) {
  const auto failure = [](int status, const std::string& code, const std::string& message) {
    return error_from(answer_of(status, "<?xml version=\"1.0\"?>\n<Error><Code>" + code +
                                            "</Code><Message>" + message + "</Message></Error>"));
  };
  for (const char* code : {"QuotaExceeded", "XMinioStorageFull"}) {
    const Error full = failure(403, code, "bucket &quot;a&amp;b&quot; is &lt;full&gt;");
    EXPECT_EQ(exit_code_of(full), ExitCode::kLimitReached) << code;
    EXPECT_EQ(full.reason(), "quota_exceeded");
    EXPECT_EQ(full.message(), "the object store: bucket \"a&b\" is <full>");
  }
  EXPECT_EQ(exit_code_of(failure(403, "AccessDenied", "Access Denied")), ExitCode::kAuth);
  EXPECT_EQ(exit_code_of(failure(503, "SlowDown", "slow")), ExitCode::kUnavailable);
  EXPECT_EQ(exit_code_of(failure(507, "XMinioStorageFull", "full")), ExitCode::kLimitReached);
  EXPECT_EQ(error_from(answer_of(403, "<Error><Code>AccessDenied")).message(),
            "the server answered with status 403");
}

TEST(ErrorFrom, NamesWhatWasNotFound) {
  Answer answer = answer_of(404, json_message("branch not found"));
  answer.subject = subject_of("/repositories/lake/branches/a%2Fb/diff");
  EXPECT_EQ(error_from(answer).message(), "branch tarn://lake/a/b: branch not found");
  answer.subject = subject_of("/repositories/lake/refs/main/objects/stat", "a/b");
  answer.body = json_message("not found");
  EXPECT_EQ(error_from(answer).message(), "object tarn://lake/main/a/b: not found");
  answer.body = json_message("alias @champion: alias not found");
  EXPECT_EQ(error_from(answer).message(), "alias @champion: alias not found");
  answer.body = json_message("commit 'x' not found");
  EXPECT_EQ(error_from(answer).message(), "commit 'x' not found");
}

TEST(ErrorFrom, InternalErrorsNameTheRequest) {
  EXPECT_EQ(error_from(answer_of(500, json_message("internal error"), {{"X-Request-Id", "r7"}}))
                .message(),
            "internal error (request r7)");
}

TEST(ErrorFrom, SaysTheStatusWhenThereIsNoMessage) {
  EXPECT_EQ(error_from(answer_of(502, "<html>")).message(), "the server answered with status 502");
}

TEST(NoChanges, IsSeenByReasonOrWords) {
  EXPECT_TRUE(says_no_changes(answer_of(400, json_message("update branch main: no changes"))));
  EXPECT_TRUE(says_no_changes(answer_of(400, json_message("x"), {{"X-Tarn-Error", "no_changes"}})));
  EXPECT_FALSE(says_no_changes(answer_of(400, json_message("uncommitted changes (dirty branch)"))));
  EXPECT_FALSE(says_no_changes(answer_of(409, json_message("no changes"))));
}

}  // namespace
}  // namespace tarn::cli
