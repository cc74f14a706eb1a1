#include "core/promotion/promotion.h"

#include <functional>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::promotion {
namespace {

PromotionRequest request_of(std::vector<std::string> candidates) {
  PromotionRequest request;
  request.candidates = std::move(candidates);
  request.destination = BranchName("main");
  return request;
}

/// The error in a request or a report, or "".
std::string check_problem(const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
  return "";
}
std::string check_problem(const PromotionRequest& request) {
  return check_problem([&] { check_promotion_request(request); });
}
std::string check_problem(const PromotionCheck& check) {
  return check_problem([&] { check_promotion_check(check); });
}

TEST(PromotionRequest, NamesWhatIsWrong) {
  EXPECT_EQ(check_problem(request_of({"exp-*", "main~1"})), "");
  EXPECT_NE(check_problem(request_of({})).find("candidates"), std::string::npos);
  EXPECT_EQ(check_problem(request_of(std::vector<std::string>(kPromotionCandidatesMax, "a"))), "");
  EXPECT_NE(check_problem(request_of(std::vector<std::string>(kPromotionCandidatesMax + 1, "a")))
                .find("at most 1000"),
            std::string::npos);
  PromotionRequest paths = request_of({"a"});
  paths.paths = {"artifacts/**"};
  EXPECT_NE(check_problem(paths).find("only the method replace-paths"), std::string::npos);
  paths.method = PromotionMethod::kReplacePaths;
  EXPECT_EQ(check_problem(paths), "");
  paths.paths = {"[a"};
  EXPECT_NE(check_problem(paths).find("paths"), std::string::npos);
  paths.paths.assign(kPromotionPatternsMax + 1, "a/**");
  EXPECT_NE(check_problem(paths).find("paths"), std::string::npos);
  paths.paths.clear();
  EXPECT_NE(check_problem(paths).find("needs the paths"), std::string::npos);
  PromotionRequest wordy = request_of({"a"});
  wordy.reason.assign(kPromotionReasonBytesMax + 1, 'x');
  EXPECT_NE(check_problem(wordy).find("reason"), std::string::npos);
}

TEST(PromotionRequest, IsKeptWhole) {
  PromotionRequest request = request_of({"exp-*", "v1"});
  EXPECT_EQ(promotion_request_from_json(to_json(request)), request);
  request.policy = "gate";
  request.alias = "champion";
  request.method = PromotionMethod::kReplacePaths;
  request.paths = {"artifacts/**"};
  request.select = PromotionSelect::kOnly;
  request.expect_destination = CommitId{};
  request.expect_alias = std::optional<CommitId>();  // none may be there
  request.reason = "\"why\"";
  EXPECT_EQ(promotion_request_from_json(to_json(request)), request);
  request.expect_alias = std::optional<CommitId>(CommitId{});
  const std::string text = to_json(request);
  EXPECT_EQ(promotion_request_from_json(text), request);
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_THROW(promotion_request_from_json(text.substr(0, length)), Error) << length;
  }
}

TEST(PromotionCheck, HasLimits) {
  PromotionCheck check{.name = "bench", .commit = {}};
  EXPECT_EQ(check_problem(check), "");
  check.url.assign(kPromotionUrlBytesMax + 1, 'u');
  EXPECT_NE(check_problem(check).find("url"), std::string::npos);
  check.url.clear();
  for (size_t i = 0; i <= kPromotionCheckMetricsMax; ++i)
    check.metrics["m" + std::to_string(i)] = 1;
  EXPECT_NE(check_problem(check).find("metrics"), std::string::npos);
  check.metrics.clear();
  check.name.clear();
  EXPECT_NE(check_problem(check).find("name"), std::string::npos);
}

TEST(PromotionId, IsOfItsForm) {
  const std::string id = make_promotion_id(Instant{std::chrono::hours{500'000}});
  EXPECT_EQ(parse_promotion_id(id), id);
  EXPECT_LT(make_promotion_id(Instant{std::chrono::hours{500'001}}), id) << "the newest first";
  for (const char* wrong : {"", "x", "0000000000000000000w", "vpevtu8ti2seg93m2o400"})
    EXPECT_THROW(parse_promotion_id(wrong), Error) << wrong;
}

}  // namespace
}  // namespace tarn::promotion
