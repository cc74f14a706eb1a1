#include "server/api/origin.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::api {
namespace {

bool accepted(std::vector<http::Headers::Field> fields) {
  http::Request request;
  request.headers.add("Host", "tarn.test:8000");
  for (const auto& [name, value] : fields) request.headers.add(name, value);
  try {
    check_origin(request);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), "cross_origin");
    EXPECT_EQ(error.code(), ErrorCode::kPermissionDenied);
    return false;
  }
}

TEST(Origin, UsesTheBrowsersHeader) {
  EXPECT_TRUE(accepted({}));
  EXPECT_TRUE(accepted({{"Sec-Fetch-Site", "same-origin"}}));
  EXPECT_TRUE(accepted({{"Sec-Fetch-Site", "none"}}));
  EXPECT_FALSE(accepted({{"Sec-Fetch-Site", "same-site"}}));
  EXPECT_FALSE(accepted({{"sec-fetch-site", "cross-site"}}));
  EXPECT_FALSE(accepted({{"Sec-Fetch-Site", "Same-Origin"}})) << "no browser writes it so";
  EXPECT_FALSE(accepted({{"Sec-Fetch-Site", ""}}));
  EXPECT_FALSE(accepted({{"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "cross-site"}}));
}

TEST(Origin, FallsBackToTheHostHeader) {
  EXPECT_TRUE(accepted({{"Origin", "http://tarn.test:8000"}}));
  EXPECT_TRUE(accepted({{"Origin", "https://TARN.test:8000"}})) << "TLS may end at a proxy";
  EXPECT_TRUE(accepted({{"Sec-Fetch-Site", "same-origin"}, {"Origin", "https://public.test"}}))
      << "the browser knows, whatever a proxy made of Host";
  for (const char* other : {"https://evil.test", "http://tarn.test", "http://tarn.test:80001",
                            "http://x.tarn.test:8000", "null", "", "tarn.test:8000", "://",
                            "http://tarn.test:8000.evil.test", "http://tarn.test:8000/"}) {
    EXPECT_FALSE(accepted({{"Origin", other}})) << other;
  }
}

TEST(Origin, WithoutAHostIsAnother) {
  http::Request request;
  request.headers.add("Origin", "http://");
  EXPECT_THROW(check_origin(request), Error);
}

}  // namespace
}  // namespace tarn::api
