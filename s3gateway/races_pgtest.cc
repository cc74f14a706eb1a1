// Requests of S3 that other requests for the same key get in between.
#include <memory>

#include <gtest/gtest.h>

#include "core/auth/directory.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/objects/objects.h"
#include "s3gateway/gateway.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::s3 {
namespace {

using testing::FaultPoints;
using testing::TestEngine;

/// One server's gateway, open to everybody.
struct RaceServer {
  explicit RaceServer(TestEngine& with) : engine(with) {}

  http::Response send(const std::string& method, const std::string& target,
                      const std::string& body = "",
                      const std::vector<http::Headers::Field>& headers = {}) {
    http::Request request;
    request.method = method;
    request.target = target;
    request.id = "request-1";
    request.peer = "127.0.0.1";
    request.headers.add("Host", "tarn.test:8000");
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    request.content_length = body.size();
    request.body = http::string_body(body);
    return handle(context, request);
  }

  TestEngine& engine;
  auth::Authenticator authenticator{engine.pool, engine.clock, std::string(32, 'k')};
  const S3Context context{*engine, authenticator, engine.clock, options()};

 private:
  static S3Options options() {
    S3Options out;
    out.anonymous_user = "admin";
    return out;
  }
};

/// Two servers: requests to `slow` stop at fault points while `here` answers others.
class S3Races : public testing::RepositoryTest {
 protected:
  S3Races() {
    auth::Directory(engine.pool, std::string(32, 'k'))
        .ensure_admin("admin", "AKIATESTTESTTESTTESQ", "a-secret-of-the-tests", engine.clock.now());
  }

  std::string path(const std::string& key) { return "/" + repo.str() + "/main/" + key; }
  void put(const std::string& key, const std::string& bytes,
           const std::vector<http::Headers::Field>& headers = {}) {
    const http::Response response = here.send("PUT", path(key), bytes, headers);
    EXPECT_EQ(response.status, 200) << response.body;
  }
  http::Response copy(const std::string& from, const std::string& to,
                      std::vector<http::Headers::Field> headers) {
    headers.emplace_back("x-amz-copy-source", path(from));
    return slow.send("PUT", path(to), "", headers);
  }
  Entry entry(const std::string& key) {
    return objects::get_object(*engine, repo, "main", Key(key)).entry;
  }
  std::string at(const std::string& key) { return engine.read(repo, "main", key); }
  static std::string etag(const std::string& bytes) { return "\"" + to_hex(md5(bytes)) + "\""; }
  std::string tags(const std::string& key) { return here.send("GET", path(key) + "?tagging").body; }
  static std::string tagging(const std::string& key, const std::string& value) {
    return "<Tagging><TagSet><Tag><Key>" + key + "</Key><Value>" + value +
           "</Value></Tag></TagSet></Tagging>";
  }

