// The dispatcher and the handlers over a real database: order of checks, statuses, headers.
#include <stop_token>

#include <gtest/gtest.h>

#include "core/base/cancellation.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/pause.h"
#include "core/meta/branches.h"
#include "core/meta/operations.h"
#include "core/meta/repositories.h"
#include "core/versioning/operation_runner.h"
#include "server/api/api.h"
#include "server/api/json/commit.h"
#include "server/api/route.h"
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
  versioning::OperationRunner operations{engine.pool, engine.clock};
  meta::Operations rows{engine.pool, engine.clock};
  Api api{{.engine = *engine,
           .authenticator = authenticator,
           .directory = directory,
           .clock = engine.clock,
           .operations = operations,
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

/// Another process holds the branch: a commit waits for it.
class HeldBranch : public ApiTest {
 protected:
  HeldBranch() {
    upload("a", "1");
    const auto branch = (*engine).branches.find(repository_id(), BranchName("main"));
    id = branch->id;
    EXPECT_EQ((*engine).branches.acquire(id, kOther, std::chrono::seconds{60}, false).outcome,
              meta::Branches::Acquired::Outcome::kDone);
  }
  RepositoryId repository_id() { return (*engine).repositories.find(repo)->id; }
  void release() { (*engine).branches.release(id, kOther); }

  http::Response commit(const std::string& preference) {
    Sent sent{
        .method = "POST", .path = here + "/branches/main/commits", .body = R"({"message":"m"})"};
    sent.headers.add("Prefer", preference);
    return send(std::move(sent));
  }
  http::Response wait_for(const http::Response& deferred) {
    Sent sent{.path = location(deferred)};
    sent.headers.add("Prefer", "wait=20");
    return send(std::move(sent));
  }
  static std::string location(const http::Response& deferred) {
    return std::string(deferred.headers.get("Location")).substr(kBasePath.size());
  }
  std::string head() {
    return to_text((*engine).branches.find(repository_id(), BranchName("main"))->head);
  }

  static constexpr int64_t kOther = 42;
  BranchId id{};
};

TEST_F(HeldBranch, ARequestThatPrefersNotToWaitGoesOnAndKeepsItsAnswer) {
  const http::Response deferred = commit("wait=0");
  EXPECT_EQ(deferred.status, 202);
  EXPECT_EQ(deferred.headers.get("Preference-Applied"), "respond-async");
  EXPECT_NE(deferred.body.find(R"("state":"running")"), std::string::npos) << deferred.body;
  release();
  const http::Response done = wait_for(deferred);
  EXPECT_EQ(done.status, 200);
  EXPECT_NE(done.body.find(R"("state":"done")"), std::string::npos) << done.body;
  EXPECT_NE(done.body.find(R"("status":201,"result":{"committer":"admin")"), std::string::npos)
      << done.body;
  EXPECT_EQ(send({.method = "DELETE", .path = location(deferred)}).status, 409) << "it has ended";
  EXPECT_NE(get("/operations").body.find(R"("operation":"commit")"), std::string::npos);
}

TEST_F(HeldBranch, AnAnswerWithinTheWaitIsTheUsualOne) {
  release();
  const std::string before = get("/operations").body;
  const http::Response done = commit("respond-async, wait=30");
  EXPECT_EQ(done.status, 201);
  EXPECT_EQ(done.headers.get("Preference-Applied"), "wait=30");
  const http::Response failed = commit("wait=30");
  EXPECT_EQ(failed.status, 400) << "nothing to commit, told as ever";
  EXPECT_EQ(get("/operations").body, before) << "nobody has to poll what was answered";
}

TEST_F(HeldBranch, ACancelledOperationChangesNothing) {
  const std::string before = head();
  const http::Response deferred = commit("wait=0");
  ASSERT_EQ(deferred.status, 202);
  const http::Response asked = send({.method = "DELETE", .path = location(deferred)});
  EXPECT_EQ(asked.status, 202);
  EXPECT_NE(asked.body.find(R"("state":"cancelling")"), std::string::npos) << asked.body;
  const http::Response ended = wait_for(deferred);
  EXPECT_NE(ended.body.find(R"("state":"cancelled")"), std::string::npos) << ended.body;
  EXPECT_NE(ended.body.find(R"("code":"operation_cancelled")"), std::string::npos) << ended.body;
  release();
  EXPECT_EQ(head(), before);
  EXPECT_EQ(commit("wait=30").status, 201) << "what was staged is still there";
}

TEST_F(HeldBranch, AFailureIsKeptAsItWouldHaveBeenAnswered) {
  release();
  Sent merge{.method = "POST", .path = here + "/refs/main/merge/no-such", .body = "{}"};
  merge.headers.add("Prefer", "respond-async");
  http::Response answer = send(std::move(merge));
  if (answer.status == 202) {
    answer = wait_for(answer);
    EXPECT_NE(answer.body.find(R"("state":"failed")"), std::string::npos) << answer.body;
    EXPECT_NE(answer.body.find(R"("status":404)"), std::string::npos) << answer.body;
  } else {
    EXPECT_EQ(answer.status, 404);
  }
}

TEST_F(ApiTest, OperationsAreTheirOwnersAlone) {
  const std::string id = rows.start("commit", "/x", "somebody", std::chrono::seconds{60});
  EXPECT_EQ(get("/operations/" + id).status, 404);
  EXPECT_EQ(send({.method = "DELETE", .path = "/operations/" + id}).status, 404);
  EXPECT_EQ(get("/operations").body.find(id), std::string::npos);
}

TEST_F(ApiTest, AnOperationWhoseServerDiedShowsAsFailed) {
  const std::string id = rows.start("commit", "/x", "admin", std::chrono::seconds{-1});
  const http::Response found = get("/operations/" + id);
  EXPECT_NE(found.body.find(R"("state":"failed")"), std::string::npos) << found.body;
  EXPECT_NE(found.body.find(R"("code":"operation_lost")"), std::string::npos) << found.body;
  EXPECT_EQ(send({.method = "DELETE", .path = "/operations/" + id}).status, 409);
}

TEST_F(ApiTest, TheNumberOfRunningOperationsIsBounded) {
  std::stop_source all_may_end;
  const versioning::OperationWork forever{
      .name = "test",
      .target = "/x",
      .owner = "admin",
      .run =
          [end = all_may_end.get_token()] {
            while (!end.stop_requested()) throw_if_cancelled(), pause(end, std::chrono::seconds{1});
          },
      .answer = [](const std::exception_ptr&) { return versioning::KeptAnswer{}; }};
  for (size_t i = 0; i < versioning::kOperationsRunningMax; ++i) operations.run(forever, {});
  try {
    operations.run(forever, {});
    FAIL() << "one too many";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), "too_many_operations");
  }
  all_may_end.request_stop();
  for (int i = 0; i < 100; ++i) {
    try {
      operations.run(forever, {});
      return;
    } catch (const Error&) {
      pause({}, std::chrono::milliseconds{20});
    }
  }
  FAIL() << "ended operations make room";
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
  expect_message(get(here + "/metadata/range/x"), 501, "Not Implemented");
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
                               "/refs/dev/merge/main/conflicts\"}"),
            std::string::npos)
      << response.body;
}

