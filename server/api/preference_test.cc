#include "server/api/preference.h"

#include <gtest/gtest.h>

namespace tarn::api {
namespace {

TEST(Preference, IsReadFromTheHeader) {
  const auto wait = [](const char* value) {
    http::Request request;
    request.headers.add("prefer", value);
    return preferred_wait(request);
  };
  EXPECT_EQ(wait("wait=5"), std::chrono::seconds{5});
  EXPECT_EQ(wait("respond-async"), std::chrono::seconds{0});
  EXPECT_EQ(wait("respond-async, wait=7"), std::chrono::seconds{7});
  EXPECT_EQ(wait("wait=100000"), kPreferredWaitMax);
  EXPECT_EQ(wait("wait=99999999999999999999"), std::nullopt);
  EXPECT_EQ(wait("wait=-1"), std::nullopt);
  EXPECT_EQ(wait("return=minimal"), std::nullopt);
  EXPECT_EQ(wait(""), std::nullopt);
}

}  // namespace
}  // namespace tarn::api
