// Two servers of S3, and a request for every operation of the dispatch table with the permissions
// it needs, for tests. An operation without a row here fails.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/auth/directory.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/branch/store_owner.h"
#include "core/objects/multipart.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/sign.h"
#include "s3gateway/gateway.h"
#include "s3gateway/wire/endpoint.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/postgres_test.h"
#include "tests/support/role_matrix.h"
#include "tests/support/test_clock.h"

namespace tarn::s3 {

constexpr std::string_view kHost = "tarn.test:8000";
constexpr std::string_view kRegion = "us-east-1";

struct Row {
  std::string_view operation;
  std::string_view method;
  std::string target;  ///< "{upload}" stands for an open upload
  std::vector<testing::Permission> needs;
  std::string body{};
  http::Headers headers{};
};

/// A request for every operation that is served, by its name, with all that it needs.
inline std::map<std::string_view, Row> served_rows() {
  const std::vector<testing::Permission> read = {{"fs:ReadObject", "repository/data/object/dir/a"}};
  const std::vector<testing::Permission> write = {
      {"fs:WriteObject", "repository/data/object/dir/a"}};
  const std::vector<testing::Permission> remove = {
      {"fs:DeleteObject", "repository/data/object/dir/a"}};
  const std::vector<testing::Permission> list = {{"fs:ListObjects", "repository/data"}};
  const std::vector<testing::Permission> look = {{"fs:ReadRepository", "repository/data"}};
  const std::vector<testing::Permission> change = {{"fs:UpdateRepository", "repository/data"}};
  const std::vector<testing::Permission> publish = {{"fs:SetPublicAccess", "repository/data"}};
  std::vector<testing::Permission> copy = write;
  copy.push_back({"fs:ReadObject", "repository/other/object/src"});
  http::Headers source;
  source.add("x-amz-copy-source", "/other/main/src");
  const std::string deletions = "<Delete><Object><Key>topic/dir/a</Key></Object></Delete>";
  http::Headers digest;
  digest.add("Content-MD5", to_base64(md5(deletions)));

  const std::string bucket = "/data";
  const std::string key = "/data/topic/dir/a";
  const std::string upload = key + "?uploadId={upload}";
  const std::vector<Row> rows = {
      {"ListBuckets", "GET", "/", {{"fs:ListRepositories", "*"}}},
      {"CreateBucket",
       "PUT",
       "/fresh",
       {{"fs:CreateRepository", "repository/fresh"},
        {"fs:AttachStorageNamespace", "namespace/local://buckets/fresh-*"}}},
      {"HeadBucket", "HEAD", bucket, look},
      {"GetBucketLocation", "GET", bucket + "?location", look},
      {"GetBucketVersioning", "GET", bucket + "?versioning", look},
      {"PutBucketVersioning", "PUT", bucket + "?versioning", change},
      {"GetBucketAcl", "GET", bucket + "?acl", look},
      {"PutBucketAcl", "PUT", bucket + "?acl", change},
      {"GetBucketTagging", "GET", bucket + "?tagging", look},
      {"PutBucketTagging", "PUT", bucket + "?tagging", change,
       "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"},
      {"DeleteBucketTagging", "DELETE", bucket + "?tagging", change},
      {"GetPublicAccessBlock", "GET", bucket + "?publicAccessBlock", look},
      {"PutPublicAccessBlock", "PUT", bucket + "?publicAccessBlock", publish,
       "<PublicAccessBlockConfiguration><BlockPublicPolicy>true</BlockPublicPolicy>"
       "</PublicAccessBlockConfiguration>"},
      {"DeletePublicAccessBlock", "DELETE", bucket + "?publicAccessBlock", publish},
      {"GetBucketOwnershipControls", "GET", bucket + "?ownershipControls", look},
      {"PutBucketOwnershipControls", "PUT", bucket + "?ownershipControls", change,
       "<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule>"
       "</OwnershipControls>"},
      {"DeleteBucketOwnershipControls", "DELETE", bucket + "?ownershipControls", change},
      {"GetBucketLifecycleConfiguration", "GET", bucket + "?lifecycle", look},
      {"PutBucketLifecycleConfiguration",
       "PUT",
       bucket + "?lifecycle",
       {{"fs:UpdateRepository", "repository/data"}, {"fs:WriteObject", "repository/data/object/*"}},
       "<LifecycleConfiguration><Rule><Status>Enabled</Status><Filter/>"
       "<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation>"
       "</AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>"},
      {"DeleteBucketLifecycle", "DELETE", bucket + "?lifecycle", change},
      {"GetBucketCors", "GET", bucket + "?cors", look},
      {"PutBucketCors", "PUT", bucket + "?cors", change,
       "<CORSConfiguration><CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET"
       "</AllowedMethod></CORSRule></CORSConfiguration>"},
      {"DeleteBucketCors", "DELETE", bucket + "?cors", change},
      {"ListObjects", "GET", bucket + "?prefix=topic/", list},
      {"ListObjectsV2", "GET", bucket + "?list-type=2&prefix=topic/", list},
      {"ListObjectVersions", "GET", bucket + "?versions&prefix=topic/", list},
      {"ListMultipartUploads", "GET", bucket + "?uploads&prefix=topic/", list},
      {"GetObject", "GET", key, read},
      {"HeadObject", "HEAD", key, read},
      {"GetObjectAttributes", "GET", key + "?attributes", read},
      {"GetObjectTagging", "GET", key + "?tagging", read},
      {"GetObjectAcl", "GET", key + "?acl", read},
      {"PutObject", "PUT", key, write, "new"},
      {"CopyObject", "PUT", key, copy, "", source},
      {"PutObjectTagging", "PUT", key + "?tagging", write,
       "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"},
      {"DeleteObjectTagging", "DELETE", key + "?tagging", write},
      {"PutObjectAcl", "PUT", key + "?acl", write},
      {"CreateMultipartUpload", "POST", key + "?uploads", write},
      {"UploadPart", "PUT", upload + "&partNumber=1", write, "part"},
      {"UploadPartCopy", "PUT", upload + "&partNumber=1", copy, "", source},
      {"ListParts", "GET", upload, read},
      {"CompleteMultipartUpload", "POST", upload, write,
       "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>e</ETag></Part>"
       "</CompleteMultipartUpload>"},
      {"AbortMultipartUpload", "DELETE", upload, write},
      {"PostObject", "POST", bucket, write, "form"},
      {"DeleteObject", "DELETE", key, remove},
      {"DeleteObjects", "POST", bucket + "?delete", remove, deletions, digest},
      {"DeleteBucket", "DELETE", bucket, {{"fs:DeleteRepository", "repository/data"}}},
  };
  std::map<std::string_view, Row> out;
  for (const Row& row : rows) out.emplace(row.operation, row);
  return out;
}

/// Any caller with a key may know that an operation is not served.
inline bool needs_a_policy(const Row& row) { return !row.needs.empty(); }

/// In the order of the dispatch table, which includes the unsigned preflights.
inline std::vector<Row> rows() {
  const std::map<std::string_view, Row> served = served_rows();
  std::vector<Row> out;
  for (const OperationRow& row : operation_table()) {
    if (row.operation == "CorsPreflight") continue;
    const std::string target = str_cat(row.level == "service"  ? "/"
                                       : row.level == "bucket" ? "/data"
                                                               : "/data/topic/dir/a",
                                       row.subresource.empty() ? "" : "?", row.subresource);
    const auto at = served.find(row.operation);
    if (row.support == Support::kFixedAnswer) {
      out.push_back(
          {row.operation, row.method, target, {{"fs:ReadRepository", "repository/data"}}});
    } else if (row.support == Support::kRefused) {
      out.push_back({row.operation, row.method, target, {}});
    } else if (at != served.end()) {
      EXPECT_EQ(at->second.method, row.method) << row.operation;
      out.push_back(at->second);
    } else {
      ADD_FAILURE() << row.operation << " is served and has no row";
    }
  }
  return out;
}

/// A server, which notices what another changes when a second has passed.
struct Server {
  Server(const std::string& database, blob::MemoryStore* store, const testing::TestClock& clock)
      : engine(database, store),
        authenticator(engine.pool, clock, std::string(32, 'k'), clock.uptime()),
        context{*engine, authenticator, clock, options()} {}

