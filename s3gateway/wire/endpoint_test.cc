#include "s3gateway/wire/endpoint.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

using testing::ElementsAre;
using testing::Pair;

http::Request request(std::string method, std::string target) {
  http::Request out;
  out.method = std::move(method);
  out.target = std::move(target);
  out.headers.add("Host", "s3.example.com");
  return out;
}

Endpoint parse(std::string method, std::string target) {
  return parse_endpoint(request(std::move(method), std::move(target)), {});
}

std::string name_at(std::string method, std::string target) {
  return std::string(name_of(parse(std::move(method), std::move(target))));
}

struct Case {
  std::string_view method;
  std::string_view target;
  std::string_view operation;
};

// The request lines of S3's API reference, one a documented operation.
constexpr Case kDocumented[] = {
    {"GET", "/", "ListBuckets"},
    {"GET", "/?max-buckets=5&prefix=a&x-id=ListBuckets", "ListBuckets"},
    {"HEAD", "/lake", "HeadBucket"},
    {"HEAD", "/lake/", "HeadBucket"},
    {"PUT", "/lake", "CreateBucket"},
    {"DELETE", "/lake", "DeleteBucket"},
    {"GET", "/lake?location", "GetBucketLocation"},
    {"GET", "/lake?location=", "GetBucketLocation"},
    {"GET", "/lake/?versioning", "GetBucketVersioning"},
    {"PUT", "/lake?versioning", "PutBucketVersioning"},
    {"GET", "/lake", "ListObjects"},
    {"GET", "/lake/?delimiter=&max-keys=1000&prefix=", "ListObjects"},
    {"GET", "/lake?list-type=1", "ListObjects"},
    {"GET", "/lake?list-type=2&prefix=main%2F", "ListObjectsV2"},
    {"GET", "/lake?list-type=2&metadata=true&fetch-owner=true&start-after=a", "ListObjectsV2"},
    {"GET", "/lake?versions&max-keys=3", "ListObjectVersions"},
    {"GET", "/lake?uploads&max-uploads=3", "ListMultipartUploads"},
    {"POST", "/lake?delete", "DeleteObjects"},
    {"POST", "/lake/?delete=", "DeleteObjects"},
    {"GET", "/lake?acl", "GetBucketAcl"},
    {"PUT", "/lake?acl", "PutBucketAcl"},
    {"GET", "/lake?policy", "GetBucketPolicy"},
    {"GET", "/lake?policyStatus", "GetBucketPolicyStatus"},
    {"GET", "/lake?cors", "GetBucketCors"},
    {"GET", "/lake?lifecycle", "GetBucketLifecycleConfiguration"},
    {"GET", "/lake?tagging", "GetBucketTagging"},
    {"GET", "/lake?encryption", "GetBucketEncryption"},
    {"GET", "/lake?website", "GetBucketWebsite"},
    {"GET", "/lake?replication", "GetBucketReplication"},
    {"GET", "/lake?object-lock", "GetObjectLockConfiguration"},
    {"GET", "/lake?publicAccessBlock", "GetPublicAccessBlock"},
    {"GET", "/lake?ownershipControls", "GetBucketOwnershipControls"},
    {"GET", "/lake?logging", "GetBucketLogging"},
    {"GET", "/lake?notification", "GetBucketNotificationConfiguration"},
    {"GET", "/lake?accelerate", "GetBucketAccelerateConfiguration"},
    {"GET", "/lake?requestPayment", "GetBucketRequestPayment"},
    {"GET", "/lake?session", "CreateSession"},
    {"GET", "/lake?inventory&id=list1", "GetBucketInventoryConfiguration"},
    {"PUT", "/lake?policy", "PutBucketPolicy"},
    {"PUT", "/lake?lifecycle", "PutBucketLifecycleConfiguration"},
    {"DELETE", "/lake?cors", "DeleteBucketCors"},
    {"POST", "/lake", "PostObject"},

    {"GET", "/lake/main/a.txt", "GetObject"},
    {"GET", "/lake/main/a.txt?versionId=null&partNumber=1", "GetObject"},
    {"GET", "/lake/main/a.txt?x-id=GetObject", "GetObject"},
    {"HEAD", "/lake/main/a.txt", "HeadObject"},
    {"HEAD", "/lake/main/", "HeadObject"},
    {"HEAD", "/lake/main", "HeadObject"},
    {"GET", "/lake/main/a?attributes", "GetObjectAttributes"},
    {"PUT", "/lake/main/a.txt", "PutObject"},
    {"PUT", "/lake/main/a.txt?x-id=PutObject", "PutObject"},
    {"DELETE", "/lake/main/a?versionId=null", "DeleteObject"},
    {"POST", "/lake/main/a?uploads", "CreateMultipartUpload"},
    {"POST", "/lake/main/a?uploads=", "CreateMultipartUpload"},
    {"PUT", "/lake/main/a?uploadId=u&partNumber=1", "UploadPart"},
    {"PUT", "/lake/main/a?partNumber=1&uploadId=u&x-id=UploadPart", "UploadPart"},
    {"POST", "/lake/main/a?uploadId=u", "CompleteMultipartUpload"},
    {"DELETE", "/lake/main/a?uploadId=u", "AbortMultipartUpload"},
    {"GET", "/lake/main/a?uploadId=u&max-parts=2&part-number-marker=1", "ListParts"},
    {"GET", "/lake/main/a?tagging&versionId=null", "GetObjectTagging"},
    {"PUT", "/lake/main/a?tagging", "PutObjectTagging"},
    {"DELETE", "/lake/main/a?tagging", "DeleteObjectTagging"},
    {"GET", "/lake/main/a?acl", "GetObjectAcl"},
    {"PUT", "/lake/main/a?acl", "PutObjectAcl"},
    {"POST", "/lake/main/a?select&select-type=2", "SelectObjectContent"},
    {"POST", "/lake/main/a?restore", "RestoreObject"},
    {"GET", "/lake/main/a?torrent", "GetObjectTorrent"},
    {"PUT", "/lake/main/a?legal-hold", "PutObjectLegalHold"},
    {"GET", "/lake/main/a?retention", "GetObjectRetention"},
    {"PUT", "/lake/main/b?renameObject", "RenameObject"},
    {"OPTIONS", "/lake/main/a", "CorsPreflight"},
    {"OPTIONS", "/lake/main/a?partNumber=1&uploadId=u", "CorsPreflight"},
    {"OPTIONS", "/lake?delete", "CorsPreflight"},
    {"PATCH", "/lake/main/a", "NoSuchMethod"},
    {"POST", "/", "NoSuchMethod"},
    {"DELETE", "/", "NoSuchMethod"},
};

