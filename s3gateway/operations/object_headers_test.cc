#include "s3gateway/operations/object_headers.h"

#include <gtest/gtest.h>

#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/object_tags.h"

namespace tarn::s3 {
namespace {

using Fields = std::vector<http::Headers::Field>;

const Instant kWritten = *parse_rfc3339("2026-11-20T08:15:42.605Z");
const Instant kNow = *parse_rfc3339("2026-11-21T00:00:00Z");

Entry full_entry() {
  http::Headers headers;
  headers.add("Content-Type", "text/plain");
  headers.add("Cache-Control", "no-cache");
  headers.add("Content-Disposition", "attachment");
  headers.add("Content-Encoding", "gzip, aws-chunked");
  headers.add("Content-Language", "de");
  headers.add("Expires", "whenever");
  headers.add("x-amz-storage-class", "GLACIER");
  headers.add("x-amz-tagging", "a=1&b=2");
  headers.add("x-amz-meta-Color", "red");
  const objects::ObjectAttributes attributes = parse_object_attributes(headers);
  Entry entry;
  entry.etag = "abc";
  entry.mtime = kWritten;
  entry.content_type = attributes.content_type;
  entry.extras = attributes.extras;
  entry.set_user_metadata(attributes.user_metadata);
  return entry;
}

TEST(ObjectHeaders, RoundTrip) {
  http::Headers out;
  add_object_headers(out, full_entry(), kNow, {});
  EXPECT_EQ(out.all(), (Fields{{"ETag", "\"abc\""},
                               {"Last-Modified", "Fri, 20 Nov 2026 08:15:42 GMT"},
                               {"Accept-Ranges", "bytes"},
                               {"Content-Type", "text/plain"},
                               {"Cache-Control", "no-cache"},
                               {"Content-Disposition", "attachment"},
                               {"Content-Encoding", "gzip"},
                               {"Content-Language", "de"},
                               {"Expires", "whenever"},
                               {"x-amz-storage-class", "GLACIER"},
                               {"x-amz-tagging-count", "2"},
                               {"x-amz-meta-color", "red"}}));
}

TEST(ObjectHeaders, GiveWayToOverrides) {
  http::Headers out;
  add_object_headers(out, full_entry(), kNow,
                     {{"Content-Type", "text/html"}, {"Expires", "never"}});
  EXPECT_EQ(out.get("content-type"), "text/html");
  EXPECT_EQ(out.get("expires"), "never");
  EXPECT_EQ(out.count("content-type"), 1u);
  http::Headers plain;
  Entry bare;
  add_object_headers(plain, bare, kNow, {{"Cache-Control", "max-age=1"}});
  EXPECT_EQ(plain.get("cache-control"), "max-age=1");
}

TEST(ObjectHeaders, StoredValuesCannotBreakHeaders) {
  Entry entry;
  entry.etag = "a\r\nSet-Cookie: x";
  entry.content_type = "text/plain\nX: y";
  entry.extras.set(ExtraTag::kExpires, std::string("a\0b\x7f", 4));
  http::Headers out;
  add_object_headers(out, entry, kNow, {});
  EXPECT_EQ(out.get("etag"), "\"a__Set-Cookie: x\"");
  EXPECT_EQ(out.get("content-type"), "text/plain_X: y");
  EXPECT_EQ(out.get("expires"), "a_b_");
}

TEST(ObjectHeaders, NeverDateAnObjectInTheFuture) {
  Entry entry;
  entry.mtime = kNow + std::chrono::hours(1);
  http::Headers out;
  add_object_headers(out, entry, kNow, {});
  EXPECT_EQ(out.get("last-modified"), "Sat, 21 Nov 2026 00:00:00 GMT");
  http::Headers unchanged;
  add_not_modified_headers(unchanged, entry, kNow);
  EXPECT_EQ(unchanged.get("last-modified"), "Sat, 21 Nov 2026 00:00:00 GMT");
}

TEST(ObjectHeaders, NotModifiedHasOnlyCachingHeaders) {
  http::Headers out;
  add_not_modified_headers(out, full_entry(), kNow);
  EXPECT_EQ(out.all(), (Fields{{"ETag", "\"abc\""},
                               {"Last-Modified", "Fri, 20 Nov 2026 08:15:42 GMT"},
                               {"Cache-Control", "no-cache"},
                               {"Expires", "whenever"}}));
}

TEST(ObjectHeaders, HaveDefaults) {
  const objects::ObjectAttributes attributes = parse_object_attributes({});
  EXPECT_EQ(attributes.content_type, "binary/octet-stream");
  EXPECT_EQ(attributes.extras, Extras());
  Entry empty;
  http::Headers out;
  add_object_headers(out, empty, kNow, {});
  EXPECT_EQ(out.get("content-type"), "binary/octet-stream");
  EXPECT_EQ(storage_class_of(empty), "STANDARD");
}

TEST(ObjectHeaders, StoreNoContentEncodingThatOnlyFramedTheUpload) {
  http::Headers headers;
  headers.add("Content-Encoding", "aws-chunked");
  EXPECT_EQ(parse_object_attributes(headers).extras, Extras());
}

TEST(ObjectHeaders, RefuseUnknownStorageClasses) {
  http::Headers headers;
  headers.add("x-amz-storage-class", "CHEAP");
  EXPECT_THROW(parse_object_attributes(headers), Refusal);
  headers.set("x-amz-storage-class", "STANDARD");
  EXPECT_EQ(parse_object_attributes(headers).extras, Extras());
}

}  // namespace
}  // namespace tarn::s3
