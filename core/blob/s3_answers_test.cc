#include "core/blob/s3_answers.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::blob {
namespace {

TEST(S3Answers, ParsesAListing) {
  const ListPage page = parse_list_objects(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<ListBucketResult "
      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name><Prefix>p%2F</Prefix>"
      "<KeyCount>2</KeyCount><MaxKeys>2</MaxKeys><EncodingType>url</"
      "EncodingType><IsTruncated>true</IsTruncated>"
      "<Contents><Key>a+b%2Bc%20d/%C3%BC</Key><LastModified>2026-11-20T08:15:42.605Z</LastModified>"
      "<ETag>&quot;0123-2&quot;</ETag><Size>5497558138880</Size><Owner><ID>x</ID></Owner>"
      "<StorageClass>STANDARD</StorageClass></Contents>"
      "<Contents><Key>z</Key><LastModified>2026-11-20T08:15:42Z</LastModified><ETag>\"e\"</"
      "ETag><Size>0</Size></Contents>"
      "<CommonPrefixes><Prefix>q/</Prefix></CommonPrefixes></ListBucketResult>");
  const BlobStat first{.key = "a b+c d/\xc3\xbc",
                       .size_bytes = 5'497'558'138'880,
                       .etag = "0123-2",
                       .mtime_ns = 1'795'162'542'605'000'000,
                       .version_id = ""};
  const BlobStat second{.key = "z",
                        .size_bytes = 0,
                        .etag = "e",
                        .mtime_ns = 1'795'162'542'000'000'000,
                        .version_id = ""};
  EXPECT_EQ(page.items, (std::vector<BlobStat>{first, second}));
  EXPECT_TRUE(page.has_more);
}

TEST(S3Answers, DoesNotDecodeKeysOfAServerThatIgnoresEncodingType) {
  const ListPage page = parse_list_objects(
      "<ListBucketResult><Contents><Key>a+b%20&amp;c</Key><Size>1</Size></Contents></"
      "ListBucketResult>");
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].key, "a+b%20&c");
  EXPECT_FALSE(page.has_more);
}

TEST(S3Answers, RefusesOtherDocumentsAsListings) {
  for (const char* xml :
       {"", "<html></html>", "<ListBucketResult>", "<Error><Code>X</Code></Error>",
        "<ListBucketResult><Contents><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><LastModified>x</LastModified></Contents></ListBucketResult>",
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%zz</Key></Contents></"
        "ListBucketResult>"}) {
    EXPECT_THROW(parse_list_objects(xml), Error) << xml;
  }
}

TEST(S3Answers, ParsesFailuresAndToleratesOtherBodies) {
  const S3Failure failure = parse_failure(
      "<Error><Code>NoSuchKey</Code><Message>gone &amp; away</Message><Key>k</Key></Error>");
  EXPECT_EQ(failure.code, "NoSuchKey");
  EXPECT_EQ(failure.message, "gone & away");
  for (const char* body : {"", "<html><body>502</body></html>", "<Error><Code>", "plain"}) {
    EXPECT_EQ(parse_failure(body).code, "") << body;
  }
}

TEST(S3Answers, ParsesUploads) {
  EXPECT_EQ(
      parse_upload_id("<InitiateMultipartUploadResult><Bucket>b</Bucket><UploadId>u-1</UploadId>"
                      "</InitiateMultipartUploadResult>"),
      "u-1");
  EXPECT_THROW(parse_upload_id("<InitiateMultipartUploadResult/>"), Error);
  const S3UploadPage page = parse_list_uploads(
      "<ListMultipartUploadsResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextKeyMarker>a%20b</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>"
      "<Upload><Key>a%20b</Key><UploadId>u</UploadId><Initiated>2026-11-20T08:15:42.000Z</"
      "Initiated></Upload>"
      "</ListMultipartUploadsResult>");
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].key, "a b");
  EXPECT_EQ(page.items[0].id, "u");
  EXPECT_EQ(to_millis(page.items[0].begun), 1'795'162'542'000);
  EXPECT_TRUE(page.has_more);
  EXPECT_EQ(page.next_key, "a b");
  EXPECT_EQ(page.next_id, "u");
}

TEST(S3Answers, QuotesEtags) {
  EXPECT_EQ(unquoted_etag("\"abc\""), "abc");
  EXPECT_EQ(unquoted_etag("abc"), "abc");
  EXPECT_EQ(unquoted_etag("\""), "\"");
  EXPECT_EQ(unquoted_etag("W/\"abc\""), "W/\"abc\"");
  EXPECT_EQ(quoted_etag("abc"), "\"abc\"");
  EXPECT_EQ(quoted_etag("W/\"abc\""), "W/\"abc\"");
}

}  // namespace
}  // namespace tarn::blob