TEST(Endpoint, NamesTheOperationOfEveryDocumentedRequestLine) {
  for (const Case& c : kDocumented) {
    EXPECT_EQ(name_at(std::string(c.method), std::string(c.target)), c.operation)
        << c.method << ' ' << c.target;
  }
}

TEST(Endpoint, NeverTakesAnUnknownSubresourceForThePlainOperation) {
  for (const std::string method : {"GET", "HEAD", "PUT", "POST", "DELETE"}) {
    for (const std::string path : {"/", "/lake", "/lake/main/a"}) {
      EXPECT_EQ(name_at(method, path + "?newFeature"), "UnknownSubresource") << method << path;
    }
  }
  EXPECT_EQ(name_at("PUT", "/lake/main/a?newFeature=1"), "UnknownSubresource");
  EXPECT_EQ(name_at("DELETE", "/lake/main/a?newFeature=1"), "UnknownSubresource");
  EXPECT_EQ(name_at("PUT", "/lake/main/a?partNumber=1"), "UnknownSubresource");
  EXPECT_EQ(name_at("PUT", "/lake/main/a?versionId=null"), "UnknownSubresource");
}

TEST(Endpoint, NeverWritesOrDeletesAnObjectWithASubresourceInTheQuery) {
  std::set<std::string> subresources;
  for (const OperationRow& row : operation_table()) {
    if (!row.subresource.empty()) subresources.insert(std::string(row.subresource));
  }
  ASSERT_GT(subresources.size(), 30u);
  for (const std::string& name : subresources) {
    for (const std::string value : {"", "=", "=1"}) {
      const std::string put = name_at("PUT", "/lake/main/a?" + name + value);
      EXPECT_NE(put, "PutObject") << name;
      EXPECT_NE(name_at("DELETE", "/lake/main/a?" + name + value), "DeleteObject") << name;
      EXPECT_NE(name_at("GET", "/lake/main/a?" + name + value), "GetObject") << name;
      EXPECT_NE(name_at("PUT", "/lake?" + name + value), "CreateBucket") << name;
      EXPECT_NE(name_at("DELETE", "/lake?" + name + value), "DeleteBucket") << name;
    }
  }
}

TEST(Endpoint, ReadsIgnoreUnknownParametersWithAValue) {
  EXPECT_EQ(name_at("GET", "/lake/main/a?cache-breaker=7"), "GetObject");
  EXPECT_EQ(name_at("HEAD", "/lake?why=probe"), "HeadBucket");
}

TEST(Endpoint, IgnoresTheParametersOfSignatures) {
  EXPECT_EQ(name_at("PUT", "/lake/main/a?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=00"),
            "PutObject");
  EXPECT_EQ(name_at("PUT", "/lake/main/a?AWSAccessKeyId=k&Signature=s&Expires=1"), "PutObject");
  EXPECT_EQ(name_at("PUT", "/lake/main/a?x-amz-meta-color=red&x-amz-acl=private"), "PutObject");
}

TEST(Endpoint, RefusesTwoSubresources) {
  EXPECT_THROW(parse("GET", "/lake/main/a?acl&tagging"), Refusal);
  EXPECT_THROW(parse("PUT", "/lake/main/a?uploadId=u&partNumber=1&acl"), Refusal);
}

