// The dispatcher and the handlers over a real database: order of checks, statuses, headers.
#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "server/api/api.h"
#include "tests/support/engine_fixture.h"

namespace tarn::api {
namespace {

constexpr std::string_view kKeyId = "AKIATESTTESTTESTTESQ";
constexpr std::string_view kSecret = "a-secret-of-the-tests";
constexpr std::string_view kUnauthenticated = "error authenticating request";

std::string basic(std::string_view id, std::string_view secret) {
  return "Basic " + to_base64(std::string(id) + ":" + std::string(secret));
}

/// What a test sends; signed in unless said otherwise.
struct Sent {
  std::string method = "GET";
  std::string path{};  ///< below /api/v1
  std::string body{};
  std::string content_type{};
  http::Headers headers{};
  bool signed_in = true;
};

class ApiTest : public ::testing::Test {
 protected:
  static std::string shared_url() {
    static const testing::TestDatabase database;  // each test has a repository of its own
    return database.url();
  }
  static std::string fresh_name() {
    static int count = 0;
    return "rest" + std::to_string(100 + count++);
  }

  ApiTest() { directory.ensure_admin("admin", kKeyId, kSecret, engine.clock.now()); }

  http::Response send(Sent sent) {
    http::Request request;
    request.method = std::move(sent.method);
    request.target = "/api/v1" + sent.path;
    request.headers = std::move(sent.headers);
    request.id = "request-1";
    if (sent.signed_in) request.headers.add("Authorization", basic(kKeyId, kSecret));
    if (sent.content_type.empty() && !sent.body.empty()) sent.content_type = "application/json";
    if (!sent.content_type.empty()) request.headers.add("Content-Type", sent.content_type);
    if (!sent.body.empty()) request.content_length = sent.body.size();
    request.body = http::string_body(std::move(sent.body));
    return api.handle(request);
  }
  http::Response get(const std::string& path) { return send({.path = path}); }
  http::Response post(const std::string& path, const std::string& body) {
    return send({.method = "POST", .path = path, .body = body});
  }
  http::Response upload(const std::string& key, const std::string& bytes) {
    return send({.method = "POST",
                 .path = here + "/branches/main/objects?path=" + key,
                 .body = bytes,
                 .content_type = "text/plain"});
  }

