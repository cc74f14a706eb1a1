#include "s3gateway/wire/amz_headers.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "s3gateway/wire/endpoint.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

std::vector<std::string> words(std::string_view list) {
  std::vector<std::string> out;
  std::string word;
  for (char c : list) {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      out.push_back(std::exchange(word, ""));
    }
  }
  return out;
}

/// A name that matches the row.
std::string name_in(const AmzHeader& row) {
  return row.name.ends_with('*') ? str_cat(row.name.substr(0, row.name.size() - 1), "x")
                                 : std::string(row.name);
}

/// The header that the request is refused for; "" when it is not.
std::string refused(const std::string& name, const std::string& value, std::string_view operation,
                    bool reads = false) {
  http::Headers headers;
  headers.add(name, value);
  try {
    check_amz_headers(headers, operation, reads);
  } catch (const Refusal& refusal) {
    EXPECT_EQ(refusal.failure().code, "NotImplemented");
    EXPECT_NE(refusal.message().find(name), std::string::npos) << refusal.message();
    return refusal.elements().at(0).second;
  }
  return "";
}

std::set<std::string> served_operations() {
  std::set<std::string> out;
  for (const OperationRow& row : operation_table()) {
    if (row.support != Support::kRefused) out.emplace(row.operation);
  }
  return out;
}

// The headers that S3's API reference lists, without their prefix.
constexpr std::string_view kEncryption =
    " server-side-encryption server-side-encryption-aws-kms-key-id "
    "server-side-encryption-bucket-key-enabled server-side-encryption-context ";
constexpr std::string_view kCustomerKey =
    " server-side-encryption-customer-algorithm server-side-encryption-customer-key "
    "server-side-encryption-customer-key-MD5 ";
constexpr std::string_view kSourceKey =
    " copy-source-server-side-encryption-customer-algorithm "
    "copy-source-server-side-encryption-customer-key "
    "copy-source-server-side-encryption-customer-key-MD5 ";
constexpr std::string_view kGrants =
    " grant-full-control grant-read grant-read-acp grant-write grant-write-acp ";
constexpr std::string_view kCreation =
    " acl meta-x storage-class tagging website-redirect-location object-lock-legal-hold "
    "object-lock-mode object-lock-retain-until-date ";
constexpr std::string_view kChecksums =
    " checksum-crc32 checksum-crc32c checksum-crc64nvme checksum-sha1 checksum-sha256 checksum-md5 "
    "checksum-sha512 checksum-xxhash3 checksum-xxhash64 checksum-xxhash128 ";
constexpr std::string_view kCopy =
    " copy-source copy-source-if-match copy-source-if-modified-since copy-source-if-none-match "
    "copy-source-if-unmodified-since source-expected-bucket-owner ";
constexpr std::string_view kEveryRequest =
    " date content-sha256 security-token user-agent expected-bucket-owner request-payer ";

/// Those of one operation.
std::vector<std::string> documented_headers(std::string_view operation) {
  const std::string put = str_cat(kCreation, kEncryption, kCustomerKey, kGrants);
  const std::vector<std::pair<std::string_view, std::string>> rows = {
      {"CreateBucket",
       str_cat(" acl bucket-namespace bucket-object-lock-enabled object-ownership ", kGrants)},
      {"PutBucketVersioning", " mfa sdk-checksum-algorithm "},
      {"PutBucketAcl", str_cat(" acl sdk-checksum-algorithm ", kGrants)},
      {"PutObjectAcl", str_cat(" acl sdk-checksum-algorithm ", kGrants)},
      {"ListObjects", " optional-object-attributes "},
      {"ListObjectsV2", " optional-object-attributes "},
      {"ListObjectVersions", " optional-object-attributes "},
      {"DeleteObjects", " bypass-governance-retention mfa sdk-checksum-algorithm "},
      {"DeleteObject",
       " bypass-governance-retention mfa if-match-size if-match-last-modified-time "},
      {"GetObject", str_cat(" checksum-mode ", kCustomerKey)},
      {"HeadObject", str_cat(" checksum-mode ", kCustomerKey)},
      {"GetObjectAttributes",
       str_cat(" object-attributes max-parts part-number-marker ", kCustomerKey)},
      {"PutObject", str_cat(put, kChecksums,
                            " sdk-checksum-algorithm write-offset-bytes decoded-content-length "
                            "trailer ")},
      {"PostObject", str_cat(put, kChecksums, " algorithm credential signature ")},
      {"CopyObject", str_cat(put, kCopy, kSourceKey,
                             " checksum-algorithm metadata-directive tagging-directive ")},
      {"CreateMultipartUpload", str_cat(put, " checksum-algorithm checksum-type ")},
      {"UploadPart", str_cat(kChecksums, kCustomerKey,
                             " sdk-checksum-algorithm decoded-content-length trailer ")},
      {"UploadPartCopy", str_cat(kCopy, " copy-source-range ", kCustomerKey, kSourceKey)},
      {"CompleteMultipartUpload",
       str_cat(kChecksums, kCustomerKey, " checksum-type mp-object-size ")},
      {"AbortMultipartUpload", " if-match-initiated-time "},
      {"ListParts", std::string(kCustomerKey)},
      {"PutObjectTagging", " sdk-checksum-algorithm "},
  };
  std::vector<std::string> out = words(kEveryRequest);
  for (const auto& [name, headers] : rows) {
    if (name != operation) continue;
    for (const std::string& header : words(headers)) out.push_back(header);
  }
  for (std::string& header : out) header = str_cat("x-amz-", header);
  return out;
}