TEST_F(ApiTest, ListsConflictsAndMergesByPattern) {
  for (const char* key : {"a.txt", "b.txt"}) upload(key, "one");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  for (const char* key : {"a.txt", "b.txt"}) engine.put(repo, "dev", key, "dev's");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "a.txt", "main's");
  engine.remove(repo, "main", "b.txt");
  engine.commit(repo, "main");
  const std::string merge = here + "/refs/dev/merge/main";
  const http::Response listed = get(merge + "/conflicts?after=a.txt");
  EXPECT_EQ(listed.status, 200);
  EXPECT_NE(listed.body.find(R"("results":[{"path":"b.txt","base":{"checksum":")"),
            std::string::npos)
      << listed.body;
  EXPECT_NE(listed.body.find(R"("size_bytes":5},"destination":null}]})"), std::string::npos)
      << listed.body;
  EXPECT_EQ(get(here + "/refs/nope/merge/main/conflicts").status, 404);
  EXPECT_EQ(get(here + "/refs/dev/merge/a.b/conflicts").status, 400);
  for (const char* body :
       {R"({"resolutions":[{"glob":"[a","take":"dest"}]})",
        R"({"resolutions":[{"glob":"a","take":"both"}]})", R"({"resolutions":[{"take":"dest"}]})",
        R"({"paths":[]})", R"({"paths":["{a"]})", R"({"paths":"a"})"}) {
    EXPECT_EQ(post(merge, body).status, 400) << body;
  }
  EXPECT_NE(post(merge, R"({"resolutions":[{"glob":"[a","take":"dest"}]})")
                .body.find("/resolutions/0/glob"),
            std::string::npos);
  EXPECT_EQ(post(merge, R"({"resolutions":[{"glob":"a*","take":"dest"},
                                           {"glob":"*","take":"source"}]})")
                .status,
            200);
  EXPECT_EQ(engine.read(repo, "main", "a.txt") + engine.read(repo, "main", "b.txt"), "main'sdev's");
}

