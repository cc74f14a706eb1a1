#include "s3gateway/gateway.h"

#include <gtest/gtest.h>

namespace tarn::s3 {
namespace {

http::Request request(std::string method, std::string target) {
  http::Request out;
  out.method = std::move(method);
  out.target = std::move(target);
  return out;
}

TEST(Gateway, TakesSignedRequestsWhateverTheirPath) {
  http::Request get = request("GET", "/api/v1/repositories");
  EXPECT_FALSE(is_s3_request(get, {}));
  get.headers.add("Authorization", "Basic dTpw");
  EXPECT_FALSE(is_s3_request(get, {}));
  get.headers.set("Authorization", "AWS4-HMAC-SHA256 Credential=x");
  EXPECT_TRUE(is_s3_request(get, {}));
  get.headers.set("Authorization", "AWS key:signature");
  EXPECT_TRUE(is_s3_request(get, {}));
  EXPECT_TRUE(is_s3_request(request("GET", "/a/b/c?X-Amz-Credential=x&X-Amz-Signature=y"), {}));
  EXPECT_TRUE(is_s3_request(request("GET", "/a/b/c?AWSAccessKeyId=x&Signature=y&Expires=1"), {}));
}

TEST(Gateway, HandlesAllRequestsForItsHosts) {
  S3Options options;
  options.hosts = {"s3.local"};
  http::Request get = request("GET", "/");
  EXPECT_FALSE(is_s3_request(get, options));
  get.headers.set("Host", "lake.s3.local:8000");
  EXPECT_TRUE(is_s3_request(get, options));
  get.headers.set("Host", "s3.local");
  EXPECT_TRUE(is_s3_request(get, options));
  get.headers.set("Host", "evils3.local");
  EXPECT_FALSE(is_s3_request(get, options));
}

TEST(Gateway, TakesBrowserUploadsAndPreflightsOutsideTheRestApi) {
  http::Request post = request("POST", "/lake");
  EXPECT_FALSE(is_s3_request(post, {}));
  post.headers.add("Content-Type", "multipart/form-data; boundary=x");
  EXPECT_TRUE(is_s3_request(post, {}));
  post.target = "/lake/?x";
  EXPECT_TRUE(is_s3_request(post, {}));
  for (const char* other : {"/", "/lake/main", "/api", "/api/v1/repositories", "/auth/login"}) {
    post.target = other;
    EXPECT_FALSE(is_s3_request(post, {})) << other;
  }
  http::Request preflight = request("OPTIONS", "/lake/main/a");
  EXPECT_FALSE(is_s3_request(preflight, {}));
  preflight.headers.add("Access-Control-Request-Method", "PUT");
  EXPECT_TRUE(is_s3_request(preflight, {}));
  preflight.target = "/api/v1/config";
  EXPECT_FALSE(is_s3_request(preflight, {}));
}

}  // namespace
}  // namespace tarn::s3
