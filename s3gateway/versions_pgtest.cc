// Versions over S3: what answers say of them, what is listed and removed, and who may.
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/auth/directory.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/memory_share.h"
#include "core/base/str_cat.h"
#include "s3gateway/gateway.h"
#include "tests/support/repository_test.h"

namespace tarn::s3 {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TestEngine;

using Fields = std::vector<http::Headers::Field>;

/// A gateway that is open to everybody as one user.
struct VersionServer {
  VersionServer(TestEngine& with, std::string user)
      : engine(with), context{*engine, authenticator, engine.clock, options(std::move(user))} {}

  http::Response send(const std::string& method, const std::string& target,
                      const std::string& body = "", const Fields& headers = {}) {
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
  const S3Context context;

 private:
  static S3Options options(std::string user) {
    S3Options out;
    out.anonymous_user = std::move(user);
    return out;
  }
};

class S3Versions : public testing::RepositoryTest {
 protected:
  S3Versions() {
    directory.ensure_admin("admin", "AKIATESTTESTTESTTESQ", "a-secret-of-the-tests",
                           engine.clock.now());
    keep("Enabled");
  }

  http::Response keep(const std::string& status) {
    return here.send("PUT", bucket() + "?versioning",
                     str_cat("<VersioningConfiguration><Status>", status,
                             "</Status></VersioningConfiguration>"));
  }
  std::string bucket() const { return "/" + repo.str(); }
  std::string path(const std::string& key = "a") const { return bucket() + "/main/" + key; }
  static std::string version_of(const http::Response& response) {
    return std::string(response.headers.get("x-amz-version-id"));
  }
  std::string put(const std::string& bytes, const std::string& key = "a",
                  const Fields& headers = {}) {
    const http::Response response = here.send("PUT", path(key), bytes, headers);
    EXPECT_EQ(response.status, 200) << response.body;
    return version_of(response);
  }
  std::string read(const std::string& key, const std::string& version) {
    const http::Response response = here.send("GET", path(key) + "?versionId=" + version);
    if (response.status != 200) return code(response);
    EXPECT_EQ(version_of(response), version);
    return response.body;
  }
  static std::string code(const http::Response& response) {
    return between(response.body, "<Code>", "</Code>");
  }
  static std::string between(const std::string& text, const std::string& from,
                             const std::string& to) {
    const size_t at = text.find(from);
    if (at == std::string::npos) return "";
    return text.substr(at + from.size(), text.find(to, at) - at - from.size());
  }
  std::string listing(const std::string& query = "&prefix=main/") {
    const http::Response response = here.send("GET", bucket() + "?versions" + query);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.body;
  }
  /// "a:ID! a:ID-": of every item in order, a latest one and a delete marker marked.
  static std::string items(const std::string& xml) {
    std::string out;
    size_t at = 0;
    while ((at = xml.find("<Key>", at)) != std::string::npos) {
      const bool marker = xml.rfind("<DeleteMarker>", at) != std::string::npos &&
                          xml.rfind("<DeleteMarker>", at) + 14 == at;
      const std::string rest = xml.substr(at);
      out += str_cat(out.empty() ? "" : " ", between(rest, "<Key>", "</Key>"), ":",
                     between(rest, "<VersionId>", "</VersionId>"), marker ? "-" : "",
                     between(rest, "<IsLatest>", "</IsLatest>") == "true" ? "!" : "");
      ++at;
    }
    return out;
  }
  http::Response remove(const std::string& version, const std::string& key = "a") {
    return here.send("DELETE", path(key) + "?versionId=" + version);
  }
  http::Response remove_many(const std::string& objects) {
    const std::string body = "<Delete>" + objects + "</Delete>";
    return here.send("POST", bucket() + "?delete", body, {{"Content-MD5", to_base64(md5(body))}});
  }
  /// A server for a user who has these rights alone; resources below the repository.
  std::unique_ptr<VersionServer> server_of(
      const std::string& user, const std::vector<std::pair<std::string, std::string>>& rights) {
    const std::string name = user + repo.str();
    directory.users.create({name, engine.clock.now(), {}, {}});
    std::vector<auth::Statement> statements;
    for (const auto& [action, resource] : rights) {
      auth::Statement statement;
      statement.actions = {action};
      statement.resources = {str_cat("arn:lakefs:fs:::repository/", repo.str(), resource)};
      statements.push_back(std::move(statement));
    }
    directory.policies.create({name, engine.clock.now(), statements});
    directory.policies.attach_to_user(name, name);
    return std::make_unique<VersionServer>(engine, name);
  }