TEST_F(ApiTest, CommitsAGivenTree) {
  upload("a.txt", "one");
  const Commit first = engine.commit(repo, "main");
  upload("b.txt", "two");
  engine.commit(repo, "main");
  const std::string commits = here + "/branches/main/commits";
  const std::string tree = json::metarange_id(first.root);
  const http::Response made = post(commits + "?source_metarange=" + tree, R"({"message":"back"})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_NE(made.body.find("\"meta_range_id\":\"" + tree + "\""), std::string::npos) << made.body;
  EXPECT_EQ(engine.keys(repo, "main"), "a.txt");
  EXPECT_EQ(post(commits + "?source_metarange=x", R"({"message":"m"})").status, 400);
  EXPECT_EQ(
      post(commits + "?source_metarange=" + std::string(64, 'a'), R"({"message":"m"})").status,
      404);
}

TEST_F(ApiTest, MovesByReference) {
  for (const char* key : {"a/1", "a/2", "b/2"}) upload(key, key);
  const std::string move = here + "/branches/main/objects/move";
  expect_message(post(move, R"({"src_prefix":"a/","dest_prefix":"b/","overwrite":false})"), 412,
                 "moving to \\\"b/2\\\": path already exists");
  const http::Response moved = post(move, R"({"src_prefix":"a/","dest_prefix":"b/"})");
  EXPECT_EQ(moved.status, 200);
  EXPECT_EQ(moved.body, "{\"moved\":2}\n");
  EXPECT_EQ(engine.keys(repo, "main"), "b/1 b/2");
  EXPECT_EQ(post(move, R"({"src_path":"b/1","dest_path":"c"})").status, 200);
  EXPECT_EQ(post(move, R"({"src_path":"b/1","dest_path":"c"})").status, 404);
  EXPECT_EQ(post(move, R"({"src_path":"c","dest_path":"c"})").status, 400);
  EXPECT_EQ(engine.read(repo, "main", "c"), "a/1");
}

TEST_F(ApiTest, DumpsAndRestoresRefs) {
  upload("a.txt", "one");
  engine.commit(repo, "main");
  const http::Response dumped = send({.method = "PUT", .path = here + "/refs/dump"});
  EXPECT_EQ(dumped.status, 201);
  const std::string name = fresh_name();
  EXPECT_EQ(post("/repositories?bare=true",
                 R"({"name":")" + name + R"(","storage_namespace":"local://)" + name + "\"}")
                .status,
            201);
  const auto restore = [&](const std::string& repository, const std::string& body) {
    return send({.method = "PUT",
                 .path = "/repositories/" + repository + "/refs/restore",
                 .body = body})
        .status;
  };
  EXPECT_EQ(restore(repo.str(), dumped.body), 400) << "it is not bare";
  std::string mixed = dumped.body;
  mixed.replace(mixed.find("tags-") + 5, 1, "9");
  EXPECT_EQ(restore(name, mixed), 400);
  EXPECT_EQ(restore(name, R"({"commits_meta_range_id":"commits-1-a","tags_meta_range_id":"tags-1-a",
                              "branches_meta_range_id":"branches-1-a"})"),
            404);
  EXPECT_EQ(restore(name, dumped.body), 200);
  EXPECT_EQ(engine.read(RepositoryName(name), "main", "a.txt"), "one");
  EXPECT_EQ(get(here + "/dump?task_id=x").status, 404);
}

