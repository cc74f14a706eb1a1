#include "cli/failure_advice.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/answer.h"

namespace tarn::cli {
namespace {

struct Advice {
  int status;
  const char* path;
  const char* message;
  const char* reason;
  const char* expected;
};
constexpr Advice kAdvice[] = {
    {404, "/repositories/lake/policies/gate:evaluate", "get commit by ref zzz: not found",
     "ref_not_found",
     "ref zzz: not found; tarn branch list, tarn tag list and tarn alias ls show the refs"},
    {404, "/repositories/lake/refs/main/diff/nope", "get commit by ref nope: not found",
     "ref_not_found",
     "ref nope: not found; tarn branch list, tarn tag list and tarn alias ls show the refs"},
    {404, "/repositories/lake/refs/data/commits", "ref: not found", "ref_not_found",
     "ref tarn://lake/data: ref: not found; tarn branch list, tarn tag list and tarn alias ls show "
     "the refs"},
    {404, "/repositories/lake/webhooks/tell:ping", "webhook not found", "webhook_not_found",
     "webhook tarn://lake/tell: webhook not found; tarn webhook ls shows the webhooks"},
    {404, "/auth/users/nobody", "user not found", "not_found", "user nobody: user not found"},
    {404, "/auth/groups/none/members/ann", "group not found", "not_found",
     "group none: group not found"},
    {404, "/auth/policies/none", "policy not found", "policy_not_found",
     "policy none: policy not found; tarn policy ls shows the gate policies, tarn auth policies ls "
     "those of users"},
    {404, "/operations/x", "operation not found", "operation_not_found",
     "operation not found; tarn op ls shows the operations of the last day"},
    {404, "/repositories/lake/holds/9", "hold '9' not found", "hold_not_found",
     "hold '9' not found; tarn hold ls shows the holds"},
    {409, "/repositories", "error creating repository: not unique", "already_exists",
     "a repository of this name exists already; --if-not-exists takes it as it is"},
};

TEST(FailureAdvice, NamesTheThingAndTheNextCommand) {
  for (const Advice& row : kAdvice) {
    const Answer answer{.status = row.status,
                        .headers = {{"X-Tarn-Error", row.reason}},
                        .body = nlohmann::json{{"message", row.message}}.dump(),
                        .subject = subject_of(row.path)};
    EXPECT_EQ(with_advice(error_from(answer), {}).message(), row.expected);
  }
}

TEST(FailureAdvice, SaysWhatToDoNext) {
  const Error missing(ErrorCode::kNotFound, "branch_not_found", "branch not found");
  EXPECT_EQ(with_advice(missing, {}).message(),
            "branch not found; tarn branch list shows the branches");
  EXPECT_EQ(with_advice(missing, {}).reason(), "branch_not_found");
  const Error other(ErrorCode::kInternal, "broken");
  EXPECT_EQ(with_advice(other, {}).message(), "broken");
}

TEST(FailureAdvice, SaysWhichPartOfASignInWasRefused) {
  const Settings settings{.endpoint = {"http://h", "default"},
                          .access_key = {"AKIA", "TARN_ACCESS_KEY"},
                          .secret_key = {"s", "c.yaml"}};
  const auto message = [&](std::string_view reason) {
    return with_advice(Error(ErrorCode::kUnauthenticated, reason, "error authenticating request"),
                       settings)
        .message();
  };
  EXPECT_TRUE(message("no_credentials")
                  .starts_with("signing in to http://h: there is no access key; tarn auth login"));
  EXPECT_TRUE(message("unknown_access_key")
                  .starts_with("signing in to http://h: the server does not know the access key "
                               "AKIA (from TARN_ACCESS_KEY); tarn auth login"));
  EXPECT_TRUE(message("wrong_secret_key")
                  .starts_with("signing in to http://h: the secret key (from c.yaml) is not "
                               "that of the access key AKIA; tarn auth login"));
  EXPECT_EQ(message("wrong_secret_key").find("secret key (from s"), std::string::npos);
}

TEST(FailureAdvice, ShowsWhenATokenExpiredByTheServersClock) {
  const Settings settings{.endpoint = {"http://h", "default"}, .token = {"t", "TARN_TOKEN"}};
  const Answer answer{
      .status = 401,
      .headers = {{"X-Tarn-Error", "expired_token"}},
      .body = R"({"message":"error authenticating request","detail":"the token expired at T1, )"
              R"(1 h 0 min before the server's time, T2"})"};
  EXPECT_EQ(with_advice(error_from(answer), settings).message(),
            "signing in to http://h with the token from TARN_TOKEN: the token expired at T1, 1 h 0 "
            "min before the server's time, T2; tarn auth token makes another one, TARN_ACCESS_KEY "
            "and TARN_SECRET_KEY hold one too");
}

}  // namespace
}  // namespace tarn::cli