TEST(AmzHeaders, HaveARowForEachHeaderThatS3DocumentsForAnOperation) {
  size_t asked = 0;
  for (const std::string& operation : served_operations()) {
    for (const std::string& header : documented_headers(operation)) {
      EXPECT_NE(find_amz_header(header, operation), nullptr) << operation << ' ' << header;
      ++asked;
    }
  }
  EXPECT_GT(asked, 400u);
}

TEST(AmzHeaders, RefuseUnservedFeaturesOnEveryOperation) {
  for (const std::string& operation : served_operations()) {
    for (const std::string name :
         {"x-amz-server-side-encryption", "x-amz-server-side-encryption-customer-key",
          "x-amz-copy-source-server-side-encryption-customer-key", "x-amz-object-lock-mode",
          "x-amz-object-lock-legal-hold", "x-amz-bucket-object-lock-enabled",
          "x-amz-write-offset-bytes", "x-amz-website-redirect-location", "x-amz-grant-read",
          "x-amz-object-ownership", "x-amz-object-annotation-directive", "x-amz-checksum-sha512",
          "x-amz-s3session-token"}) {
      EXPECT_EQ(refused(name, "x", operation), name) << operation;
    }
  }
  EXPECT_EQ(refused("x-amz-acl", "public-read", "UploadPart"), "x-amz-acl");
}

TEST(AmzHeaders, AcceptHeadersWithoutEffect) {
  for (const std::string& operation : served_operations()) {
    for (const AmzHeader& row : amz_headers()) {
      const AmzHeader* found = find_amz_header(name_in(row), operation);
      if (!found || found->use != HeaderUse::kRefused) {
        EXPECT_EQ(refused(name_in(row), "x", operation), "") << operation << ' ' << row.name;
      }
      for (const std::string& value : words(row.harmless)) {
        EXPECT_EQ(refused(name_in(row), value, operation), "") << operation << ' ' << row.name;
      }
    }
    EXPECT_EQ(refused("x-amz-checksum-mode", "ENABLED", operation), "") << operation;
    EXPECT_EQ(refused("x-amz-acl", "private", operation), "") << operation;
  }
}

TEST(AmzHeaders, RefuseAnUnknownOneUnlessTheOperationOnlyReads) {
  EXPECT_EQ(refused("X-Amz-New-Feature", "x", "PutObject"), "X-Amz-New-Feature");
  EXPECT_EQ(refused("X-Amz-New-Feature", "x", "GetObject", /*reads=*/true), "");
  EXPECT_EQ(refused("x-amzn-trace-id", "x", "PutObject"), "");
  EXPECT_EQ(refused("x-forwarded-for", "x", "PutObject"), "");
}

TEST(AmzHeaders, AreTheSameInEveryCase) {
  EXPECT_EQ(refused("X-AMZ-Object-Lock-Mode", "COMPLIANCE", "PutObject"), "X-AMZ-Object-Lock-Mode");
  EXPECT_EQ(refused("X-Amz-Server-Side-Encryption-Customer-Key", "x", "HeadObject", true),
            "X-Amz-Server-Side-Encryption-Customer-Key");
  EXPECT_EQ(refused("X-Amz-Meta-A", "x", "PutObject"), "");
}

TEST(AmzHeaders, NameOperationsOfTheDispatchTable) {
  const std::set<std::string> served = served_operations();
  for (const AmzHeader& row : amz_headers()) {
    EXPECT_TRUE(row.name.starts_with("x-amz-")) << row.name;
    for (const std::string& operation : words(row.operations)) {
      EXPECT_TRUE(operation == "PostObject" || served.contains(operation)) << operation;
    }
  }
}

}  // namespace
}  // namespace tarn::s3