  FaultPoints faults;
  TestEngine slow_engine{shared_url(), engine.store, &faults};
  RaceServer here{engine};
  RaceServer slow{slow_engine};
};

TEST_F(S3Races, CopyReadsTheObjectWhoseConditionsHeld) {
  for (const int lookup : {2, 3}) {
    put("source", "first");
    faults.at_then_go_on({"staging_lookup_key", false, lookup}, [&] { put("source", "second"); });
    const http::Response copied =
        copy("source", "target", {{"x-amz-copy-source-if-match", etag("first")}});
    EXPECT_EQ(copied.status, 200) << copied.body;
    EXPECT_EQ(at("target"), "first") << "lookup " << lookup;
  }
}

TEST_F(S3Races, ACopyHasBytesAndMetadataOfOneObject) {
  put("source", "first", {{"x-amz-meta-of", "first"}});
  faults.at_then_go_on({"staging_lookup_key", false, 2}, [&] {
    put("source", "second", {{"x-amz-meta-of", "second"}});
  });
  EXPECT_EQ(copy("source", "target", {{"x-amz-tagging-directive", "REPLACE"}}).status, 200);
  EXPECT_EQ(at("target"), entry("target").user_metadata().at("of"));
}

/// Before the change is staged, in whatever way that is done.
constexpr const char* kStagings[] = {"staging_insert_rows", "staging_insert_row_if"};

TEST_F(S3Races, CopyOntoItselfKeepsTheBytesOfAConcurrentWrite) {
  const std::vector<http::Headers::Field> replace = {{"x-amz-metadata-directive", "REPLACE"},
                                                     {"x-amz-meta-m", "1"}};
  put("k", "first");
  for (const char* moment : kStagings) faults.at_then_go_on({moment}, [&] { put("k", "second"); });
  EXPECT_EQ(copy("k", "k", replace).status, 200);
  EXPECT_EQ(faults.unreached(), 1u);
  EXPECT_EQ(at("k"), "second");
  EXPECT_EQ(entry("k").user_metadata().at("m"), "1");
}

TEST_F(S3Races, CopyOntoItselfChecksItsConditionAgain) {
  put("k", "first");
  for (const char* moment : kStagings) faults.at_then_go_on({moment}, [&] { put("k", "second"); });
  EXPECT_EQ(
      copy("k", "k",
           {{"x-amz-metadata-directive", "REPLACE"}, {"x-amz-copy-source-if-match", etag("first")}})
          .status,
      412);
  EXPECT_EQ(at("k"), "second");
}

TEST_F(S3Races, TagsAndUserMetadataAreBothKept) {
  put("k", "bytes");
  faults.at_then_go_on({"staging_insert_row_if"}, [&] {
    objects::update_user_metadata(*engine, repo, BranchName("main"), Key("k"), {{"m", "1"}}, false);
  });
  EXPECT_EQ(slow.send("PUT", path("k") + "?tagging", tagging("a", "b")).status, 200);
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(entry("k").user_metadata(), (Metadata{{"m", "1"}}));
  EXPECT_NE(tags("k").find("<Key>a</Key><Value>b</Value>"), std::string::npos) << tags("k");
}

TEST_F(S3Races, TagsChangeALaterObjectOfEqualBytes) {
  for (const std::string method : {"PUT", "DELETE"}) {
    put("k", "bytes", {{"x-amz-meta-of", "first"}, {"x-amz-tagging", "old=1"}});
    faults.at_then_go_on({"staging_insert_row_if"}, [&] {
      put("k", "bytes",
          {{"x-amz-meta-of", "second"}, {"Content-Type", "text/html"}, {"x-amz-tagging", "o=2"}});
    });
    const std::string body = method == "PUT" ? tagging("a", "b") : "";
    EXPECT_LT(slow.send(method, path("k") + "?tagging", body).status, 300);
    EXPECT_EQ(entry("k").user_metadata().at("of"), "second") << method;
    EXPECT_EQ(entry("k").content_type, "text/html") << method;
    EXPECT_EQ(tags("k").find("<Key>o"), std::string::npos) << tags("k");
  }
}

TEST_F(S3Races, TagsChangeALaterObjectOfOtherBytes) {
  put("k", "bytes");
  faults.at_then_go_on({"staging_insert_row_if"}, [&] { put("k", "other"); });
  EXPECT_EQ(slow.send("PUT", path("k") + "?tagging", tagging("a", "b")).status, 200);
  EXPECT_EQ(at("k"), "other");
}

TEST_F(S3Races, TaggingADeletedObjectDoesNotRestoreIt) {
  put("k", "bytes");
  faults.at_then_go_on({"staging_insert_row_if"}, [&] { engine.remove(repo, "main", "k"); });
  EXPECT_EQ(slow.send("PUT", path("k") + "?tagging", tagging("a", "b")).status, 404);
  EXPECT_EQ(at("k"), "<absent>");
}

/// A name whose repository another server deletes and creates again as another kind of bucket.
class BucketKindRaces : public S3Races {
 protected:
  /// The server of `slow` has taken the name for the other kind a moment ago.
  void make_anew(BucketKind kind) {
    if (versions > 0) branch::delete_repository(*engine, name, false);
    branch::create_repository(
        *engine, {.name = name,
                  .storage_namespace = "local://" + name.str() + "/" + std::to_string(versions++),
                  .default_branch = BranchName("trunk"),
                  .bucket_kind = kind});
  }
  void turn_into(BucketKind kind) {
    make_anew(kind == BucketKind::kRooted ? BucketKind::kRepository : BucketKind::kRooted);
    slow.send("GET", "/" + name.str() + "/trunk/x");
    make_anew(kind);
  }
  /// As a client sends it that asks again after 503.
  int send(const std::string& method, const std::string& target, const std::string& body = "",
           const std::vector<http::Headers::Field>& headers = {}) {
    const int status = slow.send(method, "/" + name.str() + target, body, headers).status;
    if (status != 503) return status;
    return slow.send(method, "/" + name.str() + target, body, headers).status;
  }
  std::string keys() { return engine.keys(name, "trunk"); }