TEST(Endpoint, RefusesAVersionWithoutId) {
  for (const std::string method : {"GET", "HEAD", "DELETE"}) {
    EXPECT_THROW(parse(method, "/lake/main/a?versionId="), Refusal) << method;
    EXPECT_THROW(parse(method, "/lake/main/a?versionId"), Refusal) << method;
  }
  EXPECT_THROW(parse("GET", "/lake/main/a?tagging&versionId="), Refusal);
}

TEST(Endpoint, ReadsTheParametersOfAListing) {
  const auto list = std::get<ListObjectsV2>(
      parse("GET",
            "/lake?list-type=2&prefix=main%2Fa%20b&delimiter=%2F&max-keys=7&encoding-type=url"
            "&continuation-token=t&start-after=s&fetch-owner=true"));
  EXPECT_EQ(list.bucket, "lake");
  EXPECT_EQ(list.parameters.prefix, "main/a b");
  EXPECT_EQ(list.parameters.delimiter, "/");
  EXPECT_EQ(list.parameters.max_keys, "7");
  EXPECT_EQ(list.parameters.encoding_type, "url");
  EXPECT_EQ(list.continuation_token, "t");
  EXPECT_EQ(list.start_after, "s");
  EXPECT_TRUE(list.fetch_owner);
}

TEST(Endpoint, ReadsTheParametersOfARead) {
  const auto get = std::get<GetObject>(
      parse("GET",
            "/lake/main/a%20b%2Bc?versionId=null&partNumber=3&response-content-type=text%2Fplain"
            "&response-expires=never"));
  EXPECT_EQ(get.bucket, "lake");
  EXPECT_EQ(get.key, "main/a b+c");
  EXPECT_EQ(get.version_id, "null");
  EXPECT_EQ(get.part_number, "3");
  EXPECT_THAT(get.overrides,
              ElementsAre(Pair("Content-Type", "text/plain"), Pair("Expires", "never")));
}

TEST(Endpoint, TellsCopiesByHeaderOrPresignedQuery) {
  http::Request copy = request("PUT", "/lake/main/a");
  copy.headers.add("X-Amz-Copy-Source", "lake/main/b");
  EXPECT_EQ(name_of(parse_endpoint(copy, {})), "CopyObject");
  copy.target = "/lake/main/a?partNumber=2&uploadId=u";
  const auto part = std::get<UploadPartCopy>(parse_endpoint(copy, {}));
  EXPECT_EQ(part.upload_id, "u");
  EXPECT_EQ(part.part_number, "2");
  EXPECT_EQ(name_at("PUT", "/lake/main/a?X-Amz-Copy-Source=lake%2Fmain%2Fb"), "CopyObject");
}

TEST(Endpoint, RefusesOtherListTypes) {
  try {
    parse("GET", "/lake?list-type=3");
    FAIL();
  } catch (const Refusal& refusal) {
    EXPECT_EQ(refusal.failure().code, "InvalidArgument");
  }
}

TEST(Endpoint, TakesTheBucketFromTheHostBelowAConfiguredOne) {
  const std::vector<std::string> hosts{"example.com", "s3.example.com"};
  http::Request get = request("GET", "/main/a%2Fb");
  get.headers.set("Host", "Lake.S3.example.com:8000");
  const auto endpoint = std::get<GetObject>(parse_endpoint(get, hosts));
  EXPECT_EQ(endpoint.bucket, "lake");
  EXPECT_EQ(endpoint.key, "main/a/b");
  get.target = "/?list-type=2";
  EXPECT_EQ(std::get<ListObjectsV2>(parse_endpoint(get, hosts)).bucket, "lake");
}

TEST(Endpoint, NamesTheRequiredPermission) {
  EXPECT_EQ(action_of(parse("GET", "/")), Action::kListRepositories);
  EXPECT_EQ(action_of(parse("GET", "/lake")), Action::kListObjects);
  EXPECT_EQ(action_of(parse("GET", "/lake/main/a")), Action::kReadObject);
  EXPECT_EQ(action_of(parse("PUT", "/lake/main/a")), Action::kWriteObject);
  EXPECT_EQ(action_of(parse("POST", "/lake?delete")), Action::kDeleteObject);
  EXPECT_EQ(action_of(parse("GET", "/lake?policy")), Action::kReadRepository);
  EXPECT_EQ(action_of(parse("PUT", "/lake")), Action::kCreateRepository);
  EXPECT_EQ(bucket_of(parse("PUT", "/lake/main/a")), "lake");
  EXPECT_EQ(key_of(parse("PUT", "/lake/main/a")), "main/a");
  EXPECT_EQ(key_of(parse("GET", "/lake")), "");
}

TEST(Endpoint, ListsEachOperationOnceAMethodAndLevel) {
  std::set<std::string> seen;
  for (const OperationRow& row : operation_table()) {
    EXPECT_TRUE(seen.insert(str_cat(row.operation, ' ', row.method, ' ', row.level)).second)
        << row.operation;
  }
}

}  // namespace
}  // namespace tarn::s3
