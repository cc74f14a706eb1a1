// Every operation of the dispatch table asked in every role, on two servers: allowed only where it
// must be, and with no effect where it is refused. An operation without a row here fails.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/auth/directory.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/branch/repositories.h"
#include "core/branch/store_owner.h"
#include "core/objects/multipart.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/sign.h"
#include "core/sigv4/signature_v2.h"
#include "s3gateway/gateway.h"
#include "s3gateway/wire/endpoint.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/postgres_test.h"
#include "tests/support/role_matrix.h"
#include "tests/support/table_digests.h"
#include "tests/support/test_clock.h"

namespace tarn::s3 {
namespace {

using testing::Permission;
using testing::Statements;

constexpr std::string_view kHost = "tarn.test:8000";
constexpr std::string_view kRegion = "us-east-1";

struct Row {
  std::string_view operation;
  std::string_view method;
  std::string target;  ///< "{upload}" stands for an open upload
  std::vector<Permission> needs;
  std::string body{};
  http::Headers headers{};
};

/// A request for every operation that is served, by its name, with all that it needs.
std::map<std::string_view, Row> served_rows() {
  const std::vector<Permission> read = {{"fs:ReadObject", "repository/data/object/dir/a"}};
  const std::vector<Permission> write = {{"fs:WriteObject", "repository/data/object/dir/a"}};
  const std::vector<Permission> remove = {{"fs:DeleteObject", "repository/data/object/dir/a"}};
  const std::vector<Permission> list = {{"fs:ListObjects", "repository/data"}};
  const std::vector<Permission> look = {{"fs:ReadRepository", "repository/data"}};
  const std::vector<Permission> change = {{"fs:UpdateRepository", "repository/data"}};
  const std::vector<Permission> publish = {{"fs:SetPublicAccess", "repository/data"}};
  std::vector<Permission> copy = write;
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
bool needs_a_policy(const Row& row) { return !row.needs.empty(); }

/// In the order of the dispatch table, which includes the unsigned preflights.
std::vector<Row> rows() {
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

/// The body of a request that nobody may have read yet.
class WatchedBody final : public http::BodySource {
 public:
  WatchedBody(std::string text, size_t& reads)
      : body_(http::string_body(std::move(text))), reads_(reads) {}
  size_t read(std::span<char> out) override {
    ++reads_;
    return body_->read(out);
  }

 private:
  std::unique_ptr<http::BodySource> body_;
  size_t& reads_;
};

/// The ways to sign a request's head, each with a way to announce its body.
enum class Forgery {
  kNoPayloadHash,
  kPayloadHash,
  kUnsigned,
  kChunks,
  kV4Query,
  kV2Header,
  kV2Query
};
constexpr Forgery kForgeries[] = {
    Forgery::kNoPayloadHash, Forgery::kPayloadHash, Forgery::kUnsigned, Forgery::kChunks,
    Forgery::kV4Query,       Forgery::kV2Header,    Forgery::kV2Query};

/// Adds a well-formed signature of `key_id` that nobody made.
void forge(http::Request& request, Forgery how, const std::string& key_id, Instant now) {
  const std::string time = to_iso_basic(now);
  const std::string scope = str_cat(time.substr(0, time.find('T')), "/us-east-1/s3/aws4_request");
  const std::string zeros(64, '0');
  const std::string v2 = to_base64(std::string(20, '0'));
  const char mark = request.raw_query().empty() ? '?' : '&';
  const auto signed_headers = [&request] {
    std::set<std::string> names{"host"};
    for (const auto& [name, value] : request.headers.all()) {
      if (starts_with_ignoring_case(name, "x-amz-")) names.insert(lower(name));
    }
    return joined(names, ";");
  };
  switch (how) {
    case Forgery::kPayloadHash:
      request.headers.add("x-amz-content-sha256", zeros);
      break;
    case Forgery::kUnsigned:
      request.headers.add("x-amz-content-sha256", "UNSIGNED-PAYLOAD");
      break;
    case Forgery::kChunks:
      request.headers.add("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
      request.headers.add("x-amz-decoded-content-length", "3");
      break;
    case Forgery::kNoPayloadHash:
      break;
    case Forgery::kV4Query:
      request.target +=
          str_cat(mark, "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=",
                  percent_encode(str_cat(key_id, '/', scope)), "&X-Amz-Date=", time,
                  "&X-Amz-Expires=60&X-Amz-SignedHeaders=", percent_encode(signed_headers()),
                  "&X-Amz-Signature=", zeros);
      return;
    case Forgery::kV2Header:
      request.headers.add("Date", to_http_date(now));
      request.headers.add("Authorization", str_cat("AWS ", key_id, ':', v2));
      return;
    case Forgery::kV2Query:
      request.target += str_cat(mark, "AWSAccessKeyId=", key_id, "&Expires=", to_seconds(now) + 60,
                                "&Signature=", percent_encode(v2));
      return;
  }
  request.headers.add("x-amz-date", time);
  request.headers.add("Authorization",
                      str_cat("AWS4-HMAC-SHA256 Credential=", key_id, '/', scope,
                              ", SignedHeaders=", signed_headers(), ", Signature=", zeros));
}

/// All query parameters that an operation of the dispatch table reads.
std::set<std::string> read_parameters() {
  std::set<std::string> out;
  for (const OperationRow& row : operation_table()) {
    std::string_view names = row.parameters;
    for (size_t at = 0; (at = names.find_first_not_of(' ')) != std::string_view::npos;) {
      names.remove_prefix(at);
      out.emplace(names.substr(0, names.find(' ')));
      names.remove_prefix(names.find(' '));
    }
    if (!row.subresource.empty()) out.emplace(row.subresource);
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
        versioning::check_upload(*engine, data, BranchName("topic"), Key("dir/a"), false, {});
    upload = versioning::create_multipart(*engine, target, {"ann", {}, "", ""}).upload_id;
    // The first write of a server to a repository leaves a row about the owner of the store.
    for (const auto& repository : {other, data}) (*second.engine).owners.refusal(repository);
    directory.users.create({"ann", clock.now(), {}, {}});
    key = *directory.credentials.create("ann", clock.now());
    directory.policies.create({"tried", clock.now(), {testing::allowing_everything()}});
  }

  /// From now on, on both servers.
  void grant_and_wait(const Statements& statements) {
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

  /// Signs the request with version 2, in its query or in a header.
  void sign_v2(http::Request& request, sigv4::Mechanism mechanism) const {
    sigv4::Authorization authorization;
    authorization.mechanism = mechanism;
    if (mechanism == sigv4::Mechanism::kV2Query) {
      request.target += str_cat(request.raw_query().empty() ? '?' : '&', "AWSAccessKeyId=", key.id,
                                "&Expires=", to_seconds(clock.now()) + 60);
    } else {
      request.headers.add("Date", to_http_date(clock.now()));
    }
    const std::string signature = sigv4::v2_signature_of(
        key.secret, sigv4::v2_strings_to_sign(authorization, request, "")[0]);
    if (mechanism == sigv4::Mechanism::kV2Query) {
      request.target += "&Signature=" + percent_encode(signature);
    } else {
      request.headers.add("Authorization", str_cat("AWS ", key.id, ':', signature));
    }
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

TEST_F(S3RoleMatrix, UnsignedRequestsAreRefused) {
  for (const Row& row : rows()) {
    for (Server* server : {&first, &second}) {
      EXPECT_TRUE(is_refused(send(row, *server, /*is_signed=*/false))) << row.operation;
    }
  }
}

TEST_F(S3RoleMatrix, FewerPermissionsAreRefusedAndChangeNothing) {
  const std::string granted = "{policies,user_policies}";
  grant_and_wait({});
  const std::string before = testing::table_digests(first.engine.pool, granted);
  size_t asked = 0;
  for (const Row& row : rows()) {
    if (!needs_a_policy(row)) continue;
    for (const testing::Role& role : testing::refused_roles(row.needs)) {
      grant_and_wait(role.statements);
      expect_refused_everywhere(row, role.name);
      ++asked;
    }
  }
  EXPECT_GT(asked, 150u);
  EXPECT_EQ(testing::table_digests(first.engine.pool, granted), before);
}

TEST_F(S3RoleMatrix, ExactPermissionsSufficeUntilRevoked) {
  for (const Row& row : rows()) {
    grant_and_wait(needs_a_policy(row) ? testing::allowing(row.needs) : Statements{});
    expect_let_in_everywhere(row, "allowed");
    if (!needs_a_policy(row)) continue;
    grant_and_wait({});
    expect_refused_everywhere(row, "revoked");
  }
}

/// Every operation gets a body, also those that take none.
TEST_F(S3RoleMatrix, FalseSignatureIsToldNothingAndItsBodyIsNotRead) {
  size_t asked = 0;
  for (const Statements& granted : {Statements{}, Statements{testing::allowing_everything()}}) {
    grant_and_wait(granted);
    const std::string before = testing::table_digests(first.engine.pool);
    const size_t objects = first.engine.store->list("", "", 1000).items.size();
    for (const Row& row : rows()) {
      for (const Forgery how : kForgeries) {
        SCOPED_TRACE(str_cat(row.operation, ", forgery ", static_cast<int>(how)));
        http::Request request = request_of(row);
        forge(request, how, key.id, clock.now());
        size_t reads = 0;
        request.content_length = 3;
        request.body = std::make_unique<WatchedBody>("new", reads);
        const http::Response response = handle(first.context, request);
        EXPECT_EQ(response.status / 100, 4) << response.status;
        EXPECT_EQ(reads, 0u);
        for (const char* told : {"ann", "fs:", "arn:"}) {
          EXPECT_EQ(response.body.find(told), std::string::npos) << response.body;
        }
        ++asked;
      }
    }
    // The fields of a form are its head.
    http::Request post = request_of({"PostObject", "POST", "/data", {}});
    post.headers.add("content-type", "multipart/form-data; boundary=B");
    std::string body = form(/*is_signed=*/true);
    body.replace(body.find("x-amz-signature") + 20, 64, 64, '0');
    post.content_length = body.size();
    post.body = http::string_body(std::move(body));
    const http::Response response = handle(first.context, post);
    EXPECT_NE(response.body.find("SignatureDoesNotMatch"), std::string::npos) << response.body;
    EXPECT_EQ(testing::table_digests(first.engine.pool), before);
    EXPECT_EQ(first.engine.store->list("", "", 1000).items.size(), objects);
  }
  EXPECT_GT(asked, 1000u);
}

/// Each operation's request, with each parameter that any operation reads.
TEST_F(S3RoleMatrix, Version2RequestsCannotBeExtended) {
  grant_and_wait({testing::allowing_everything()});
  const std::string before = testing::table_digests(first.engine.pool);
  const std::set<std::string> names = read_parameters();
  ASSERT_GT(names.size(), 60u);
  size_t accepted = 0;
  for (const auto mechanism : {sigv4::Mechanism::kV2Query, sigv4::Mechanism::kV2Header}) {
    for (const Row& row : rows()) {
      if (row.operation == "PostObject") continue;  // signed by its policy
      http::Request original = request_of(row);
      sign_v2(original, mechanism);
      const auto ask = [&](const std::string& added) {
        http::Request request = request_of(row);
        request.headers = original.headers;
        request.target = original.target + added;
        request.content_length = 0;
        request.body = http::empty_body();
        return handle(first.context, request);
      };
      if (row.method == "GET" && ask("").status == 200) ++accepted;
      for (const std::string& name : names) {
        const bool is_covered = selects_operation(name) || name == "versionId" ||
                                name == "partNumber" || name.starts_with("response-");
        if (mechanism == sigv4::Mechanism::kV2Header && !is_covered) continue;
        const std::string encoded =
            str_cat('%', to_hex(name.substr(0, 1)), std::string_view(name).substr(1));
        const char mark = original.raw_query().empty() ? '?' : '&';
        for (const std::string& added : {name, encoded}) {
          const int status = ask(str_cat(mark, added, "=v")).status;
          EXPECT_TRUE(status == 403 || status == 400)
              << row.operation << ' ' << added << ' ' << status;
        }
      }
    }
  }
  EXPECT_GT(accepted, 20u) << "the requests themselves are signed well";
  EXPECT_EQ(testing::table_digests(first.engine.pool), before);
}

/// Texts and what stands in their place in another request.
using Names = std::vector<std::pair<std::string, std::string>>;

std::string replaced(std::string text, const Names& names) {
  for (const auto& [from, to] : names) {
    size_t at = 0;
    while ((at = text.find(from, at)) != std::string::npos) {
      text.replace(at, from.size(), to);
      at += to.size();
    }
  }
  return text;
}

Row about(Row row, const Names& names) {
  row.target = replaced(row.target, names);
  row.body = replaced(row.body, names);
  http::Headers headers;
  for (const auto& [name, value] : row.headers.all()) headers.add(name, replaced(value, names));
  row.headers = headers;
  if (row.operation == "DeleteObjects") row.headers.set("Content-MD5", to_base64(md5(row.body)));
  return row;
}

/// An answer to about(row, names), as if it were to the row.
std::string shown(const http::Response& response, const Names& names) {
  Names back;
  for (const auto& [from, to] : names) {
    const bool rooted = to.starts_with('/');  // messages name buckets and keys without it
    back.emplace_back(to.substr(rooted ? 1 : 0), from.substr(rooted ? 1 : 0));
  }
  return str_cat(response.status, " ", replaced(response.body, back));
}

// The names differ from those of things that exist: a bucket of branches, one with a default
// branch at its root, a ref and a key.
TEST_F(S3RoleMatrix, WithoutPermissionMissingThingsAnswerAsOthersDo) {
  struct Pair {
    Names there;
    Names missing;
  };
  versioning::create_repository(*first.engine, {.name = RepositoryName("roost"),
                                                .storage_namespace = "local://roost",
                                                .default_branch = BranchName("trunk"),
                                                .bucket_kind = BucketKind::kRooted});
  const Pair pairs[] = {
      {{}, {{"/data", "/gone"}}},
      {{}, {{"topic/", "tulip/"}}},
      {{}, {{"dir/a", "dir/z"}}},
      {{{"/data", "/roost"}}, {{"/data", "/ghost"}}},
      {{{"/data/topic", "/data.topic"}}, {{"/data/topic", "/gone.topic"}}},
  };
  size_t compared = 0;
  grant_and_wait({});
  for (const Row& row : rows()) {
    // A new repository's name is taken or not whatever the caller may do.
    if (!needs_a_policy(row)) continue;
    for (const auto& [there, missing] : pairs) {
      const Row one = about(row, there);
      const Row other = about(row, missing);
      if (one.target == other.target && one.body == other.body) continue;
      EXPECT_EQ(shown(send(one, first), there), shown(send(other, first), missing))
          << one.target << " and " << other.target;
      ++compared;
    }
  }
  EXPECT_GT(compared, 120u);
}

TEST_F(S3RoleMatrix, WithoutPermissionOnItMissingSourceAnswersAsOthersDo) {
  for (const Row& row : rows()) {
    if (row.needs.size() < 2 || row.headers.find("x-amz-copy-source") == nullptr) continue;
    grant_and_wait(testing::allowing({row.needs[0]}));
    const http::Response there = send(row, first);
    EXPECT_EQ(there.status, 403) << row.operation;
    const Names others = {{"/other", "/ghost"}, {"/main", "/moon"}, {"/src", "/sea"}};
    for (const auto& name : others) {
      EXPECT_EQ(shown(there, {}), shown(send(about(row, {name}), first), {name}))
          << row.operation << name.second;
    }
  }
}

/// Query parameters of all operations, each with values that are right somewhere and hostile ones.
const std::vector<std::string>& parameters_of_all() {
  static const std::vector<std::string> kAll = [] {
    std::vector<std::string> out;
    const std::string not_text = to_base64url(std::string("tarn1:\xff\0", 8));
    for (const char* name :
         {"prefix", "delimiter", "marker", "start-after", "key-marker", "upload-id-marker",
          "version-id-marker", "versionId", "uploadId", "continuation-token"}) {
      for (const char* value : {"", "topic/", "null", "%00", "%ff", "%25", "a%F0%9F"})
        out.push_back(str_cat(name, "=", value));
      out.push_back(str_cat(name, "=", not_text));
    }
    for (const char* name : {"max-keys", "max-uploads", "max-parts", "max-buckets",
                             "part-number-marker", "partNumber", "list-type"}) {
      for (const char* value :
           {"", "0", "1", "2", "-1", "1e999", "nan", "null", "99999999999999999999"})
        out.push_back(str_cat(name, "=", value));
    }
    for (const char* one :
         {"encoding-type=url", "encoding-type=x", "fetch-owner=true", "bucket-region=us-east-1",
          "response-content-type=a%0Ab", "response-expires=x", "response-cache-control=%ff",
          "response-content-disposition=attachment", "response-content-language=x",
          "response-content-encoding=x", "x-id=x", "session", "metadata"})
      out.emplace_back(one);
    return out;
  }();
  return kAll;
}

// Reads come first, so that their answers have at least one result.
TEST_F(S3RoleMatrix, NoParameterAndNoTwoAreAFault) {
  std::vector<Row> sorted = rows();
  std::stable_partition(sorted.begin(), sorted.end(),
                        [](const Row& row) { return row.method == "GET" || row.method == "HEAD"; });
  grant_and_wait({testing::allowing_everything()});
  constexpr size_t kPairStep = 13;
  size_t asked = 0;
  const auto ask = [&](Row row, const std::string& with) {
    row.target += (row.target.find('?') == std::string::npos ? "?" : "&") + with;
    const http::Response response = send(row, first);
    ++asked;
    EXPECT_TRUE(response.status < 500 || response.status == 501)
        << row.method << ' ' << row.target << ": " << response.status << ' ' << response.body;
  };
  const std::vector<std::string>& all = parameters_of_all();
  for (const Row& row : sorted) {
    if (!needs_a_policy(row)) continue;  // not served
    for (size_t i = 0; i < all.size(); ++i) {
      ask(row, all[i]);
      if (!row.operation.starts_with("List")) continue;  // only lists take more than one
      for (size_t j = i % kPairStep; j < i; j += kPairStep) ask(row, str_cat(all[i], "&", all[j]));
    }
  }
  EXPECT_GT(asked, 10'000u);
}

TEST_F(S3RoleMatrix, HostileContinuationTokensAreInvalid) {
  grant_and_wait({testing::allowing_everything()});
  const std::string not_text = to_base64url(std::string("tarn1:\xff\0", 8));
  for (const char* target : {"/?x-id=a", "/data?list-type=2"}) {
    for (const std::string& token : {std::string("a"), std::string("%00"), not_text}) {
      const Row row{"", "GET", str_cat(target, "&continuation-token=", token), {}};
      const http::Response response = send(row, first);
      EXPECT_EQ(response.status, 400) << row.target;
      EXPECT_NE(response.body.find("<Code>InvalidArgument</Code>"), std::string::npos)
          << row.target << response.body;
    }
  }
}

TEST_F(S3RoleMatrix, DeletedKeyIsRefused) {
  grant_and_wait({testing::allowing_everything()});
  for (const Row& row : rows()) {
    expect_let_in_everywhere(row, "allowed everything");
    directory.credentials.remove("ann", key.id);
    clock.pass(std::chrono::seconds{1});
    for (Server* server : {&first, &second}) {
      EXPECT_EQ(send(row, *server).status, 403) << row.operation << ", key deleted";
    }
    key = *directory.credentials.create("ann", clock.now());
  }
}

}  // namespace
}  // namespace tarn::s3
