// Buckets that everybody may read: attacks on what is not for everybody. Rights to set lifecycle
// rules, and the CORS rules of buckets.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/auth/directory.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/objects/objects.h"
#include "core/sigv4/sign.h"
#include "s3gateway/gateway.h"
#include "s3gateway/wire/endpoint.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/fault_points.h"
#include "tests/support/postgres_test.h"
#include "tests/support/role_matrix.h"
#include "tests/support/test_clock.h"

namespace tarn::s3 {
namespace {

using testing::FaultPoints;
using testing::TestEngine;

constexpr std::string_view kSigningRegion = "us-east-1";
const std::string kBlock =
    "<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls>"
    "</PublicAccessBlockConfiguration>";
const std::string kIgnore =
    "<PublicAccessBlockConfiguration><IgnorePublicAcls>true</IgnorePublicAcls>"
    "</PublicAccessBlockConfiguration>";

using Fields = std::vector<http::Headers::Field>;

/// A server.
struct PublicServer {
  PublicServer(const std::string& database, blob::MemoryStore* store,
               const testing::TestClock& time, S3Options with, db::Faults* faults = nullptr)
      : engine(database, store, faults),
        authenticator(engine.pool, time, std::string(32, 'k'), time.uptime()),
        clock(time),
        context{*engine, authenticator, time, std::move(with)} {}

  /// Signed with the key unless it is null.
  http::Response send(const auth::NewKey* key, const std::string& method, const std::string& target,
                      const Fields& headers = {}, const std::string& body = "") {
    http::Request request;
    request.method = method;
    request.target = target;
    request.id = "request-1";
    request.peer = "127.0.0.1";
    request.headers.add("host", "s3.test");
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    if (key) {
      sigv4::sign(request.headers,
                  {method, request.raw_path(), request.raw_query(), kSigningRegion},
                  {key->id, key->secret}, to_hex(sha256(body)), clock.now());
    }
    request.content_length = body.size();
    request.body = http::string_body(body);
    return handle(context, request);
  }

  TestEngine engine;
  auth::Authenticator authenticator;
  const Clock& clock;
  const S3Context context;
};

class PublicBuckets : public ::testing::Test {
 protected:
  /// The database of all these tests: their users are none of other tests'.
  static const std::string& shared_url() {
    static const testing::TestDatabase database;
    return database.url();
  }
  static std::string fresh_name() {
    static int count = 0;
    return "bucket" + std::to_string(100 + count++);
  }

  PublicBuckets() {
    ann = user("ann" + name, {testing::allowing_everything()});
    open();
    put("a", "bytes");
  }

  static S3Options options(bool public_buckets = true, std::string anonymous = "") {
    S3Options out;
    out.create_bucket = BucketKind::kRooted;
    out.bucket_namespace = "local://buckets";
    out.public_buckets = public_buckets;
    out.anonymous_user = std::move(anonymous);
    out.hosts = {"s3.test"};
    return out;
  }

  auth::NewKey user(const std::string& id, const testing::Statements& statements) {
    directory.users.create({id, clock.now(), {}, {}});
    directory.policies.create({"of-" + id, clock.now(), statements});
    directory.policies.attach_to_user(id, "of-" + id);
    auth::NewKey key = *directory.credentials.create(id, clock.now());
    clock.pass(std::chrono::seconds{2});
    return key;
  }
  void allow(const std::string& id, const testing::Statements& statements) {
    directory.policies.update("of-" + id, statements);
    clock.pass(std::chrono::seconds{2});
  }
  static auth::Statement statement(auth::Statement::Effect effect, std::vector<std::string> actions,
                                   std::string resource) {
    return {effect, std::move(actions), {std::move(resource)}, {}};
  }

  std::string at(const std::string& rest = "") const { return "/" + name + rest; }
  void open() { expect(here.send(&ann, "PUT", at(), {{"x-amz-acl", "public-read"}}), 200); }
  void put(const std::string& key, const std::string& bytes) {
    expect(here.send(&ann, "PUT", at("/" + key), {}, bytes), 200);
  }
  static void expect(const http::Response& response, int status, const std::string& code = "") {
    EXPECT_EQ(response.status, status) << response.body;
    if (!code.empty()) {
      EXPECT_NE(response.body.find("<Code>" + code + "</Code>"), std::string::npos)
          << response.body;
    }
  }
  http::Response read(PublicServer& server) { return server.send(nullptr, "GET", at("/a")); }
  http::Response acl(const auth::NewKey& key, const std::string& canned) {
    return here.send(&key, "PUT", at("?acl"), {{"x-amz-acl", canned}});
  }