TEST_F(ApiTest, RecordsACommitUnderItsOwnIdOnly) {
  upload("a.txt", "one");
  const Commit head = engine.commit(repo, "main");
  Commit given;
  given.parents = {head.id};
  given.root = head.root;
  given.message = "m";
  given.committer = "c";
  given.created = from_millis(1'700'000'000'000);
  given.generation = head.generation + 1;
  given.id = compute_commit_id(given);
  const auto body = [&](const std::string& id, int64_t generation) {
    return R"({"version":1,"committer":"c","message":"m","creation_date":1700000000,"commit_id":")" +
           id + R"(","metarange_id":")" + json::metarange_id(head.root) + R"(","parents":[")" +
           to_text(head.id) + R"("],"generation":)" + std::to_string(generation) + "}";
  };
  const std::string commits = here + "/commits";
  EXPECT_EQ(post(commits, body(std::string(64, 'a'), given.generation)).status, 400);
  EXPECT_EQ(post(commits, body(to_text(given.id), 7)).status, 400);
  EXPECT_EQ(post(commits, body("short", given.generation)).status, 400);
  EXPECT_EQ(post(commits, body(to_text(given.id), given.generation)).status, 204);
  EXPECT_EQ(post(commits, body(to_text(given.id), given.generation)).status, 409);
  EXPECT_EQ(engine.read(repo, to_text(given.id), "a.txt"), "one");
}

TEST_F(ApiTest, NamesAddressesInSymlinkFiles) {
  for (const char* key : {"t/day=1/a", "t/day=1/b", "t/day=2/c", "other"}) upload(key, key);
  const http::Response made =
      send({.method = "POST", .path = here + "/refs/main/symlink?location=t/"});
  EXPECT_EQ(made.status, 201) << made.body;
  const std::string folder =
      made.body.substr(made.body.find("_tarn/"), std::string("_tarn/symlinks/").size() + 16);
  std::string seen;
  for (const auto& stat : engine.store->list("", "", 1000).items) {
    const size_t at = stat.key.find(folder);
    if (at != std::string::npos) {
      seen += stat.key.substr(at + folder.size()) + ":" + std::to_string(stat.size_bytes) + " ";
    }
  }
  const std::string stat = get(here + "/refs/main/objects/stat?path=t/day=2/c").body;
  const size_t from = stat.find("local://");
  const size_t line = stat.find('"', from) - from + 1;
  EXPECT_EQ(seen, "/t/day=1/symlink.txt:" + std::to_string(2 * line) +
                      " /t/day=2/symlink.txt:" + std::to_string(line) + " ");
}

