#include "core/model/pull_request.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

TEST(PullRequestIds, OfLaterOnesAreSmaller) {
  std::string last = "w";  // past every digit
  for (const int64_t ms : {0LL, 1LL, 255LL, 256LL, 1'763'740'000'000LL, (1LL << 48) - 1}) {
    const std::string id = make_pull_request_id(from_millis(ms));
    EXPECT_EQ(id.size(), 20u);
    EXPECT_LT(id, last);
    EXPECT_EQ(parse_pull_request_id(id), id);
    last = id;
  }
  EXPECT_NE(make_pull_request_id(from_millis(1)), make_pull_request_id(from_millis(1)));
}

TEST(PullRequestIds, AreRefusedInAnyOtherForm) {
  const std::string id = make_pull_request_id(from_millis(0));
  for (const std::string& text : {std::string(), std::string("zz"), id.substr(1), id + "0",
                                  "w" + id.substr(1), "V" + id.substr(1), id.substr(0, 19) + "1"}) {
    EXPECT_THROW(parse_pull_request_id(text), Error) << text;
  }
}

TEST(PullRequestNumbers, AreReadWithAndWithoutASign) {
  EXPECT_EQ(parse_pull_request_number("12"), 12);
  EXPECT_EQ(parse_pull_request_number("#2147483647"), 2'147'483'647);
  ASSERT_EQ(parse_pull_request_id("00000000000000000010"), "00000000000000000010");
  for (const char* text : {"", "#", "##1", "0", "-1", "+1", " 1", "1 ", "1x", "0x1", "2147483648",
                           "00000000000000000010"}) {
    EXPECT_EQ(parse_pull_request_number(text), std::nullopt) << text;
  }
}

TEST(PullRequestStatuses, AreReadAsTheyAreWritten) {
  for (const auto status :
       {PullRequestStatus::kOpen, PullRequestStatus::kClosed, PullRequestStatus::kMerged}) {
    EXPECT_EQ(parse_pull_request_status(name_of(status)), status);
  }
  EXPECT_EQ(parse_pull_request_status("Open"), std::nullopt);
  for (const auto verdict : {ReviewVerdict::kApproved, ReviewVerdict::kChangesRequested}) {
    EXPECT_EQ(parse_review_verdict(name_of(verdict)), verdict);
  }
  EXPECT_EQ(parse_review_verdict("rejected"), std::nullopt);
}

}  // namespace
}  // namespace tarn
