// Tests of the parameters of a signed query besides its signature.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/sigv4/testing/signed_requests.h"
#include "core/sigv4/verify.h"

namespace tarn::sigv4 {
namespace {

using namespace std::chrono_literals;
using testing::make_request;
using testing::outcome_of;
using testing::presign_v4;

TEST(Verify, HoistingAddsMissingHeadersAndNoSignatureParameters) {
  http::Request request = make_request(
      "PUT",
      "/k?x-amz-meta-a=from%20query&X-Amz-Acl=private&x-amz-checksum-crc32=NhCmhg%3D%3D"
      "&Content-Type=text%2Fhtml&partNumber=1");
  request.headers.add("x-amz-acl", "bucket-owner-full-control");
  presign_v4(request, 60s);
  hoist_query_headers(request);
  EXPECT_EQ(request.headers.get("x-amz-meta-a"), "from query");
  EXPECT_EQ(request.headers.get("x-amz-checksum-crc32"), "NhCmhg==");
  EXPECT_EQ(request.headers.get("x-amz-acl"), "bucket-owner-full-control");
  EXPECT_EQ(request.headers.all().size(), 4u);  // host and these: neither date nor type
}

TEST(Verify, HoistingRefusesValuesThatAreInvalidInHeaders) {
  for (const char* value : {"a%0D%0ASet-Cookie:%20x", "a%00b", "%7f"}) {
    http::Request request = make_request("PUT", str_cat("/k?x-amz-meta-a=", value));
    EXPECT_EQ(outcome_of([&] { hoist_query_headers(request); }), "InvalidArgument") << value;
  }
}

}  // namespace
}  // namespace tarn::sigv4
