#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"
#include "server/api/json/object.h"

namespace tarn::api::json {
namespace {

TEST(StagingLocationBody, HasAUrlWithItsEndOrNull) {
  EXPECT_EQ(staging_location_body("local://a/b,t", std::nullopt),
            "{\"physical_address\":\"local://a/b,t\",\"presigned_url\":null}\n");
  EXPECT_EQ(staging_location_body("a", PresignedUrl{"http://x", from_millis(1'700'000'000'999)}),
            "{\"physical_address\":\"a\",\"presigned_url\":\"http://x\","
            "\"presigned_url_expiry\":1700000000}\n");
}

TEST(CompleteUploadBody, WantsPartsInOrder) {
  const CompleteUpload given = parsed(parse_complete_upload, R"({"physical_address":"a",
      "parts":[{"part_number":1,"etag":"\"x\""},{"part_number":9,"etag":"y"}],
      "user_metadata":{"k":"v"}})");
  ASSERT_EQ(given.parts.size(), 2u);
  EXPECT_EQ(given.parts[0].etag, "x");
  EXPECT_EQ(given.parts[1].number, 9u);
  EXPECT_EQ(given.content_type, "");
  for (
      const char* wrong :
      {R"({"physical_address":"","parts":[{"part_number":1,"etag":"x"}]})",
       R"({"parts":[{"part_number":1,"etag":"x"}]})", R"({"physical_address":"a","parts":[]})",
       R"({"physical_address":"a"})",
       R"({"physical_address":"a","parts":[{"part_number":0,"etag":"x"}]})",
       R"({"physical_address":"a","parts":[{"part_number":10001,"etag":"x"}]})",
       R"({"physical_address":"a","parts":[{"part_number":1,"etag":""}]})",
       R"({"physical_address":"a","parts":[{"part_number":1,"etag":"x"},{"part_number":1,"etag":"x"}]})"}) {
    EXPECT_NE(failure(parse_complete_upload, wrong), "") << wrong;
  }
}

TEST(CopyPartBody, NeedsItsSource) {
  const CopyPart given = parsed(parse_copy_part, R"({"physical_address":"a",
      "copy_source":{"repository":"r","ref":"main","path":"p"}})");
  EXPECT_EQ(given.path, "p");
  EXPECT_EQ(given.range, "");
  EXPECT_NE(failure(parse_copy_part, R"({"physical_address":"a"})"), "");
  EXPECT_NE(failure(parse_copy_part,
                    R"({"physical_address":"a","copy_source":{"repository":"r","ref":"main"}})"),
            "");
}

}  // namespace
}  // namespace tarn::api::json