  auth::Directory directory{engine.pool, std::string(32, 'k')};
  VersionServer here{engine, "admin"};
};

TEST_F(S3Versions, TheSettingIsShown) {
  EXPECT_THAT(here.send("GET", bucket() + "?versioning").body, HasSubstr("<Status>Enabled<"));
  EXPECT_EQ(keep("Suspended").status, 200);
  EXPECT_THAT(here.send("GET", bucket() + "?versioning").body, HasSubstr("<Status>Suspended<"));
  EXPECT_EQ(code(keep("Off")), "MalformedXML");
  EXPECT_EQ(code(here.send("PUT", bucket() + "?versioning",
                           "<VersioningConfiguration><Status>Enabled</Status>"
                           "<MfaDelete>Enabled</MfaDelete></VersioningConfiguration>")),
            "NotImplemented");
  EXPECT_THAT(here.send("GET", bucket() + "?versioning").body, HasSubstr("<Status>Suspended<"));
}

TEST_F(S3Versions, EveryWriteReturnsAReadableVersionId) {
  const std::string first = put("1", "a", {{"x-amz-meta-n", "1"}, {"x-amz-tagging", "n=1"}});
  const std::string second = put("22");
  engine.commit(repo, "main");
  const http::Response copied =
      here.send("PUT", path("copy"), "", {{"x-amz-copy-source", path() + "?versionId=" + first}});
  EXPECT_EQ(copied.headers.get("x-amz-copy-source-version-id"), first);
  const http::Response gone = here.send("DELETE", path());
  EXPECT_EQ(gone.status, 204);
  EXPECT_EQ(gone.headers.get("x-amz-delete-marker"), "true");
  const std::string third = put("333");
  EXPECT_EQ(read("a", first), "1");
  EXPECT_EQ(read("a", second), "22");
  EXPECT_EQ(read("a", third), "333");
  EXPECT_EQ(read("copy", version_of(copied)), "1");
  EXPECT_EQ(read("copy", first), "NoSuchVersion");
  EXPECT_EQ(version_of(here.send("GET", path())), third);
  EXPECT_EQ(version_of(here.send("HEAD", path())), third);
  const http::Response head = here.send("HEAD", path() + "?versionId=" + first);
  EXPECT_EQ(head.headers.get("x-amz-meta-n"), "1");
  EXPECT_EQ(head.content_length, 1u);
  EXPECT_THAT(here.send("GET", path() + "?tagging&versionId=" + first).body,
              HasSubstr("<Value>1</Value>"));
  const http::Response attributes = here.send("GET", path() + "?attributes&versionId=" + second, "",
                                              {{"x-amz-object-attributes", "ObjectSize"}});
  EXPECT_THAT(attributes.body, HasSubstr("<ObjectSize>2</ObjectSize>"));
  EXPECT_EQ(version_of(attributes), second);
  const http::Response marked = here.send("GET", path() + "?versionId=" + version_of(gone));
  EXPECT_EQ(code(marked), "MethodNotAllowed");
  EXPECT_EQ(marked.headers.get("x-amz-delete-marker"), "true");
  for (const std::string& wrong : {std::string("x"), first.substr(1), first + "0"}) {
    EXPECT_EQ(code(here.send("GET", path() + "?versionId=" + wrong)), "InvalidArgument");
    EXPECT_EQ(code(here.send("DELETE", path() + "?versionId=" + wrong)), "InvalidArgument");
  }
  EXPECT_EQ(read("a", std::string(32, '0')), "NoSuchVersion");
}

TEST_F(S3Versions, CompletedUploadMakesAVersion) {
  const std::string upload =
      between(here.send("POST", path() + "?uploads").body, "<UploadId>", "</UploadId>");
  const std::string part = str_cat(path(), "?partNumber=1&uploadId=", upload);
  const std::string etag(here.send("PUT", part, "part").headers.get("ETag"));
  const std::string completion =
      str_cat("<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>", etag,
              "</ETag></Part></CompleteMultipartUpload>");
  const auto complete = [&] {
    return here.send("POST", str_cat(path(), "?uploadId=", upload), completion);
  };
  const std::string version = version_of(complete());
  EXPECT_EQ(read("a", version), "part");
  EXPECT_EQ(version_of(complete()), version);  // sent again
  EXPECT_EQ(items(listing()), str_cat("main/a:", version, "!"));
}

TEST_F(S3Versions, AreListedNewestFirst) {
  const std::string one = put("1");
  const std::string two = put("2");
  const std::string gone = version_of(here.send("DELETE", path()));
  const std::string b = put("b", "d/b");
  const std::string all =
      str_cat("main/a:", gone, "-! main/a:", two, " main/a:", one, " main/d/b:", b, "!");
  EXPECT_EQ(items(listing()), all);
  EXPECT_EQ(items(listing("")), all);  // over all branches
  const std::string folded = listing("&prefix=main/&delimiter=/");
  EXPECT_THAT(folded, HasSubstr("<CommonPrefixes><Prefix>main/d/</Prefix>"));
  EXPECT_THAT(folded, Not(HasSubstr("d/b")));
  for (const std::string prefix : {"&prefix=main/", ""}) {
    for (int size = 1; size <= 4; ++size) {
      std::string found;
      std::string query = str_cat(prefix, "&max-keys=", size);
      for (int page = 0; page < 5; ++page) {
        const std::string xml = listing(query);
        if (!items(xml).empty()) found += (found.empty() ? "" : " ") + items(xml);
        const std::string key = between(xml, "<NextKeyMarker>", "</NextKeyMarker>");
        if (key.empty()) break;
        query = str_cat(prefix, "&max-keys=", size, "&key-marker=", key, "&version-id-marker=",
                        between(xml, "<NextVersionIdMarker>", "</NextVersionIdMarker>"));
      }
      EXPECT_EQ(found, all) << size << prefix;
    }
  }
  EXPECT_EQ(code(here.send("GET", bucket() + "?versions&delimiter=a")), "NotImplemented");
  EXPECT_EQ(code(here.send("GET", bucket() + "?versions&key-marker=a&version-id-marker=x")),
            "InvalidArgument");
}

TEST_F(S3Versions, RemovingTheLatestShowsTheOneBefore) {
  const std::string one = put("1");
  const std::string two = put("2");
  engine.commit(repo, "main");
  const std::string commit = to_text(branch::get_branch(*engine, repo, BranchName("main")).head);
  const std::string gone = version_of(here.send("DELETE", path()));
  const http::Response back = remove(gone);
  EXPECT_EQ(back.status, 204);
  EXPECT_EQ(back.headers.get("x-amz-delete-marker"), "true");
  EXPECT_EQ(version_of(back), gone);
  EXPECT_EQ(here.send("GET", path()).body, "2");
  EXPECT_EQ(remove(two).headers.find("x-amz-delete-marker"), nullptr);
  EXPECT_EQ(here.send("GET", path()).body, "1");
  EXPECT_EQ(read("a", two), "NoSuchVersion");
  EXPECT_EQ(remove(two).status, 204);
  EXPECT_EQ(read("a", commit), "2");
  EXPECT_EQ(code(remove(commit)), "MethodNotAllowed");
  EXPECT_EQ(items(listing()), str_cat("main/a:", one, "!"));
  remove(one);
  EXPECT_EQ(code(here.send("GET", path())), "NoSuchKey");
  EXPECT_EQ(items(listing()), "");
}

TEST_F(S3Versions, DeleteObjectsRemovesVersionsAndAddsMarkers) {
  put("1", "a");
  const std::string b = put("1", "b");
  put("1", "c");
  const std::string body =
      remove_many(str_cat("<Object><Key>main/a</Key></Object><Object><Key>main/b</Key><VersionId>",
                          b,
                          "</VersionId></Object><Object><Key>main/c</Key><VersionId>x"
                          "</VersionId></Object>"))
          .body;
  EXPECT_THAT(body, HasSubstr("<Deleted><Key>main/a</Key><DeleteMarker>true</DeleteMarker>"));
  EXPECT_THAT(body, HasSubstr(str_cat("<Deleted><Key>main/b</Key><VersionId>", b,
                                      "</VersionId></Deleted>")));
  EXPECT_THAT(body, HasSubstr("<Error><Key>main/c</Key>"));
  EXPECT_EQ(engine.keys(repo, "main"), "c");
  const std::string marker = between(body, "<DeleteMarkerVersionId>", "</DeleteMarkerVersionId>");
  EXPECT_THAT(
      remove_many(str_cat("<Object><Key>main/a</Key><VersionId>", marker, "</VersionId></Object>"))
          .body,
      HasSubstr(str_cat("<DeleteMarkerVersionId>", marker)));
  EXPECT_EQ(engine.keys(repo, "main"), "a c");
}

TEST_F(S3Versions, UnversionedObjectsHaveTheNullVersion) {
  keep("Suspended");
  EXPECT_EQ(put("0"), "");
  keep("Enabled");
  EXPECT_EQ(version_of(here.send("HEAD", path())), "null");
  const std::string one = put("1");
  EXPECT_EQ(read("a", "null"), "0");
  EXPECT_EQ(items(listing()), str_cat("main/a:", one, "! main/a:null"));
  EXPECT_EQ(remove("null").status, 204);
  EXPECT_EQ(read("a", "null"), "NoSuchVersion");
  EXPECT_EQ(here.send("GET", path()).body, "1");
}

TEST_F(S3Versions, TaggingMakesAVersion) {
  const std::string first = put("1", "a", {{"x-amz-tagging", "n=1"}});
  const std::string tags =
      "<Tagging><TagSet><Tag><Key>n</Key><Value>2</Value></Tag></TagSet></Tagging>";
  const std::string second = version_of(here.send("PUT", path() + "?tagging", tags));
  EXPECT_EQ(items(listing()), str_cat("main/a:", second, "! main/a:", first));
  EXPECT_THAT(here.send("GET", path() + "?tagging&versionId=" + first).body,
              HasSubstr("<Value>1</Value>"));
  EXPECT_EQ(code(here.send("PUT", path() + "?tagging&versionId=" + first, tags)),
            "MethodNotAllowed");
  EXPECT_EQ(code(here.send("DELETE", path() + "?tagging&versionId=" + second)), "MethodNotAllowed");
  EXPECT_EQ(items(listing()), str_cat("main/a:", second, "! main/a:", first));
}

TEST_F(S3Versions, ConditionsHold) {
  const std::string first = put("1", "a", {{"If-None-Match", "*"}});
  EXPECT_EQ(here.send("PUT", path(), "2", {{"If-None-Match", "*"}}).status, 412);
  EXPECT_EQ(here.send("DELETE", path(), "", {{"If-Match", "\"x\""}}).status, 412);
  EXPECT_EQ(items(listing()), str_cat("main/a:", first, "!"));
}

/// S3 deletes under a condition what is not there, too; a delete marker has no ETag to match.
TEST_F(S3Versions, ConditionalDeletionOfAnAbsentKeyHasNothingToDo) {
  const struct {
    Fields header;
    std::string element;
    bool of_etag;
  } conditions[] = {
      {{{"If-Match", "*"}}, "<ETag>*</ETag>", true},
      {{{"If-Match", "\"x\""}}, "<ETag>\"x\"</ETag>", true},
      {{{"x-amz-if-match-size", "1"}}, "<Size>1</Size>", false},
      {{{"x-amz-if-match-last-modified-time", "Thu, 01 Jan 2015 00:00:00 GMT"}},
       "<LastModifiedTime>2015-01-01T00:00:00Z</LastModifiedTime>",
       false},
  };
  for (const char* setting : {"Suspended", "Enabled"}) {
    keep(setting);
    for (const auto& c : conditions) {
      for (const std::string& version :
           {std::string(), std::string(32, '0'), std::string("null")}) {
        const std::string query = version.empty() ? "" : "?versionId=" + version;
        const http::Response gone = here.send("DELETE", path("absent") + query, "", c.header);
        EXPECT_EQ(gone.status, 204) << gone.body;
        EXPECT_EQ(gone.headers.find("x-amz-delete-marker"), nullptr);
        const std::string element =
            version.empty() ? "" : str_cat("<VersionId>", version, "</VersionId>");
        const std::string many =
            remove_many(str_cat("<Object><Key>main/absent</Key>", element, c.element, "</Object>"))
                .body;
        EXPECT_THAT(many, HasSubstr("<Deleted><Key>main/absent</Key>"));
        EXPECT_THAT(many, Not(HasSubstr("<Error>")));
      }
    }
    EXPECT_EQ(items(listing()), "");
  }
  put("1");
  const std::string marker = version_of(here.send("DELETE", path()));
  const std::string before = items(listing());
  for (const auto& c : conditions) {
    EXPECT_EQ(here.send("DELETE", path(), "", c.header).status, c.of_etag ? 412 : 204);
    const std::string many =
        remove_many(str_cat("<Object><Key>main/a</Key>", c.element, "</Object>")).body;
    EXPECT_EQ(code(here.send("DELETE", path() + "?versionId=" + marker, "", c.header)),
              "PreconditionFailed");
    EXPECT_EQ(between(many, "<Code>", "</Code>"), c.of_etag ? "PreconditionFailed" : "");
    EXPECT_EQ(items(listing()), before);
  }
}

TEST_F(S3Versions, AnswersForADeletedKeyNameItsMarker) {
  const auto marker_of = [&](const std::string& target, const std::string& method = "GET",
                             const Fields& headers = {}) {
    const http::Response answer = here.send(method, target, "", headers);
    EXPECT_EQ(answer.status, 404) << target;
    EXPECT_EQ(answer.headers.find("x-amz-delete-marker") != nullptr, !version_of(answer).empty());
    return version_of(answer);
  };
  EXPECT_EQ(marker_of(path()), "");
  put("1");
  const std::string marker = version_of(here.send("DELETE", path()));
  for (const std::string& at : {path(), str_cat(bucket(), ".main/a")}) {
    EXPECT_EQ(marker_of(at), marker);
    EXPECT_EQ(marker_of(at, "HEAD"), marker);
    EXPECT_EQ(marker_of(at + "?tagging"), marker);
    EXPECT_EQ(marker_of(at + "?acl"), marker);
    EXPECT_EQ(marker_of(at + "?attributes", "GET", {{"x-amz-object-attributes", "ETag"}}), marker);
  }
  EXPECT_EQ(marker_of(path("b"), "PUT", {{"x-amz-copy-source", path()}}), marker);
  EXPECT_EQ(marker_of(path("absent")), "");
  put("1", "other");
  engine.commit(repo, "main");
  EXPECT_EQ(marker_of(path()), marker) << "after a commit";
  const std::string head = to_text(branch::get_branch(*engine, repo, BranchName("main")).head);
  EXPECT_EQ(marker_of(bucket() + "/" + head + "/a"), "") << "a commit has no versions";
  keep("Suspended");
  EXPECT_EQ(marker_of(path()), marker) << "markers stay";
  keep("Enabled");
  put("1", "late");
  keep("Suspended");
  EXPECT_EQ(here.send("DELETE", path("late")).status, 204);
  EXPECT_EQ(marker_of(path("late")), "") << "a suspended deletion makes none";
  put("2");
  EXPECT_EQ(here.send("GET", path()).status, 200);
}

TEST_F(S3Versions, AreOfOneKeyOfOneBranch) {
  const std::string version = put("1");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  EXPECT_EQ(code(here.send("GET", bucket() + "/dev/a?versionId=" + version)), "NoSuchVersion");
  EXPECT_EQ(here.send("DELETE", bucket() + "/dev/a?versionId=" + version).status, 204);
  EXPECT_EQ(version_of(here.send("HEAD", bucket() + "/dev/a")), "null");
  EXPECT_EQ(read("a", version), "1");
}

TEST_F(S3Versions, BucketOfOneBranchHasVersions) {
  const std::string version = put("1");
  const std::string view = bucket() + ".main";
  EXPECT_EQ(here.send("GET", view + "/a?versionId=" + version).body, "1");
  EXPECT_EQ(items(here.send("GET", view + "?versions").body), str_cat("a:", version, "!"));
}

TEST_F(S3Versions, ReadingNeedsASeparateRight) {
  const std::string secret = put("secret");
  const std::string open = put("open");
  const auto branch = server_of("branch", {{"fs:ReadObject", "/ref/main/object/*"},
                                           {"fs:WriteObject", "/ref/main/object/*"},
                                           {"fs:ListObjects", "/ref/main"}});
  EXPECT_EQ(branch->send("GET", path()).body, "open");
  for (const std::string& version : {secret, open}) {
    const std::string at = path() + "?versionId=" + version;
    EXPECT_EQ(code(branch->send("GET", at)), "AccessDenied");
    EXPECT_EQ(branch->send("HEAD", at).status, 403);
    EXPECT_EQ(code(branch->send("GET", path() + "?tagging&versionId=" + version)), "AccessDenied");
    EXPECT_EQ(code(branch->send("GET", path() + "?attributes&versionId=" + version, "",
                                {{"x-amz-object-attributes", "ETag"}})),
              "AccessDenied");
    EXPECT_EQ(code(branch->send("PUT", path("b"), "", {{"x-amz-copy-source", at}})),
              "AccessDenied");
    EXPECT_EQ(code(branch->send("DELETE", at)), "AccessDenied");
  }
  EXPECT_EQ(code(branch->send("GET", bucket() + "?versions&prefix=main/")), "AccessDenied");
  EXPECT_EQ(branch->send("GET", bucket() + "?list-type=2&prefix=main/").status, 200);
  EXPECT_EQ(code(branch->send("PUT", bucket() + "?versioning", "")), "AccessDenied");

  const auto reader = server_of("reader", {{"fs:ReadObject", "/object/*"}, {"fs:ListObjects", ""}});
  EXPECT_EQ(reader->send("GET", path() + "?versionId=" + secret).body, "secret");
  EXPECT_EQ(reader->send("GET", bucket() + "?versions&prefix=main/").status, 200);
  EXPECT_EQ(code(reader->send("DELETE", path() + "?versionId=" + secret)), "AccessDenied");

  const auto remover = server_of("remover", {{"fs:DeleteObject", "/ref/main/object/*"}});
  EXPECT_EQ(code(remover->send("GET", path() + "?versionId=" + secret)), "AccessDenied");
  EXPECT_EQ(code(remover->send("DELETE", bucket() + "/dev/a?versionId=" + secret)), "AccessDenied");
  EXPECT_EQ(remover->send("DELETE", path() + "?versionId=" + secret).status, 204);
  EXPECT_EQ(read("a", secret), "NoSuchVersion");
  EXPECT_EQ(here.send("GET", path()).body, "open");
}

TEST_F(S3Versions, DocumentsCountForTheMemoryOfTheirUser) {
  const MemoryScope scope("admin");
  std::string objects;
  for (int i = 0; i < 500; ++i) {
    const std::string key = std::to_string(i) + std::string(600, 'k');
    put("x", key);
    objects += str_cat("<Object><Key>main/", key, "</Key></Object>");
  }
  const auto others = [] { return MemoryHold(kAnswerBytesPerUserMax - kAnswerPieceBytesMin); };
  {
    const http::Response listed = here.send("GET", bucket() + "?list-type=2&prefix=main/");
    EXPECT_GT(listed.body.size(), kAnswerPieceBytesMin);
    EXPECT_THROW(others(), Error);
  }
  const MemoryHold held = others();
  EXPECT_EQ(code(here.send("GET", bucket() + "?list-type=2&prefix=main/")), "ServiceUnavailable");
  const http::Response removed = remove_many(objects);  // its answer is as long
  EXPECT_EQ(removed.status, 200);
  EXPECT_GT(removed.body.size(), kAnswerPieceBytesMin);
}

}  // namespace
}  // namespace tarn::s3