TEST_F(ApiTest, SummarisesADiff) {
  upload("dir/a", "one");
  engine.commit(repo, "main");
  const http::Response made = get(here + "/refs/main~1/diff/main/summary?type=two_dot&delimiter=/");
  EXPECT_EQ(made.status, 200);
  const std::string totals = R"("added":{"objects":1,"bytes":3},"removed":{"objects":0,"bytes":0},)"
                             R"("changed":{"objects":0,"bytes":0,"bytes_before":0},"conflicts":0)";
  EXPECT_EQ(made.body, "{" + totals + R"(,"prefixes":[{"path":"dir/",)" + totals + "}]}\n");
  EXPECT_EQ(get(here + "/refs/nope/diff/main/summary").status, 404);
  EXPECT_EQ(get(here + "/refs/main/diff/main/summary?type=four_dot").status, 400);
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

TEST_F(ApiTest, ChangesBranchRulesUnderTheirEtag) {
  const std::string path = here + "/settings/branch_protection";
  const auto put = [&](std::optional<std::string> if_match, const std::string& body) {
    Sent sent{.method = "PUT", .path = path, .body = body};
    if (if_match) sent.headers.add("If-Match", *if_match);
    return send(std::move(sent));
  };
  const std::string rules = R"([{"pattern":"main"}])";
  http::Response seen = get(path);
  EXPECT_EQ(seen.body, "[]\n");
  ASSERT_NE(seen.headers.find("ETag"), nullptr);
  EXPECT_EQ(seen.headers.get("ETag"), "");
  expect_message(put("xx", rules), 412, "Precondition failed");
  EXPECT_EQ(put("", rules).status, 204) << "nothing was set";
  expect_message(put("", rules), 412, "Precondition failed");
  seen = get(path);
  EXPECT_EQ(seen.body, rules + "\n");
  const std::string etag(seen.headers.get("ETag"));
  EXPECT_EQ(etag.size(), 64u);
  const std::string full = R"([{"approvals":2,"blocked_actions":["delete"],"pattern":"main"}])";
  EXPECT_EQ(put(etag, full).status, 204);
  expect_message(put(etag, "[]"), 412, "Precondition failed");
  EXPECT_EQ(put(std::nullopt, rules).status, 204);
  EXPECT_EQ(get(path).body, full + "\n") << "what the second did not name stays";
  expect_message(put(std::nullopt, R"([{"pattern":"a"},{"pattern":"["}])"), 400,
                 "request body has an error: /1/pattern: '[' without ']' at byte 0");
  EXPECT_EQ(get(path).body, full + "\n");
}

TEST_F(ApiTest, AddsAndRemovesOneRuleForOldClients) {
  const std::string path = here + "/branch_protection";
  const auto remove = [&] {
    return send({.method = "DELETE", .path = path, .body = R"({"pattern":"main"})"}).status;
  };
  EXPECT_EQ(get(path + "/set_allowed").status, 204);
  EXPECT_EQ(post(path, R"({"pattern":"main"})").status, 204);
  EXPECT_EQ(get(path).body, "[{\"pattern\":\"main\"}]\n");
  EXPECT_EQ(upload("a", "1").status, 403);
  EXPECT_EQ(remove(), 204);
  EXPECT_EQ(remove(), 404);
  EXPECT_EQ(upload("a", "1").status, 201);
}

TEST_F(ApiTest, RefusesWritesToAProtectedBranchInTheWordsClientsKnow) {
  upload("a", "1");
  engine.commit(repo, "main");
  upload("b", "1");
  const std::string main = here + "/branches/main";
  EXPECT_EQ(send({.method = "PUT",
                  .path = here + "/settings/branch_protection",
                  .body = R"([{"pattern":"m*"}])"})
                .status,
            204);
  const std::string no_write = "cannot write to protected branch";
  expect_message(upload("a", "2"), 403, no_write);
  expect_message(send({.method = "DELETE", .path = main + "/objects?path=a"}), 403, no_write);
  expect_message(post(main + "/objects/copy?dest_path=c", R"({"src_path":"a"})"), 403, no_write);
  expect_message(send({.method = "PUT",
                       .path = main + "/objects/stat/user_metadata?path=a",
                       .body = R"({"set":{"k":"v"}})"}),
                 403, no_write);
  expect_message(send({.method = "PUT", .path = main, .body = R"({"type":"reset"})"}), 403,
                 no_write);
  EXPECT_EQ(post(main + "/objects/delete", R"({"paths":["a","b"]})").body,
            "{\"errors\":[{\"message\":\"" + no_write + R"(","path":"a","status_code":403},)" +
                R"({"message":")" + no_write +
                R"(","path":"b","status_code":403}]})"
                "\n");
  expect_message(post(main + "/commits", R"({"message":"m"})"), 403,
                 "cannot commit to protected branch");
  expect_message(send({.method = "PUT", .path = main + "/hard_reset?ref=main"}), 403,
                 "protected branch");
  EXPECT_EQ(engine.keys(repo, "main"), "a b");
}