  static S3Options options() {
    S3Options out;
    out.create_bucket = BucketKind::kRepository;
    out.bucket_namespace = "local://buckets";
    return out;
  }

  testing::TestEngine engine;
  auth::Authenticator authenticator;
  const S3Context context;
};

class S3RoleMatrix : public ::testing::Test {
 protected:
  S3RoleMatrix() {
    testing::TestEngine& engine = first.engine;
    const auto other = engine.make_repository("other");
    engine.put(other, "main", "src", "source");
    const auto data = engine.make_repository("data");
    engine.branch(data, "topic", "main");
    engine.put(data, "topic", "dir/a", "bytes");
    const auto target =
        objects::check_upload(*engine, data, BranchName("topic"), Key("dir/a"), false, {});
    upload = objects::create_multipart(*engine, target, {"ann", {}, "", ""}).upload_id;
    // The first write of a server to a repository leaves a row about the owner of the store.
    for (const auto& repository : {other, data}) (*second.engine).owners.refusal(repository);
    directory.users.create({"ann", clock.now(), {}, {}});
    key = *directory.credentials.create("ann", clock.now());
    directory.policies.create({"tried", clock.now(), {testing::allowing_everything()}});
  }

  /// From now on, on both servers.
  void grant_and_wait(const testing::Statements& statements) {
    if (statements.empty()) {
      directory.policies.detach_from_user("ann", "tried");
    } else {
      directory.policies.update("tried", statements);
      directory.policies.attach_to_user("ann", "tried");
    }
    clock.pass(std::chrono::seconds{1});
  }