  RepositoryName name{fresh_name()};
  int versions = 0;
};

TEST_F(BucketKindRaces, WritesFollowTheNewKind) {
  turn_into(BucketKind::kRepository);
  EXPECT_EQ(send("PUT", "/trunk/x", "plain"), 200);
  EXPECT_EQ(keys(), "x");
  turn_into(BucketKind::kRooted);
  EXPECT_EQ(send("PUT", "/trunk/x", "rooted"), 200);
  EXPECT_EQ(keys(), "trunk/x");
  turn_into(BucketKind::kRooted);
  EXPECT_EQ(send("POST", "/trunk/x?uploads"), 200);
}

TEST_F(BucketKindRaces, OnlyKeysOfTheNewKindChange) {
  const auto make = [&] {
    turn_into(BucketKind::kRooted);
    for (const char* key : {"x", "trunk/x"}) engine.put(name, "trunk", key, "bytes");
  };
  make();
  EXPECT_EQ(send("DELETE", "/trunk/x"), 204);
  EXPECT_EQ(keys(), "x");
  make();
  EXPECT_EQ(send("PUT", "/trunk/x?tagging", tagging("a", "b")), 200);
  EXPECT_EQ(objects::get_object(*engine, name, "trunk", Key("x")).entry.object_tags(), Metadata{});
  make();
  engine.put(name, "trunk", "trunk/x", "other bytes");
  const std::string source = "/" + name.str() + "/trunk/x";
  EXPECT_EQ(send("PUT", "/trunk/y", "", {{"x-amz-copy-source", source}}), 200);
  EXPECT_EQ(keys(), "trunk/x trunk/y x");
  EXPECT_EQ(engine.read(name, "trunk", "trunk/y"), "other bytes");
  const http::Response copied = [&] {
    turn_into(BucketKind::kRooted);
    for (const char* key : {"x", "trunk/x"}) engine.put(name, "trunk", key, key);
    return slow.send("PUT", path("copied"), "", {{"x-amz-copy-source", source}});
  }();
  EXPECT_TRUE(copied.status == 503 || at("copied") == "trunk/x") << copied.status;
  make();
  const std::string two = "<Delete><Object><Key>trunk/x</Key></Object></Delete>";
  // Each key has a separate result.
  for (int i = 0; i < 2; ++i) {
    slow.send("POST", "/" + name.str() + "?delete", two, {{"Content-MD5", to_base64(md5(two))}});
  }
  EXPECT_EQ(keys(), "x");
}

/// Uploads in parts through the gateway.
class S3UploadRaces : public S3Races {
 protected:
  std::string begin(const std::string& key) {
    const std::string body = here.send("POST", path(key) + "?uploads").body;
    const size_t at = body.find("<UploadId>") + 10;
    return body.substr(at, body.find('<', at) - at);
  }
  void part(const std::string& key, const std::string& id, const std::string& bytes) {
    EXPECT_EQ(here.send("PUT", path(key) + "?partNumber=1&uploadId=" + id, bytes).status, 200);
  }
  static http::Response complete(RaceServer& server, const std::string& target,
                                 const std::string& id, const std::string& bytes) {
    return server.send("POST", target + "?uploadId=" + id,
                       "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>" +
                           etag(bytes) + "</ETag></Part></CompleteMultipartUpload>");
  }
};

TEST_F(S3UploadRaces, PartSentDuringACompletionIsNotJoined) {
  const std::string id = begin("k");
  part("k", id, "first");
  // The client names the part that is sent while its completion runs.
  faults.at_then_go_on({"uploads_select_parts", false, 2}, [&] { part("k", id, "other"); });
  EXPECT_EQ(complete(slow, path("k"), id, "other").status, 400);
  EXPECT_EQ(faults.unreached(), 1u) << "parts are read once";
  EXPECT_EQ(at("k"), "<absent>");
}

TEST_F(S3UploadRaces, IdenticalCompletionsGiveOneAnswer) {
  for (const std::string moment :
       {"uploads_select_multipart", "uploads_select_parts", "staging_insert_rows"}) {
    const std::string id = begin(moment);
    part(moment, id, "parts");
    std::string other;
    faults.at_then_go_on({moment}, [&] { other = complete(here, path(moment), id, "parts").body; });
    const http::Response answer = complete(slow, path(moment), id, "parts");
    EXPECT_EQ(answer.status, 200) << moment << answer.body;
    EXPECT_EQ(answer.body, other) << moment;
  }
}

TEST_F(S3UploadRaces, ExactlyOneOfCompleteAndAbortSucceeds) {
  const std::string id = begin("k");
  part("k", id, "parts");
  faults.at_then_go_on({"uploads_delete_row"}, [&] { complete(here, path("k"), id, "parts"); });
  EXPECT_EQ(slow.send("DELETE", path("k") + "?uploadId=" + id).status, 404);
  EXPECT_EQ(at("k"), "parts");
  const std::string second = begin("l");
  part("l", second, "parts");
  faults.at_then_go_on({"staging_insert_rows"}, [&] {
    EXPECT_EQ(here.send("DELETE", path("l") + "?uploadId=" + second).status, 204);
  });
  EXPECT_EQ(complete(slow, path("l"), second, "parts").status, 404);
  EXPECT_EQ(at("l"), "<absent>");
}

}  // namespace
}  // namespace tarn::s3