  TestEngine engine{shared_url()};
  testing::TestRepository repo = engine.make_repository(fresh_name());
  std::string name = fresh_name();
  testing::TestClock clock;
  PublicServer here{shared_url(), engine.store, clock, options()};
  PublicServer there{shared_url(), engine.store, clock, options()};
  auth::Directory directory{engine.pool, std::string(32, 'k')};
  auth::NewKey ann;
};

TEST_F(PublicBuckets, EverybodyReadsAndListsTheBranch) {
  for (PublicServer* server : {&here, &there}) {
    EXPECT_EQ(read(*server).body, "bytes");
    expect(server->send(nullptr, "HEAD", at("/a")), 200);
    expect(server->send(nullptr, "HEAD", at()), 200);
    for (const char* query : {"", "?list-type=2", "?prefix=a&delimiter=/"}) {
      const http::Response listed = server->send(nullptr, "GET", at(query));
      expect(listed, 200);
      EXPECT_NE(listed.body.find("<Key>a</Key>"), std::string::npos);
    }
    expect(server->send(nullptr, "GET", at("/absent")), 404, "NoSuchKey");
    expect(server->send(nullptr, "GET", at("/a?versionId=null")), 200);
    expect(server->send(nullptr, "GET", at("/a?response-content-type=text/html")), 400,
           "InvalidRequest");
  }
  const http::Response shown = here.send(&ann, "GET", at("?acl"));
  EXPECT_NE(shown.body.find("AllUsers"), std::string::npos);
  EXPECT_EQ(here.send(&ann, "GET", at("/a?acl")).body, shown.body);
}

/// Every operation of the dispatch table but the five that read the branch.
TEST_F(PublicBuckets, OtherOperationsNeedASignature) {
  size_t asked = 0;
  for (const OperationRow& row : operation_table()) {
    static constexpr std::string_view kOpen[] = {"GetObject",     "HeadObject", "ListObjects",
                                                 "ListObjectsV2", "HeadBucket", "CorsPreflight"};
    if (std::find(std::begin(kOpen), std::end(kOpen), row.operation) != std::end(kOpen)) continue;
    std::string target = row.level == "service" ? "/" : row.level == "bucket" ? at() : at("/a");
    if (!row.subresource.empty()) target += str_cat("?", row.subresource);
    Fields headers;
    if (row.condition.starts_with("with ")) headers = {{"x-amz-copy-source", at("/a")}};
    if (row.operation == "PostObject") {
      headers = {{"content-type", "multipart/form-data; boundary=B"}};
      const std::string form =
          "--B\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nb\r\n--B\r\n"
          "Content-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--B--\r\n";
      expect(here.send(nullptr, "POST", target, headers, form), 403, "AccessDenied");
      continue;
    }
    const http::Response response = here.send(nullptr, std::string(row.method), target, headers);
    EXPECT_EQ(response.status, 403) << row.operation << response.body;
    ++asked;
  }
  EXPECT_GT(asked, 90u);
  expect(here.send(nullptr, "PATCH", at("/a")), 403, "AccessDenied");
  expect(here.send(nullptr, "GET", at("?unknown")), 403, "AccessDenied");
  EXPECT_EQ(read(there).body, "bytes");
}

TEST_F(PublicBuckets, OtherRefsArePrivate) {
  const RepositoryName repository(name);
  here.engine.branch(repository, "secret", "main");
  here.engine.put(repository, "secret", "a", "hidden");
  const std::string commit = to_text(here.engine.commit(repository, "main").id);
  branch::create_tag(*here.engine, branch::get_repository(*here.engine, repository), TagName("v1"),
                     "main", false);
  for (const std::string& ref : {std::string("main"), std::string("secret"), std::string("v1"),
                                 commit, std::string("main~1")}) {
    expect(here.send(nullptr, "GET", "/" + name + "." + ref + "/a"), 403, "AccessDenied");
    expect(here.send(nullptr, "GET", "/" + name + "." + ref), 403, "AccessDenied");
    expect(here.send(nullptr, "GET", at("/" + ref + "/a")), 404, "NoSuchKey");
  }
  expect(here.send(nullptr, "GET", at("/a?versionId=" + commit)), 403, "AccessDenied");
  expect(here.send(nullptr, "HEAD", at("/a?versionId=" + commit)), 403);
}

TEST_F(PublicBuckets, OtherRepositoriesArePrivate) {
  const std::string other = fresh_name();
  expect(here.send(&ann, "PUT", "/" + other), 200);
  expect(here.send(&ann, "PUT", "/" + other + "/a", {}, "hidden"), 200);
  const http::Response there_is = here.send(nullptr, "GET", "/" + other + "/a");
  expect(there_is, 403, "AccessDenied");
  // Nothing tells a bucket that is there from one that is not.
  const http::Response there_is_not = here.send(nullptr, "GET", "/no-such-bucket/a");
  expect(there_is_not, 403, "AccessDenied");
  const auto message = [](const std::string& body) {
    return body.substr(body.find("<Message>"), body.find("</Message>") - body.find("<Message>"));
  };
  EXPECT_EQ(message(there_is.body), message(there_is_not.body));
}

TEST_F(PublicBuckets, MakingItPrivateTakesEffectOnEveryServerAtOnce) {
  EXPECT_EQ(read(there).body, "bytes");
  expect(acl(ann, "private"), 200);
  expect(read(there), 403, "AccessDenied");
  expect(acl(ann, "public-read"), 200);
  EXPECT_EQ(read(there).body, "bytes");
  expect(here.send(&ann, "PUT", at("?publicAccessBlock"), {}, kIgnore), 200);
  expect(read(there), 403, "AccessDenied");
  expect(here.send(&ann, "DELETE", at("?publicAccessBlock")), 204);
  EXPECT_EQ(read(there).body, "bytes");
}

TEST_F(PublicBuckets, PublicAccessBlockRefusesPublicAcls) {
  expect(here.send(&ann, "PUT", at("?publicAccessBlock"), {}, kBlock), 200);
  for (const char* canned : {"public-read", "public-read-write", "authenticated-read"}) {
    expect(acl(ann, canned), 403, "AccessDenied");
    expect(here.send(&ann, "PUT", at("/b"), {{"x-amz-acl", canned}}, "x"), 403, "AccessDenied");
  }
  const std::string shown = here.send(&ann, "GET", at("?acl")).body;
  expect(here.send(&ann, "PUT", at("?acl"), {}, shown), 403, "AccessDenied");
  EXPECT_EQ(read(there).body, "bytes") << "a list that is there stays in force";
}

TEST_F(PublicBuckets, DisabledAclsCannotBePut) {
  const std::string enforced =
      "<OwnershipControls><Rule><ObjectOwnership>BucketOwnerEnforced</ObjectOwnership></Rule>"
      "</OwnershipControls>";
  expect(here.send(&ann, "PUT", at("?ownershipControls"), {}, enforced), 400,
         "InvalidBucketAclWithObjectOwnership");
  expect(acl(ann, "private"), 200);
  expect(here.send(&ann, "PUT", at("?ownershipControls"), {}, enforced), 200);
  for (const char* canned : {"public-read", "authenticated-read", "log-delivery-write"}) {
    expect(acl(ann, canned), 400, "AccessControlListNotSupported");
    expect(here.send(&ann, "PUT", at("/b"), {{"x-amz-acl", canned}}, "x"), 400,
           "AccessControlListNotSupported");
  }
  for (const char* canned : {"private", "bucket-owner-full-control"}) {
    expect(acl(ann, canned), 200);
    expect(here.send(&ann, "PUT", at("/b"), {{"x-amz-acl", canned}}, "x"), 200);
  }
  const std::string fresh = "/" + fresh_name();
  expect(
      here.send(&ann, "PUT", fresh,
                {{"x-amz-acl", "public-read"}, {"x-amz-object-ownership", "BucketOwnerEnforced"}}),
      400, "InvalidBucketAclWithObjectOwnership");
  expect(here.send(&ann, "HEAD", fresh), 404);
}

/// On every call that carries it. The bucket of a ref is never public.
TEST_F(PublicBuckets, OnlyTheAclThatIsInForceCanBePut) {
  const std::string plain = "/" + repo.str();
  here.engine.put(RepositoryName(repo.str()), "main", "a", "bytes");
  const struct {
    std::string bucket, key;
    bool everybody;
  } places[] = {{at(), "/a", true},
                {at(".main"), "/a", false},
                {plain, "/main/a", false},
                {plain + ".main", "/a", false}};
  for (const auto& [bucket, key, everybody] : places) {
    for (const std::string canned : {"private", "bucket-owner-full-control", "bucket-owner-read",
                                     "public-read", "public-read-write", "authenticated-read"}) {
      const bool in_force = everybody ? canned == "public-read"
                                      : canned == "private" || canned.starts_with("bucket-");
      const Fields acl{{"x-amz-acl", canned}};
      Fields copy = acl;
      copy.emplace_back("x-amz-copy-source", bucket + key);
      const int status = in_force ? 200 : 501;
      const std::string code = in_force ? "" : "NotImplemented";
      expect(here.send(&ann, "PUT", bucket + key + "1", acl, "x"), status, code);
      expect(here.send(&ann, "PUT", bucket + key + "2", copy), status, code);
      expect(here.send(&ann, "POST", bucket + key + "3?uploads", acl), status, code);
      expect(here.send(&ann, "PUT", bucket + key + "?acl", acl), status, code);
      const bool of_bucket = in_force || canned == "private" || canned.starts_with("bucket-");
      if (!everybody || !of_bucket) {
        expect(here.send(&ann, "PUT", bucket + "?acl", acl), of_bucket ? 200 : 501);
      }
    }
    expect(acl(ann, "public-read"), 200);
    const std::string shown = here.send(&ann, "GET", bucket + key + "?acl").body;
    EXPECT_EQ(shown.find("AllUsers") != std::string::npos, everybody);
    expect(here.send(&ann, "PUT", bucket + key + "?acl", {}, shown), 200);
    expect(here.send(&ann, "PUT", bucket + "?acl", {}, shown), 200);
  }
  for (const char* canned : {"private", "bucket-owner-full-control"}) {
    expect(here.send(&ann, "PUT", "/" + fresh_name(), {{"x-amz-acl", canned}}), 200);
  }
  const std::string other = here.send(&ann, "GET", plain + "/main/a?acl").body;
  expect(here.send(&ann, "PUT", at("/a?acl"), {}, other), 501, "NotImplemented");
  EXPECT_EQ(read(there).body, "bytes");
}

/// A signed user may do what an unsigned request may, unless a policy denies it.
TEST_F(PublicBuckets, EverybodyIncludesUsersWithoutPolicies) {
  using Effect = auth::Statement::Effect;
  const std::string bob = "bob" + name;
  const auth::NewKey key = user(bob, {statement(Effect::kAllow, {"fs:ReadConfig"}, "*")});
  const auto reads = [&](int status) {
    for (const std::string target : {"/a", "/a?versionId=null", "", "?list-type=2"}) {
      EXPECT_EQ(there.send(&key, "GET", at(target)).status, status) << target;
      if (target.find('?') != std::string::npos) continue;
      EXPECT_EQ(there.send(&key, "HEAD", at(target)).status, status) << target;
    }
  };
  reads(200);
  EXPECT_EQ(there.send(&key, "GET", at("/a")).body, "bytes");
  expect(there.send(&key, "GET", at("/absent")), 404, "NoSuchKey");
  expect(there.send(&key, "GET", at("/a?response-content-type=text/html")), 200);
  for (const auto& [method, target] : {std::pair{"PUT", "/b"},
                                       {"DELETE", "/a"},
                                       {"GET", "?acl"},
                                       {"GET", "/a?tagging"},
                                       {"GET", "?versions"},
                                       {"GET", ".main/a"},
                                       {"GET", "?uploads"}}) {
    expect(there.send(&key, method, at(target)), 403, "AccessDenied");
  }
  expect(there.send(&key, "GET", "/" + repo.str() + "/main/a"), 403, "AccessDenied");
  expect(acl(ann, "private"), 200);
  reads(403);
  expect(acl(ann, "public-read"), 200);
  reads(200);
  allow(bob, {statement(Effect::kDeny, {"fs:*"}, "arn:lakefs:fs:::repository/" + name + "*")});
  reads(403);
}

TEST_F(PublicBuckets, PublishingNeedsPermission) {
  using Effect = auth::Statement::Effect;
  expect(acl(ann, "private"), 200);
  const std::string where = "arn:lakefs:fs:::repository/" + name;
  const testing::Statements enough = {
      statement(Effect::kAllow, {"fs:UpdateRepository", "fs:SetPublicAccess", "fs:ListObjects"},
                where),
      statement(Effect::kAllow, {"fs:ReadObject"}, where + "/object/*")};
  const std::string bob = "bob" + name;
  const auth::NewKey key = user(bob, enough);
  testing::Statements less = enough;
  for (const char* missing : {"fs:UpdateRepository", "fs:SetPublicAccess", "fs:ListObjects"}) {
    less = enough;
    std::erase(less[0].actions, missing);
    allow(bob, less);
    expect(acl(key, "public-read"), 403, "AccessDenied");
  }
  less = enough;
  less[1].resources = {where + "/object/a*"};
  allow(bob, less);
  expect(acl(key, "public-read"), 403, "AccessDenied");
  for (const std::string action : {"fs:ReadObject", "fs:SetPublicAccess"}) {
    less = enough;
    less.push_back(statement(Effect::kDeny, {action},
                             action == "fs:ReadObject" ? where + "/object/secret/*" : where));
    allow(bob, less);
    expect(acl(key, "public-read"), 403, "AccessDenied");
  }
  expect(read(there), 403);
  allow(bob, enough);
  expect(acl(key, "public-read"), 200);
  EXPECT_EQ(read(there).body, "bytes");
  // Closing it needs less.
  allow(bob, {statement(Effect::kAllow, {"fs:UpdateRepository"}, where)});
  expect(here.send(&key, "PUT", at("?publicAccessBlock"), {}, kBlock), 403, "AccessDenied");
  expect(here.send(&key, "DELETE", at("?publicAccessBlock")), 403, "AccessDenied");
  expect(acl(key, "private"), 200);
  expect(read(there), 403);
}

TEST_F(PublicBuckets, CreatingOneNeedsTheSamePermission) {
  using Effect = auth::Statement::Effect;
  const std::string bob = "bob" + name;
  const auth::NewKey key = user(
      bob, {statement(Effect::kAllow, {"fs:CreateRepository", "fs:AttachStorageNamespace"}, "*"),
            statement(Effect::kAllow, {"fs:ReadObject", "fs:ListObjects"}, "*")});
  const std::string fresh = "/" + fresh_name();
  expect(here.send(&key, "PUT", fresh, {{"x-amz-acl", "public-read"}}), 403, "AccessDenied");
  expect(here.send(&ann, "HEAD", fresh), 404);
  expect(here.send(&key, "PUT", fresh), 200);
  expect(here.send(nullptr, "GET", fresh), 403);
}

TEST_F(PublicBuckets, ReusedNameIsPrivate) {
  expect(here.send(&ann, "DELETE", at("/a")), 204);
  expect(here.send(&ann, "DELETE", at()), 204);
  expect(here.send(&ann, "PUT", at()), 200);
  put("a", "hidden");
  expect(read(here), 403, "AccessDenied");
  expect(read(there), 403, "AccessDenied");
}

/// The name changes hands between the look at the list and the look at the object.
TEST_F(PublicBuckets, BucketThatTakesTheNameDuringARequestIsHidden) {
  FaultPoints faults;
  PublicServer slow(shared_url(), engine.store, clock, options(), &faults);
  EXPECT_EQ(read(slow).body, "bytes");
  const auto take = [&] {
    branch::delete_repository(*here.engine, RepositoryName(name), false);
    branch::create_repository(*here.engine, {.name = RepositoryName(name),
                                             .storage_namespace = "local://" + name,
                                             .bucket_kind = BucketKind::kRooted});
    here.engine.put(RepositoryName(name), "main", "a", "hidden");
  };
  faults.at_then_go_on({"staging_lookup_key"}, take);
  const http::Response response = read(slow);
  EXPECT_EQ(faults.unreached(), 0u);
  expect(response, 403, "AccessDenied");
  EXPECT_EQ(response.body.find("hidden"), std::string::npos);
}

TEST_F(PublicBuckets, WrongSignatureIsNotAnonymous) {
  auth::NewKey wrong = ann;
  wrong.secret += "x";
  expect(here.send(&wrong, "GET", at("/a")), 403, "SignatureDoesNotMatch");
  wrong = ann;
  wrong.id = "AKIAUNKNOWNUNKNOWN00";
  expect(here.send(&wrong, "GET", at("/a")), 403, "InvalidAccessKeyId");
  expect(here.send(nullptr, "GET", at("/a"), {{"authorization", "AWS4-HMAC-SHA256 x"}}), 400);
  expect(here.send(nullptr, "GET", at("/a"), {{"authorization", "Something else"}}), 403);
  expect(here.send(nullptr, "GET", at("/a?X-Amz-Signature=0&X-Amz-Algorithm=AWS4-HMAC-SHA256")),
         400);
  expect(here.send(nullptr, "GET", at("/a?AWSAccessKeyId=x&Signature=y&Expires=1")), 403);
}

TEST_F(PublicBuckets, AnonymousUsersPolicyCanDeny) {
  const std::string id = "all" + name;
  user(id, {statement(auth::Statement::Effect::kAllow, {"fs:ReadConfig"}, "*")});
  PublicServer server(shared_url(), engine.store, clock, options(true, id));
  EXPECT_EQ(read(server).body, "bytes");
  expect(server.send(nullptr, "PUT", at("/b"), {}, "x"), 403, "AccessDenied");
  allow(id, {statement(auth::Statement::Effect::kDeny, {"fs:ReadObject"},
                       "arn:lakefs:fs:::repository/" + name + "/object/a")});
  expect(read(server), 403, "AccessDenied");
  expect(server.send(nullptr, "HEAD", at()), 200);
}

TEST_F(PublicBuckets, AreOffByDefault) {
  PublicServer off(shared_url(), engine.store, clock, options(/*public_buckets=*/false));
  expect(read(off), 403, "AccessDenied");
  expect(off.send(&ann, "PUT", at("?acl"), {{"x-amz-acl", "public-read"}}), 501, "NotImplemented");
  const std::string fresh = "/" + fresh_name();
  expect(off.send(&ann, "PUT", fresh, {{"x-amz-acl", "public-read"}}), 501, "NotImplemented");
  expect(off.send(&ann, "HEAD", fresh), 404);
  expect(off.send(&ann, "PUT", at("?acl"), {{"x-amz-acl", "private"}}), 200);
  expect(read(here), 403, "AccessDenied");
}

TEST_F(PublicBuckets, OnlyARootedBucketByItsBareNameCanBePublic) {
  const std::string plain = "/" + repo.str();
  expect(here.send(&ann, "PUT", plain + "?acl", {{"x-amz-acl", "public-read"}}), 501);
  expect(here.send(&ann, "PUT", plain + ".main?acl", {{"x-amz-acl", "public-read"}}), 501);
  expect(here.send(&ann, "PUT", at(".main?acl"), {{"x-amz-acl", "public-read"}}), 501);
  // The bucket of a ref was never public, so that closing it is done.
  expect(here.send(&ann, "PUT", at(".main?acl"), {{"x-amz-acl", "private"}}), 200);
  EXPECT_EQ(read(there).body, "bytes");
}

TEST_F(PublicBuckets, AclsThatGrantMoreAreRefusedByName) {
  for (const char* canned : {"public-read-write", "authenticated-read", "aws-exec-read"}) {
    expect(acl(ann, canned), 501, "NotImplemented");
    expect(here.send(&ann, "PUT", "/" + fresh_name(), {{"x-amz-acl", canned}}), 501);
  }
  expect(acl(ann, "everybody"), 400, "InvalidArgument");
  expect(here.send(&ann, "PUT", at("?acl")), 400, "MissingSecurityHeader");
  expect(here.send(&ann, "PUT", at("?acl"), {{"x-amz-grant-read", "uri=x"}}), 501);
}

class LifecycleRights : public PublicBuckets {
 protected:
  int set(const auth::NewKey& key, const std::string& prefix, const std::string& action) {
    const std::string document =
        str_cat("<LifecycleConfiguration><Rule><Status>Enabled</Status><Filter><Prefix>", prefix,
                "</Prefix></Filter>", action, "</Rule></LifecycleConfiguration>");
    return here.send(&key, "PUT", at("?lifecycle"), {}, document).status;
  }
};

TEST_F(LifecycleRights, RuleNeedsPermissionForItsActionsOnEverythingItMatches) {
  using Effect = auth::Statement::Effect;
  const std::string expire = "<Expiration><Days>1</Days></Expiration>";
  const std::string abort =
      "<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation>"
      "</AbortIncompleteMultipartUpload>";
  const std::string where = "arn:lakefs:fs:::repository/" + name;
  const testing::Statements change = {
      statement(Effect::kAllow, {"fs:UpdateRepository", "fs:ReadRepository"}, where)};
  const std::string bob = "bob" + name;
  const auth::NewKey key = user(bob, change);
  const std::string noncurrent =
      "<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays>"
      "</NoncurrentVersionExpiration>";
  for (const std::string& action : {expire, noncurrent, abort}) {
    EXPECT_EQ(set(key, "logs/", action), 403) << action;
  }
  testing::Statements more = change;
  more.push_back(statement(Effect::kAllow, {"fs:DeleteObject"}, where + "/object/logs/*"));
  allow(bob, more);
  EXPECT_EQ(set(key, "logs/", abort), 403);
  for (const std::string& action : {expire, noncurrent}) {
    EXPECT_EQ(set(key, "", action), 403) << action;
    EXPECT_EQ(set(key, "log", action), 403) << action;
    EXPECT_EQ(set(key, "logs/old/", action), 200) << action;
    EXPECT_EQ(set(key, "logs/", action), 200) << action;
  }
  more.push_back(statement(Effect::kDeny, {"fs:DeleteObject"}, where + "/object/logs/kept/*"));
  allow(bob, more);
  EXPECT_EQ(set(key, "logs/", expire), 403);
  EXPECT_EQ(set(key, "logs/old/", expire), 200);
  more.push_back(statement(Effect::kAllow, {"fs:WriteObject"}, where + "/object/logs/*"));
  allow(bob, more);
  EXPECT_EQ(set(key, "logs/", abort), 200);
  EXPECT_EQ(set(key, "logs/", expire + abort), 403);
  expect(here.send(&key, "DELETE", at("?lifecycle")), 204);
}

/// On every server, in answers to reads and writes, from the first request after the change.
TEST_F(LifecycleRights, AnswersShowTheRulesInForce) {
  const auto shown = [&](PublicServer& server, const std::string& method) {
    return std::string(server.send(&ann, method, at("/a"), {}, method == "PUT" ? "bytes" : "")
                           .headers.get("x-amz-expiration"));
  };
  for (const int days : {0, 1, 2, 0, 3}) {
    const std::string rule = str_cat("<LifecycleConfiguration><Rule><ID>after-", days,
                                     "</ID><Status>Enabled</Status><Filter/><Expiration><Days>",
                                     days, "</Days></Expiration></Rule></LifecycleConfiguration>");
    if (days > 0) expect(here.send(&ann, "PUT", at("?lifecycle"), {}, rule), 200);
    if (days == 0) expect(here.send(&ann, "DELETE", at("?lifecycle")), 204);
    for (PublicServer* server : {&there, &here}) {
      for (const char* method : {"GET", "HEAD", "PUT"}) {
        const std::string header = shown(*server, method);
        EXPECT_EQ(header.empty(), days == 0) << method << days;
        EXPECT_EQ(header.find(str_cat("\"after-", days, "\"")) != std::string::npos, days > 0)
            << method << ": " << header;
      }
    }
  }
}

TEST_F(LifecycleRights, TheBucketOfOneRefHasNoRules) {
  const std::string rules =
      "<LifecycleConfiguration><Rule><Status>Enabled</Status><Filter/>"
      "<Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>";
  expect(here.send(&ann, "PUT", at(".main?lifecycle"), {}, rules), 501, "NotImplemented");
  expect(here.send(&ann, "PUT", "/" + repo.str() + "?lifecycle", {}, rules), 501, "NotImplemented");
  expect(here.send(&ann, "PUT", at("?lifecycle"), {}, rules), 200);
  expect(here.send(&ann, "GET", at(".main?lifecycle")), 404, "NoSuchLifecycleConfiguration");
  expect(here.send(nullptr, "GET", at("?lifecycle")), 403, "AccessDenied");
}

/// CORS rules over S3, of every kind of bucket; the server itself allows one origin.
class BucketCors : public PublicBuckets {
 protected:
  static S3Options with_cors() {
    S3Options out = options();
    out.cors = {{.allowed_origins = {"https://server.test"},
                 .allowed_methods = {"GET"},
                 .allowed_headers = {"*"},
                 .max_age = std::chrono::minutes{10}}};
    return out;
  }
  static std::string document(const std::string& origin, const std::string& method = "PUT") {
    return str_cat("<CORSConfiguration><CORSRule><AllowedOrigin>", origin,
                   "</AllowedOrigin><AllowedMethod>", method,
                   "</AllowedMethod><AllowedHeader>x-amz-*</AllowedHeader><ExposeHeader>ETag"
                   "</ExposeHeader></CORSRule></CORSConfiguration>");
  }
  /// The status of a preflight.
  int ask(PublicServer& server, const std::string& target, const std::string& origin,
          const std::string& method, const std::string& headers = "x-amz-date") {
    return server
        .send(nullptr, "OPTIONS", target,
              {{"Origin", origin},
               {"Access-Control-Request-Method", method},
               {"Access-Control-Request-Headers", headers}})
        .status;
  }
  std::string allowed(PublicServer& server, const std::string& target, const std::string& origin) {
    return std::string(server.send(&ann, "PUT", target, {{"Origin", origin}}, "x")
                           .headers.get("Access-Control-Allow-Origin"));
  }

