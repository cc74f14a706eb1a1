#include "core/http/partial_head.h"

#include <gtest/gtest.h>

namespace tarn::http {
namespace {

TEST(PartialHead, ReadsCompleteLines) {
  const Request request = read_partial_head(
      "\r\nPUT /b/k?a=b HTTP/1.1\r\nHost: s3.test\r\nAuthorization: \tAWS x \r\nX-Cut: not whol");
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.target, "/b/k?a=b");
  EXPECT_EQ(request.headers.get("host"), "s3.test");
  EXPECT_EQ(request.headers.get("authorization"), "AWS x");
  EXPECT_EQ(request.headers.all().size(), 2u);
  EXPECT_NE(request.body, nullptr);
}

TEST(PartialHead, TakesAnyBytes) {
  EXPECT_EQ(read_partial_head("").target, "");
  EXPECT_EQ(read_partial_head("\r\n\r\n").method, "");
  EXPECT_EQ(read_partial_head("GET").method, "GET");
  EXPECT_EQ(read_partial_head("GET /cut").target, "/cut");
  const Request odd = read_partial_head("GET / HTTP/1.1\r\nno colon\r\n: v\r\n\r\nbody: x\r\n");
  EXPECT_EQ(odd.headers.all().size(), 2u);
  EXPECT_EQ(odd.headers.get("body"), "");
}

}  // namespace
}  // namespace tarn::http