TEST_F(ApiTest, TagRulesAreSetWholeAndHold) {
  const std::string path = here + "/settings/tag_protection";
  const auto put = [&](const std::string& body) {
    return send({.method = "PUT", .path = path, .body = body}).status;
  };
  EXPECT_EQ(get(path).body, "[]\n");
  EXPECT_EQ(put(R"([{"pattern":"v*","delete":false}])"), 204);
  EXPECT_EQ(get(path).body, R"([{"create":true,"delete":false,"pattern":"v*"}])"
                            "\n");
  EXPECT_EQ(post(here + "/tags", R"({"id":"v1","ref":"main"})").status, 201);
  const http::Response refused = send({.method = "DELETE", .path = here + "/tags/v1"});
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.headers.get("X-Tarn-Error"), "protected_tag");
  EXPECT_EQ(put("[]"), 204);
  EXPECT_EQ(send({.method = "DELETE", .path = here + "/tags/v1"}).status, 204);
}

TEST_F(ApiTest, MergesPullRequestsAndSaysWhatIsMissing) {
  const auto create = [&](const std::string& source, const std::string& destination) {
    return post(here + "/pulls", R"({"title":"t","source_branch":")" + source +
                                     R"(","destination_branch":")" + destination + "\"}");
  };
  engine.branch(repo, "dev", "main");
  expect_message(create("dev", "dev"), 400,
                 "source and destination branches are the same: same branch validation error");
  expect_message(create("dev", "absent"), 404, "branch not found");
  EXPECT_EQ(create("dev", "a b").status, 400);
  const http::Response made = create("dev", "main");
  EXPECT_EQ(made.status, 201);
  const std::string pull = here + "/pulls/" + made.body.substr(made.body.find(':') + 2, 20);
  EXPECT_NE(get(pull).body.find("\"author\":\"admin\""), std::string::npos) << get(pull).body;
  EXPECT_EQ(get(here + "/pulls/zz").status, 400);
  expect_message(get(here + "/pulls/00000000000000000000"), 404, "pull request not found");
  EXPECT_EQ(get(here + "/pulls?status=some").status, 400);

  const auto merge = [&] { return send({.method = "PUT", .path = pull + "/merge"}); };
  expect_message(merge(), 400, "update branch main: no changes");
  engine.put(repo, "dev", "a", "1");
  engine.commit(repo, "dev");
  EXPECT_EQ(send({.method = "PUT",
                  .path = here + "/settings/branch_protection",
                  .body = R"([{"pattern":"main","approvals":1}])"})
                .status,
            204);
  const auto merge_directly = [&] {
    return send({.method = "POST", .path = here + "/refs/dev/merge/main"});
  };
  EXPECT_EQ(merge().status, 403);
  EXPECT_EQ(merge().headers.get("X-Tarn-Error"), "approval_required");
  EXPECT_EQ(merge_directly().headers.get("X-Tarn-Error"), "approval_required");
  EXPECT_EQ(send({.method = "POST", .path = pull + "/approvals"}).headers.get("X-Tarn-Error"),
            "own_pull_request");
  expect_message(send({.method = "DELETE", .path = pull + "/approvals"}), 404,
                 "approval not found");
  EXPECT_EQ(get(pull + "/approvals").status, 200);
  EXPECT_EQ(send({.method = "PATCH", .path = pull, .body = R"({"status":"closed"})"}).status, 204);
  EXPECT_EQ(merge().headers.get("X-Tarn-Error"), "pull_request_not_open");
}

TEST_F(ApiTest, KeepsCollectionRulesUnderBothPaths) {
  const std::string rules =
      R"({"branches":[{"branch_id":"main","retention_days":9}],"default_retention_days":7})";
  const std::string paths[] = {here + "/settings/gc_rules", here + "/gc/rules"};
  EXPECT_EQ(get(here + "/gc/rules/set_allowed").status, 204);
  for (const std::string& path : paths) {
    expect_message(get(path), 404, "not found");
    const bool legacy = path == paths[1];
    EXPECT_EQ(send({.method = legacy ? "POST" : "PUT", .path = path, .body = rules}).status, 204);
    for (const std::string& other : paths) EXPECT_EQ(get(other).body, rules + "\n");
    EXPECT_EQ(send({.method = "DELETE", .path = path}).status, 204);
  }
}