  testing::TestEngine engine{shared_url()};
  auth::Authenticator authenticator{engine.pool, engine.clock, std::string(32, 'k')};
  auth::Directory directory{engine.pool, std::string(32, 'k')};
  Api api{{.engine = *engine,
           .authenticator = authenticator,
           .directory = directory,
           .clock = engine.clock,
           .installation = {.version = "1"}}};
  RepositoryName repo = engine.make_repository(fresh_name());
  std::string here = "/repositories/" + repo.str();
};

void expect_message(const http::Response& response, int status, std::string_view message) {
  EXPECT_EQ(response.status, status);
  EXPECT_NE(response.body.find("{\"message\":\"" + std::string(message) + "\""), std::string::npos)
      << response.body;
}

TEST_F(ApiTest, NeedsAnAccountAlmostEverywhere) {
  expect_message(send({.path = "/config", .signed_in = false}), 401, kUnauthenticated);
  EXPECT_EQ(send({.path = "/healthcheck", .signed_in = false}).status, 204);
  EXPECT_EQ(send({.path = "/setup_lakefs", .signed_in = false}).status, 200);
}

TEST_F(ApiTest, ChecksTheRequestBeforeTheAccount) {
  EXPECT_EQ(send({.path = "/repositories?amount=1001", .signed_in = false}).status, 400);
  EXPECT_EQ(
      send({.method = "POST", .path = "/repositories", .body = "{", .signed_in = false}).status,
      400);
  EXPECT_EQ(
      send({.method = "POST", .path = "/repositories", .body = "{}", .signed_in = false}).status,
      400);
  EXPECT_EQ(send({.path = "/nope", .signed_in = false}).status, 404);
}

TEST_F(ApiTest, TakesABadHeaderAsAFailureAndABadCookieAsNone) {
  const auto status = [&](std::string_view authorization, std::string_view cookie) {
    Sent sent{.path = "/config", .signed_in = false};
    if (!authorization.empty()) sent.headers.add("Authorization", std::string(authorization));
    if (!cookie.empty()) sent.headers.add("Cookie", std::string(cookie));
    return send(std::move(sent)).status;
  };
  const std::string good = basic(kKeyId, kSecret);
  const std::string token =
      authenticator.issue_token(authenticator.check_password(kKeyId, kSecret)->user).token;
  const std::string session = "internal_auth_session=" + token;
  EXPECT_EQ(status(good, "internal_auth_session=broken"), 200);
  EXPECT_EQ(status("", "internal_auth_session=broken"), 401);
  EXPECT_EQ(status("", session), 200);
  EXPECT_EQ(status("Bearer " + token, ""), 200);
  EXPECT_EQ(status("Bearer x" + token, ""), 401);
  EXPECT_EQ(status(basic(kKeyId, "wrong"), session), 401);
  EXPECT_EQ(status("Basic", session), 401);
  EXPECT_EQ(status("Digest x", session), 401);
}

TEST_F(ApiTest, GivesATokenAndACookieAtLogin) {
  const http::Response response =
      post("/auth/login", R"({"access_key_id":")" + std::string(kKeyId) +
                              R"(","secret_access_key":")" + std::string(kSecret) + "\"}");
  EXPECT_EQ(response.status, 200);
  const std::string_view cookie = response.headers.get("Set-Cookie");
  EXPECT_TRUE(cookie.starts_with("internal_auth_session=")) << cookie;
  EXPECT_NE(cookie.find("; HttpOnly; SameSite=Lax"), std::string_view::npos) << cookie;
  expect_message(post("/auth/login", R"({"access_key_id":"a","secret_access_key":"b"})"), 401,
                 kUnauthenticated);
}

TEST_F(ApiTest, PutsItsIdAndItsGuardsOnEveryAnswer) {
  for (const http::Response& response :
       {get("/config"), get("/nope"), get("/repositories?amount=x")}) {
    EXPECT_EQ(response.headers.get("X-Request-Id"), "request-1");
    EXPECT_EQ(response.headers.get("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(response.headers.get("Content-Type"), "application/json");
  }
}

TEST_F(ApiTest, AnswersUnknownAndUnservedOperations) {
  expect_message(get("/repositories/"), 404, "invalid API endpoint");
  expect_message(send({.method = "OPTIONS", .path = "/repositories"}), 404, "invalid API endpoint");
  expect_message(get(here + "/pulls"), 501, "Not Implemented");
}

TEST_F(ApiTest, RefusesABodyThatIsTooLarge) {
  EXPECT_EQ(post("/repositories", std::string(5 * 1024 * 1024 + 1, ' ')).status, 413);
}

TEST_F(ApiTest, MakesABranchWithABareIdAsTheAnswer) {
  const http::Response made = post(here + "/branches", R"({"name":"dev","source":"main"})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.body.size(), 64u);
  EXPECT_EQ(made.headers.get("Content-Type"), "text/plain; charset=utf-8");
  expect_message(post(here + "/branches", R"({"name":"dev","source":"main"})"), 409,
                 "branch already exists: not unique");
  expect_message(post(here + "/branches", R"({"name":"x","source":"nope"})"), 404,
                 "source reference 'nope': not found");
}

TEST_F(ApiTest, CallsAMissingRefWhatClientsExpect) {
  expect_message(get(here + "/commits/nope"), 404, "commit not found");
  expect_message(get(here + "/commits/a%20b"), 404, "commit not found");
  expect_message(get("/repositories/absent/commits/main"), 404, "repository not found");
  expect_message(get(here + "/refs/nope/commits"), 404, "ref: not found");
  expect_message(get(here + "/refs/nope/objects?path=a"), 404, "not found");
}

TEST_F(ApiTest, ReadsAnObjectWithTheHeadersThatBrowsersAndReadersNeed) {
  EXPECT_EQ(upload("a.txt", "hello").status, 201);
  const http::Response response = get(here + "/refs/main/objects?path=a.txt");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.get("ETag"), "\"5d41402abc4b2a76b9719d911017c592\"");
  EXPECT_EQ(response.headers.get("Content-Type"), "text/plain");
  EXPECT_EQ(response.headers.get("Content-Disposition"), "inline");
  EXPECT_EQ(response.headers.get("Cache-Control"), "no-store, must-revalidate");
  EXPECT_EQ(response.headers.get("Content-Security-Policy"), "default-src 'none'");
  EXPECT_EQ(response.content_length, 5u);
  EXPECT_EQ(http::read_all(*response.source, 100), "hello");
}

TEST_F(ApiTest, OffersUnknownTypesAsDownloads) {
  EXPECT_EQ(send({.method = "POST", .path = here + "/branches/main/objects?path=b"}).status, 201);
  const http::Response response = get(here + "/refs/main/objects?path=b");
  EXPECT_EQ(response.headers.get("Content-Type"), "application/octet-stream");
  EXPECT_EQ(response.headers.get("Content-Disposition"), "attachment");
  EXPECT_EQ(response.content_length, 0u);
}

TEST_F(ApiTest, AnswersRangesAndUnchangedObjects) {
  upload("a.txt", "hello");
  const auto read = [&](const char* name, const char* value) {
    Sent sent{.path = here + "/refs/main/objects?path=a.txt"};
    sent.headers.add(name, value);
    return send(std::move(sent));
  };
  const http::Response part = read("Range", "bytes=1-2");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.headers.get("Content-Range"), "bytes 1-2/5");
  EXPECT_EQ(http::read_all(*part.source, 100), "el");
  const http::Response behind = read("Range", "bytes=5-");
  expect_message(behind, 416, "Requested Range Not Satisfiable");
  EXPECT_EQ(behind.headers.get("Content-Range"), "bytes */5");
  EXPECT_EQ(read("Range", "bytes=4-2").headers.find("Content-Range"), nullptr);
  EXPECT_EQ(read("Range", "items=0-1").status, 400);
  const http::Response unchanged = read("If-None-Match", "\"5d41402abc4b2a76b9719d911017c592\"");
  EXPECT_EQ(unchanged.status, 304);
  EXPECT_EQ(unchanged.headers.find("ETag"), nullptr);
  EXPECT_EQ(read("If-None-Match", "*").status, 200);
}

TEST_F(ApiTest, AnswersHeadWithoutABodyAlsoWhenItFails) {
  upload("a.txt", "hello");
  const auto head = [&](const std::string& key) {
    return send({.method = "HEAD", .path = here + "/refs/main/objects?path=" + key});
  };
  const http::Response found = head("a.txt");
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(found.content_length, 5u);
  EXPECT_EQ(found.headers.get("Accept-Ranges"), "bytes");
  EXPECT_EQ(found.body, "");
  EXPECT_EQ(head("nope").status, 404);
  EXPECT_EQ(head("nope").body, "");
}

TEST_F(ApiTest, RefusesAWriteBeforeReadingItsBody) {
  class Unreadable final : public http::BodySource {
   public:
    size_t read(std::span<char>) override {
      ADD_FAILURE() << "the body was read";
      return 0;
    }
  };
  upload("taken", "x");
  for (const char* path : {"/branches/absent/objects?path=a", "/branches/a.b/objects?path=a",
                           "/branches/main/objects", "/branches/main/objects?path=taken"}) {
    http::Request request;
    request.method = "POST";
    request.target = "/api/v1" + here + path;
    request.headers.add("Authorization", basic(kKeyId, kSecret));
    request.headers.add("If-None-Match", "*");
    request.chunked = true;
    request.body = std::make_unique<Unreadable>();
    EXPECT_GE(api.handle(request).status, 400) << path;
  }
}

TEST_F(ApiTest, ShowsAMergeConflictWithItsPaths) {
  upload("a.txt", "one");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "a.txt", "dev's");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "a.txt", "main's");
  engine.commit(repo, "main");
  const http::Response response = send({.method = "POST", .path = here + "/refs/dev/merge/main"});
  EXPECT_EQ(response.status, 409);
  EXPECT_TRUE(response.body.starts_with("{\"reference\":\"\",")) << response.body;
  EXPECT_NE(response.body.find(R"("conflicts":{"count":1,"paths":["a.txt"],"all":"/api/v1)" + here +
                               "/refs/main/diff/dev?type=three_dot\"}"),
            std::string::npos)
      << response.body;
}

