#include "server/api/json/ref.h"

#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"

namespace tarn::api::json {
namespace {

TEST(BranchBody, ShowsWhenItExpires) {
  Branch branch;
  branch.name = BranchName("dev");
  branch.head = an_id();
  const std::string id = std::string(kIdOfOnes);
  EXPECT_EQ(branch_body(branch), R"({"commit_id":")" + id +
                                     R"(","id":"dev"})"
                                     "\n");
  branch.expires = from_millis(1'700'000'000'000);
  EXPECT_EQ(branch_body(branch), R"({"commit_id":")" + id +
                                     R"(","expires":"2023-11-14T22:13:20.000Z","id":"dev"})"
                                     "\n");
}

TEST(CreateBranchBody, TakesAMomentOrADelay) {
  const Instant now = from_millis(1'700'000'000'000);
  const auto body = [](std::string_view expires) {
    return R"({"name":"dev","source":"main","expires":)" + std::string(expires) + "}";
  };
  const auto seconds = [&](std::string_view expires) {
    return to_seconds(parsed(parse_create_branch, body(expires)).expires->from(now)) -
           to_seconds(now);
  };
  EXPECT_EQ(seconds(R"("90s")"), 90);
  EXPECT_EQ(seconds(R"("30m")"), 1800);
  EXPECT_EQ(seconds(R"("72h")"), 259'200);
  EXPECT_EQ(seconds(R"("7d")"), 604'800);
  EXPECT_EQ(seconds(R"("2023-11-14T22:13:30Z")"), 10);
  EXPECT_EQ(seconds(R"("2023-11-15T00:13:30+02:00")"), 10);
  EXPECT_FALSE(parsed(parse_create_branch, body("null")).expires);
  for (const char* bad : {R"("")", R"("h")", R"("72")", R"("-1h")", R"("1.5h")", R"("1h30m")",
                          R"("72 h")", R"("9223372036854775807d")", R"("tomorrow")"}) {
    EXPECT_EQ(failure(parse_create_branch, body(bad)),
              "request body: /expires: must be a time as in RFC 3339, or a time from "
              "now like 72h (s, m, h or d)")
        << bad;
  }
  EXPECT_NE(failure(parse_create_branch, body("72")), "");
}

TEST(ResetBody, KnowsThreeTypes) {
  using Kind = ResetBranch::Kind;
  EXPECT_EQ(parsed(parse_reset_branch, R"({"type":"reset"})").kind, Kind::kAll);
  EXPECT_EQ(parsed(parse_reset_branch, R"({"type":"object","path":"a"})").kind, Kind::kObject);
  EXPECT_EQ(parsed(parse_reset_branch, R"({"type":"common_prefix","path":"a"})").kind,
            Kind::kPrefix);
  EXPECT_EQ(failure(parse_reset_branch, R"({"type":"x"})"),
            "request body: /type: must be object, common_prefix or reset");
}

}  // namespace
}  // namespace tarn::api::json