  /// Without a signature and without a body.
  http::Request request_of(const Row& row) const {
    http::Request request;
    request.method = row.method;
    request.target = row.target;
    if (const size_t at = request.target.find("{upload}"); at != std::string::npos) {
      request.target.replace(at, std::string_view("{upload}").size(), upload);
    }
    request.id = "request-1";
    request.peer = "127.0.0.1";
    request.headers = row.headers;
    request.headers.add("host", std::string(kHost));
    return request;
  }

  http::Response send(const Row& row, Server& server, bool is_signed = true) {
    http::Request request = request_of(row);
    std::string body = row.body;
    if (row.operation == "PostObject") {
      request.headers.add("content-type", "multipart/form-data; boundary=B");
      body = form(is_signed);
    } else if (is_signed) {
      sigv4::sign(request.headers, {row.method, request.raw_path(), request.raw_query(), kRegion},
                  {key.id, key.secret}, to_hex(sha256(body)), clock.now());
    }
    request.content_length = body.size();
    request.body = http::string_body(std::move(body));
    return handle(server.context, request);
  }

  std::string form(bool is_signed) {
    const auto field = [](std::string_view name, std::string_view value) {
      return str_cat("--B\r\nContent-Disposition: form-data; name=\"", name, "\"\r\n\r\n", value,
                     "\r\n");
    };
    std::string out = field("key", "topic/dir/a");
    if (is_signed) {
      const std::string policy = to_base64(
          str_cat(R"({"expiration":")", to_rfc3339(clock.now() + std::chrono::hours{1}),
                  R"(","conditions":[{"bucket":"data"},["starts-with","$key",""],)",
                  R"(["starts-with","$x-amz-date",""],["starts-with","$x-amz-credential",""],)",
                  R"(["starts-with","$x-amz-algorithm",""]]})"));
      const std::string time = to_iso_basic(clock.now());
      const std::string day = time.substr(0, time.find('T'));
      out += field("policy", policy);
      out += field("x-amz-algorithm", "AWS4-HMAC-SHA256");
      out += field("x-amz-credential", str_cat(key.id, "/", day, "/", kRegion, "/s3/aws4_request"));
      out += field("x-amz-date", time);
      out += field("x-amz-signature",
                   sigv4::signature_of(sigv4::signing_key(key.secret, day, kRegion, "s3"), policy));
    }
    return out + field("file", "new") + "--B--\r\n";
  }

  static bool is_refused(const http::Response& response) {
    // DeleteObjects answers for each key.
    return response.status == 403 ||
           response.body.find("<Code>AccessDenied</Code>") != std::string::npos;
  }
  void expect_refused_everywhere(const Row& row, const std::string& role) {
    for (Server* server : {&first, &second}) {
      const http::Response response = send(row, *server);
      EXPECT_TRUE(is_refused(response))
          << row.operation << ", " << role << ": " << response.status << ' ' << response.body;
      EXPECT_EQ(response.body.find("<Deleted>"), std::string::npos) << row.operation;
    }
  }
  void expect_let_in_everywhere(const Row& row, const std::string& role) {
    for (Server* server : {&first, &second}) {
      const http::Response response = send(row, *server);
      EXPECT_FALSE(is_refused(response)) << row.operation << ", " << role << ": " << response.body;
      EXPECT_NE(response.status, 500) << row.operation << ", " << role << ": " << response.body;
    }
  }

  testing::TestDatabase database;
  testing::TestClock clock;
  Server first{database.url(), nullptr, clock};
  Server second{database.url(), first.engine.store, clock};
  auth::Directory directory{first.engine.pool, std::string(32, 'k')};
  auth::NewKey key;
  std::string upload;
};

}  // namespace tarn::s3