TEST_F(ApiTest, ReportsKeysItCannotDeleteOneByOne) {
  upload("a", "1");
  const std::string path = here + "/branches/main/objects/delete";
  EXPECT_EQ(post(path, R"({"paths":["a","absent",""]})").body, "{\"errors\":[]}\n");
  EXPECT_EQ(engine.read(repo, "main", "a"), "<absent>");
  const http::Response response = post(path, R"({"paths":[")" + std::string(1025, 'x') + "\"]}");
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("\"status_code\":400"), std::string::npos);
  std::string many = R"({"paths":["x")";
  for (int i = 0; i < 1000; ++i) many += R"(,"x")";
  expect_message(post(path, many + "]}"), 400, "request size exceeded, max paths is set to 1000");
}

TEST_F(ApiTest, KnowsATakenNameBeforeAnUnknownStorage) {
  const std::string body = R"("storage_namespace":"local://other","storage_id":"x"})";
  EXPECT_EQ(post("/repositories", R"({"name":")" + repo.str() + "\"," + body).status, 409);
  expect_message(post("/repositories", R"({"name":"unused-name",)" + body), 400,
                 "storage id: invalid value: validation error");
}

TEST_F(ApiTest, RefusesPresignedUrlsAsAnError) {
  upload("a.txt", "hello");
  EXPECT_EQ(get(here + "/refs/main/objects?path=a.txt&presign=True").status, 400);
  EXPECT_EQ(get(here + "/refs/main/objects/stat?path=a.txt&presign=true").status, 400);
  EXPECT_EQ(get(here + "/refs/main/objects/ls?presign=true").status, 400);
  EXPECT_EQ(get(here + "/branches/main/staging/backing?path=a&presign=true").status, 400);
  EXPECT_EQ(get(here + "/refs/main/objects?path=a.txt&presign=False").status, 200);
}

TEST_F(ApiTest, LinksAnAddressItHandedOutAndNoOther) {
  const std::string path = here + "/branches/main/staging/backing?path=linked";
  const std::string handed = get(path).body;
  const std::string marker = "\"physical_address\":\"";
  const size_t begin = handed.find(marker) + marker.size();
  const std::string address = handed.substr(begin, handed.find('"', begin) - begin);
  const auto link = [&](const std::string& to, const std::string& given) {
    return send({.method = "PUT",
                 .path = to,
                 .body = R"({"staging":{"physical_address":")" + given +
                         R"("},"checksum":"\"abc\"","size_bytes":3})"});
  };
  const http::Response linked = link(path, address);
  EXPECT_EQ(linked.status, 200);
  EXPECT_NE(linked.body.find(marker + address + "\""), std::string::npos)
      << "echoed with its token";
  EXPECT_NE(linked.body.find("\"checksum\":\"abc\""), std::string::npos);
  EXPECT_EQ(link(here + "/branches/main/staging/backing?path=another", address).status, 400);
  EXPECT_EQ(link(path, address.substr(0, address.find(','))).status, 400);
}

}  // namespace
}  // namespace tarn::api