TEST_F(ApiTest, ShowsWhenABranchExpires) {
  const auto create = [&](const std::string& name, const std::string& expires) {
    return post(here + "/branches",
                R"({"name":")" + name + R"(","source":"main","expires":")" + expires + "\"}");
  };
  EXPECT_EQ(create("dev", "72h").status, 201);
  EXPECT_EQ(create("fixed", "2030-01-02T03:04:05Z").status, 201);
  expect_message(create("old", "2020-01-02T03:04:05Z"), 400,
                 "expires: 2020-01-02T03:04:05.000Z is not in the future");
  EXPECT_EQ(create("bad", "soon").status, 400);
  const std::string shown = "\"expires\":\"2030-01-02T03:04:05.000Z\"";
  EXPECT_NE(get(here + "/branches/fixed").body.find(shown), std::string::npos);
  EXPECT_NE(get(here + "/branches/dev").body.find("\"expires\":\"20"), std::string::npos);
  EXPECT_EQ(get(here + "/branches/main").body.find("expires"), std::string::npos);
  const std::string listed = get(here + "/branches").body;
  EXPECT_NE(listed.find(shown), std::string::npos);
  EXPECT_EQ(listed.find("\"old\""), std::string::npos);
}

TEST_F(ApiTest, ProtectsTheSampleDataAlsoInAReadOnlyRepository) {
  for (const std::string read_only : {"false", "true"}) {
    const std::string name = fresh_name();
    EXPECT_EQ(
        post("/repositories", R"({"name":")" + name + R"(","storage_namespace":"local://)" + name +
                                  R"(","sample_data":true,"read_only":)" + read_only + "}")
            .status,
        201);
    EXPECT_EQ(get("/repositories/" + name + "/settings/branch_protection").body,
              "[{\"pattern\":\"main\"}]\n");
  }
}

TEST_F(ApiTest, ChangesNothingInAReadOnlyRepositoryUnlessForced) {
  const std::string frozen = "/repositories/" + fresh_name();
  EXPECT_EQ(post("/repositories", R"({"name":")" + frozen.substr(14) +
                                      R"(","storage_namespace":"local://)" + frozen.substr(14) +
                                      R"(","read_only":true})")
                .status,
            201);
  EXPECT_NE(get(frozen).body.find("\"read_only\":true"), std::string::npos);
  const std::string main = frozen + "/branches/main";
  struct Mutation {
    std::string method;
    std::string path;
    std::string body{};  ///< with force where it is a member
    enum class Force { kNone, kMember, kParameter } force = Force::kNone;
  };
  using enum Mutation::Force;
  const std::string rules = R"([{"pattern":"x"}])";
  const Mutation mutations[] = {
      {"POST", frozen + "/metadata", R"({"metadata":{"a":"b"}})"},
      {"DELETE", frozen + "/metadata", R"({"keys":["a"]})"},
      {"PUT", frozen + "/settings/branch_protection", rules},
      {"PUT", frozen + "/settings/tag_protection", rules},
      {"PUT", frozen + "/settings/gc_rules", R"({"default_retention_days":7,"branches":[]})"},
      {"DELETE", frozen + "/settings/gc_rules"},
      {"POST", frozen + "/branch_protection", R"({"pattern":"x"})"},
      {"DELETE", frozen + "/branch_protection", R"({"pattern":"x"})"},
      {"POST", frozen + "/gc/rules", R"({"default_retention_days":7,"branches":[]})"},
      {"DELETE", frozen + "/gc/rules"},
      {"PUT", main + "/objects/stat/user_metadata?path=a", R"({"set":{}})"},
      {"POST", frozen + "/branches", R"({"name":"dev","source":"main"})", kMember},
      {"POST", frozen + "/tags", R"({"id":"v1","ref":"main"})", kMember},
      {"DELETE", frozen + "/tags/v1", "", kParameter},
      {"POST", main + "/objects?path=a", "", kParameter},
      {"POST", main + "/objects/copy?dest_path=b", R"({"src_path":"a"})", kMember},
      {"DELETE", main + "/objects?path=b", "", kParameter},
      {"PUT", main, R"({"type":"object","path":"b"})", kMember},
      {"POST", main + "/commits", R"({"message":"m"})", kMember},
      {"POST", main + "/revert", R"({"ref":"main","parent_number":1})", kMember},
      {"POST", main + "/cherry-pick", R"({"ref":"main~1"})", kMember},
      {"POST", frozen + "/refs/main/merge/dev", "{}", kMember},
      {"PUT", frozen + "/branches/dev/hard_reset?ref=main~1", "", kParameter},
      {"POST", main + "/import", R"({"paths":[],"commit":{"message":"m"}})", kMember},
      {"DELETE", frozen + "/branches/dev", "", kParameter},
      {"DELETE", frozen, "", kParameter},
  };
  for (const Mutation& mutation : mutations) {
    const auto run = [&](const std::string& path, const std::string& body) {
      return send({.method = mutation.method, .path = path, .body = body});
    };
    expect_message(run(mutation.path, mutation.body), 403, "read-only repository");
    if (mutation.force == kNone) continue;
    std::string path = mutation.path;
    std::string body = mutation.body;
    if (mutation.force == kParameter) {
      path += path.find('?') == std::string::npos ? "?force=true" : "&force=true";
    } else {
      body.insert(1, body == "{}" ? "\"force\":true" : "\"force\":true,");
    }
    const http::Response forced = run(path, body);
    EXPECT_LT(forced.status, 300) << mutation.method << " " << path << ": " << forced.body;
  }
  EXPECT_EQ(get(frozen).status, 404);
}