  PublicServer one{shared_url(), engine.store, clock, with_cors()};
  PublicServer two{shared_url(), engine.store, clock, with_cors()};
};

TEST_F(BucketCors, RulesOfABucketApplyOnEveryServerInPlaceOfTheServers) {
  const std::string plain = "/" + repo.str();
  const std::vector<std::pair<std::string, std::string>> places = {
      {at(), at("/b")},
      {at(), at(".main/b")},
      {plain, plain + "/main/b"},
      {plain + ".main", plain + ".main/b"}};
  for (const auto& [bucket, key] : places) {
    expect(one.send(&ann, "GET", bucket + "?cors"), 404, "NoSuchCORSConfiguration");
    EXPECT_EQ(ask(two, key, "https://server.test", "GET"), 200);
    EXPECT_EQ(ask(two, key, "https://page.test", "PUT"), 403);
    EXPECT_EQ(allowed(two, key, "https://page.test"), "");
    expect(one.send(&ann, "PUT", bucket + "?cors", {}, document("https://page.test")), 200);
    const http::Response shown = two.send(&ann, "GET", bucket + "?cors");
    expect(shown, 200);
    EXPECT_NE(shown.body.find("<AllowedOrigin>https://page.test<"), std::string::npos);
    EXPECT_EQ(ask(two, key, "https://page.test", "PUT"), 200);
    EXPECT_EQ(ask(two, bucket, "https://page.test", "PUT"), 200);
    EXPECT_EQ(ask(two, key, "https://page.test", "GET"), 403);
    EXPECT_EQ(ask(two, key, "https://page.test", "PUT", "authorization"), 403);
    EXPECT_EQ(ask(two, key, "https://server.test", "GET"), 403) << "the bucket's rules win";
    EXPECT_EQ(allowed(two, key, "https://page.test"), "https://page.test");
    EXPECT_EQ(allowed(two, key, "https://other.test"), "");
    expect(two.send(&ann, "DELETE", bucket + "?cors"), 204);
    expect(two.send(&ann, "DELETE", bucket + "?cors"), 204);
    EXPECT_EQ(ask(one, key, "https://server.test", "GET"), 200);
    EXPECT_EQ(ask(one, key, "https://page.test", "PUT"), 403);
  }
  EXPECT_EQ(ask(here, at("/b"), "https://page.test", "PUT"), 403) << "off everywhere";
}

TEST_F(BucketCors, AnswersAndErrorsOfBucketsHaveTheHeaders) {
  expect(one.send(&ann, "PUT", at("?cors"), {}, document("https://*.test", "GET")), 200);
  for (const std::string& target : {at("/a"), at("/absent"), at("?list-type=2"), at("/a?acl")}) {
    const http::Response answer = one.send(&ann, "GET", target, {{"Origin", "https://a.test"}});
    EXPECT_EQ(answer.headers.get("Access-Control-Allow-Origin"), "https://a.test") << target;
    EXPECT_EQ(answer.headers.get("Access-Control-Expose-Headers"), "ETag") << target;
    EXPECT_EQ(answer.headers.get("Vary"), "Origin") << target;
  }
  EXPECT_EQ(one.send(nullptr, "GET", at("/a"), {{"Origin", "https://a.test"}})
                .headers.get("Access-Control-Allow-Origin"),
            "https://a.test");
  // A bucket that is not there has those of the server.
  for (const char* target : {"/absent-bucket/a", "/", "/Not_A_Bucket/a", "/lake/%ff"}) {
    EXPECT_EQ(ask(one, target, "https://server.test", "GET"), 200) << target;
    EXPECT_EQ(ask(one, target, "https://a.test", "GET"), 403) << target;
  }
}

TEST_F(BucketCors, ChangingRulesNeedsPermissionAndAWritableRepository) {
  using Effect = auth::Statement::Effect;
  const std::string where = "arn:lakefs:fs:::repository/" + name;
  const std::string bob = "bob" + name;
  const auth::NewKey key = user(bob, {statement(Effect::kAllow, {"fs:ReadRepository"}, where)});
  const std::string rules = document("*");
  expect(one.send(&key, "GET", at("?cors")), 404, "NoSuchCORSConfiguration");
  expect(one.send(&key, "PUT", at("?cors"), {}, rules), 403, "AccessDenied");
  expect(one.send(&key, "DELETE", at("?cors")), 403, "AccessDenied");
  allow(bob, {statement(Effect::kAllow, {"fs:UpdateRepository"}, where)});
  expect(one.send(&key, "PUT", at("?cors"), {}, rules), 200);
  expect(one.send(&key, "GET", at("?cors")), 403, "AccessDenied");
  expect(one.send(&key, "PUT", at("?cors"), {}, "<CORSConfiguration/>"), 400, "MalformedXML");
  expect(one.send(&key, "PUT", at("?cors"), {}, rules + std::string(65'536, ' ')), 400,
         "EntityTooLarge");
  expect(one.send(&ann, "PUT", "/absent-bucket?cors", {}, rules), 404, "NoSuchBucket");
  expect(one.send(&ann, "PUT", at(".absent?cors"), {}, rules), 404, "NoSuchBucket");
  EXPECT_EQ(ask(two, at("/a"), "https://any.test", "PUT"), 200) << "what was refused did nothing";
  const std::string frozen = fresh_name();
  branch::create_repository(*engine, {.name = RepositoryName(frozen),
                                      .storage_namespace = "local://" + frozen,
                                      .read_only = true});
  expect(one.send(&ann, "PUT", "/" + frozen + "?cors", {}, rules), 403, "AccessDenied");
  expect(one.send(&ann, "DELETE", "/" + frozen + "?cors"), 403, "AccessDenied");
}

}  // namespace
}  // namespace tarn::s3