TEST_F(ApiTest, MakesABareRepositoryWithoutCommitAndBranch) {
  const std::string name = fresh_name();
  const std::string bare = "/repositories/" + name;
  EXPECT_EQ(post("/repositories?bare=true", R"({"name":")" + name +
                                                R"(","storage_namespace":"local://)" + name +
                                                R"(","default_branch":"trunk","sample_data":true})")
                .status,
            201);
  EXPECT_NE(get(bare).body.find("\"default_branch\":\"trunk\""), std::string::npos);
  EXPECT_NE(get(bare + "/branches").body.find("\"results\":[]"), std::string::npos);
  EXPECT_EQ(get(bare + "/branches/trunk").status, 404);
  expect_message(post(bare + "/branches", R"({"name":"trunk","source":"main"})"), 404,
                 "source reference 'main': not found");
  EXPECT_EQ(send({.method = "POST", .path = bare + "/branches/trunk/objects?path=a"}).status, 404);
  EXPECT_EQ(send({.method = "DELETE", .path = bare}).status, 204);
}

TEST_F(ApiTest, MergesAndRemovesRepositoryMetadata) {
  const std::string path = here + "/metadata";
  EXPECT_EQ(get(path).body, "{}\n");
  EXPECT_EQ(post(path, R"({"metadata":{"a":"1","b":"1"}})").status, 204);
  EXPECT_EQ(post(path, R"({"metadata":{"b":"2","c":"3"}})").status, 204);
  EXPECT_EQ(get(path).body, "{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}\n");
  const auto remove = [&](const std::string& keys) {
    return send({.method = "DELETE", .path = path, .body = R"({"keys":[)" + keys + "]}"}).status;
  };
  EXPECT_EQ(remove(R"("a","absent")"), 204);
  EXPECT_EQ(remove(""), 204);
  EXPECT_EQ(get(path).body, "{\"b\":\"2\",\"c\":\"3\"}\n");
  EXPECT_EQ(post("/repositories/absent/metadata", R"({"metadata":{"a":"1"}})").status, 404);
}

TEST_F(ApiTest, KnowsATakenNameBeforeAnUnknownStorage) {
  const std::string body = R"("storage_namespace":"local://other","storage_id":"x"})";
  EXPECT_EQ(post("/repositories", R"({"name":")" + repo.str() + "\"," + body).status, 409);
  expect_message(post("/repositories", R"({"name":"unused-name",)" + body), 400,
                 "storage id: invalid value: validation error");
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
