#include "cli/client.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/failure_advice.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

Answer answer_of(int status, const std::string& body, Pairs headers = {}) {
  return {.status = status, .headers = std::move(headers), .body = body};
}

std::string json_message(const std::string& message) { return Json{{"message", message}}.dump(); }

struct Mapping {
  int status;
  const char* message;
  const char* reason;
  int exit;
};
constexpr Mapping kMappings[] = {
    {400, "commit: no changes", "no_changes", 1},
    {401, "error authenticating request", "", 3},
    {403, "cannot write to protected branch", "protected_branch", 3},
    {404, "branch not found", "not_found", 4},
    {409, "branch already exists: not unique", "", 5},
    {409, "tag ID v1: conflict found", "already_exists", 5},
    {409, "update branch: conflict found", "conflict", 6},
    {409, "destination has moved", "destination_moved", 7},
    {410, "No data", "", 1},
    {412, "path already exists", "", 5},
    {412, "pre-commit hook aborted, run id 'x': ...", "", 13},
    {412, "Precondition failed", "", 1},
    {412, "accuracy is below 0.6", "gate_failed", 10},
    {403, "needs an approval", "approval_required", 12},
    {422, "no metric accuracy", "", 11},
    {423, "branch is locked", "branch_locked", 9},
    {413, "the body is larger than 5 MB", "body_too_large", 14},
    {429, "slow down", "", 9},
    {429, "another server's limit", "", 9},
    {429, "the user has 100 branches", "too_many_branches", 14},
    {429, "the user has 10 open uploads", "too_many_uploads", 14},
    {429, "an object has at most 5 TB", "object_too_large", 14},
    {429, "a directory is too deep", "directory_too_deep", 14},
    {429, "the names of a directory take more than 4 GiB", "directory_too_large", 14},
    {429, "the promotion has 100 reports of checks", "too_many_checks", 14},
    {429, "the script took longer than 10 s", "script_timeout", 14},
    {429, "there are 10000 quotas", "resource_exhausted", 14},
    {429, "too many wrong secrets came from this address", "too_many_failures", 3},
    {400, "the user has 10 keys", "too_many_credentials", 14},
    {400, "the repository has 20 webhooks", "too_many_webhooks", 14},
    {500, "internal error", "", 1},
    {501, "Not Implemented", "", 1},
    {502, "bad gateway", "", 9},
    {503, "database is away", "unavailable", 9},
    {503, "the user's share of the server is in use", "overloaded", 9},
    {503, "there are 100 operations", "too_many_operations", 9},
    {503, "the body came too slowly", "body_too_slow", 9},
    {503, "the store failed", "store_failed", 9},
    {503, "the store is mounted read-only", "store_read_only", 9},
    {503, "the server lost its registration", "writer_lost", 9},
    {503, "the change may or may not have been made", "in_doubt", 1},
    {504, "gateway timeout", "", 9},
    {507, "quota of repository \"lake\" is exceeded", "quota_exceeded", 14},
    {507, "the disk of the store is full", "store_full", 14},
    {507, "the disk of the database is full", "database_full", 14},
    {507, "no room, says another server", "", 14},
    {400, "a server cannot claim our own usage errors", "usage", 1},
};

TEST(ErrorFrom, MapsStatusReasonAndMessage) {
  for (const Mapping& row : kMappings) {
    const Error error = error_from(
        answer_of(row.status, json_message(row.message), {{"x-tarn-error", row.reason}}));
    EXPECT_EQ(static_cast<int>(exit_code_of(error)), row.exit) << row.status << ' ' << row.message;
    EXPECT_EQ(error.message(), std::string(row.message) == "branch already exists: not unique"
                                   ? "branch already exists"
                                   : row.message);
  }
}

/// A presigned URL is asked at the store, which answers in XML.
TEST(ErrorFrom, ReadsTheXmlOfAStore) {
  const auto failure = [](int status, const std::string& code, const std::string& message) {
    return error_from(answer_of(status, "<?xml version=\"1.0\"?>\n<Error><Code>" + code +
                                            "</Code><Message>" + message + "</Message></Error>"));
  };
  for (const char* code : {"QuotaExceeded", "XMinioStorageFull"}) {
    const Error full = failure(403, code, "bucket &quot;a&amp;b&quot; is &lt;full&gt;");
    EXPECT_EQ(exit_code_of(full), ExitCode::kLimitReached) << code;
    EXPECT_EQ(full.reason(), "quota_exceeded");
    EXPECT_EQ(full.message(), "the object store: bucket \"a&b\" is <full>");
  }
  EXPECT_EQ(exit_code_of(failure(403, "AccessDenied", "Access Denied")), ExitCode::kAuth);
  EXPECT_EQ(exit_code_of(failure(503, "SlowDown", "slow")), ExitCode::kUnavailable);
  EXPECT_EQ(exit_code_of(failure(507, "XMinioStorageFull", "full")), ExitCode::kLimitReached);
  EXPECT_EQ(error_from(answer_of(403, "<Error><Code>AccessDenied")).message(),
            "the server answered with status 403");
}

TEST(ErrorFrom, NamesWhatWasNotFound) {
  Answer answer = answer_of(404, json_message("branch not found"));
  answer.subject = subject_of("/repositories/lake/branches/a%2Fb/diff");
  EXPECT_EQ(error_from(answer).message(), "branch tarn://lake/a/b: branch not found");
  answer.body = json_message("alias @champion: alias not found");
  EXPECT_EQ(error_from(answer).message(), "alias @champion: alias not found");
  answer.body = json_message("commit 'x' not found");
  EXPECT_EQ(error_from(answer).message(), "commit 'x' not found");
}

struct Told {
  int status;
  const char* path;
  const char* message;
  const char* reason;
  const char* expected;
};
constexpr Told kTold[] = {
    {404, "/repositories/lake/policies/gate:evaluate", "get commit by ref zzz: not found",
     "ref_not_found", "ref zzz: not found; tarn branch list and tarn tag list show the refs"},
    {404, "/repositories/lake/refs/main/diff/nope", "get commit by ref nope: not found",
     "ref_not_found", "ref nope: not found; tarn branch list and tarn tag list show the refs"},
    {404, "/repositories/lake/refs/data/commits", "ref: not found", "ref_not_found",
     "ref tarn://lake/data: ref: not found; tarn branch list and tarn tag list show the refs"},
    {404, "/repositories/lake/webhooks/tell:ping", "webhook not found", "webhook_not_found",
     "webhook tarn://lake/tell: webhook not found; tarn webhook ls shows the webhooks"},
    {404, "/auth/users/nobody", "user not found", "not_found", "user nobody: user not found"},
    {404, "/auth/groups/none/members/ann", "group not found", "not_found",
     "group none: group not found"},
    {404, "/auth/policies/none", "policy not found", "policy_not_found",
     "policy none: policy not found; tarn policy ls shows the gate policies, tarn auth policies ls "
     "those of users"},
    {404, "/operations/x", "operation not found", "operation_not_found",
     "operation not found; tarn op ls shows the operations of the last day"},
    {404, "/repositories/lake/holds/9", "hold '9' not found", "hold_not_found",
     "hold '9' not found; tarn hold ls shows the holds"},
    {409, "/repositories", "error creating repository: not unique", "already_exists",
     "a repository of this name exists already; --if-not-exists takes it as it is"},
};

TEST(FailureAdvice, NamesTheThingAndTheNextCommand) {
  for (const Told& row : kTold) {
    Answer answer =
        answer_of(row.status, json_message(row.message), {{"X-Tarn-Error", row.reason}});
    answer.subject = subject_of(row.path);
    EXPECT_EQ(with_advice(error_from(answer), {}).message(), row.expected);
  }
}

TEST(FailureAdvice, SaysWhatToDoNext) {
  const Error missing(ErrorCode::kNotFound, "branch_not_found", "branch not found");
  EXPECT_EQ(with_advice(missing, {}).message(),
            "branch not found; tarn branch list shows the branches");
  EXPECT_EQ(with_advice(missing, {}).reason(), "branch_not_found");
  const Error other(ErrorCode::kInternal, "broken");
  EXPECT_EQ(with_advice(other, {}).message(), "broken");
}

TEST(FailureAdvice, SaysWhichPartOfASignInWasRefused) {
  const Settings settings{.endpoint = {"http://h", "default"},
                          .access_key = {"AKIA", "TARN_ACCESS_KEY"},
                          .secret_key = {"s", "c.yaml"}};
  const auto message = [&](std::string_view reason) {
    return with_advice(Error(ErrorCode::kUnauthenticated, reason, "error authenticating request"),
                       settings)
        .message();
  };
  EXPECT_TRUE(message("no_credentials")
                  .starts_with("signing in to http://h: there is no access key; tarn auth login"));
  EXPECT_TRUE(message("unknown_access_key")
                  .starts_with("signing in to http://h: the server does not know the access key "
                               "AKIA (from TARN_ACCESS_KEY); tarn auth login"));
  EXPECT_TRUE(message("wrong_secret_key")
                  .starts_with("signing in to http://h: the secret key (from c.yaml) is not "
                               "that of the access key AKIA; tarn auth login"));
  EXPECT_EQ(message("wrong_secret_key").find("secret key (from s"), std::string::npos);
}

TEST(FailureAdvice, ShowsWhenATokenExpiredByTheServersClock) {
  const Settings settings{.endpoint = {"http://h", "default"}, .token = {"t", "TARN_TOKEN"}};
  const Answer answer =
      answer_of(401,
                R"({"message":"error authenticating request","detail":"the token expired at T1, )"
                R"(1 h 0 min before the server's time, T2"})",
                {{"X-Tarn-Error", "expired_token"}});
  EXPECT_EQ(with_advice(error_from(answer), settings).message(),
            "signing in to http://h with the token from TARN_TOKEN: the token expired at T1, 1 h 0 "
            "min before the server's time, T2; tarn auth token makes another one, TARN_ACCESS_KEY "
            "and TARN_SECRET_KEY hold one too");
}

TEST(ErrorFrom, InternalErrorsNameTheRequest) {
  EXPECT_EQ(error_from(answer_of(500, json_message("internal error"), {{"X-Request-Id", "r7"}}))
                .message(),
            "internal error (request r7)");
}

TEST(ErrorFrom, SaysTheStatusWhenThereIsNoMessage) {
  EXPECT_EQ(error_from(answer_of(502, "<html>")).message(), "the server answered with status 502");
}

TEST(NoChanges, IsSeenByReasonOrWords) {
  EXPECT_TRUE(says_no_changes(answer_of(400, json_message("update branch main: no changes"))));
  EXPECT_TRUE(says_no_changes(answer_of(400, json_message("x"), {{"X-Tarn-Error", "no_changes"}})));
  EXPECT_FALSE(says_no_changes(answer_of(400, json_message("uncommitted changes (dirty branch)"))));
  EXPECT_FALSE(says_no_changes(answer_of(409, json_message("no changes"))));
}

TEST(ApiPath, EncodesEachSegment) {
  EXPECT_EQ(api_path({"repositories", "lake", "refs", "a/b c~1"}),
            "/repositories/lake/refs/a%2Fb%20c~1");
  EXPECT_THROW(api_path({"repositories", ""}), Error);
}

/// A scripted server.
class ClientTest : public testing::Test {
 protected:
  ~ClientTest() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Client client() {
    const int port = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
    origin_ = str_cat("http://127.0.0.1:", port);
    return client_of(origin_);
  }

  Client client_of(const std::string& endpoint) {
    return Client(
        {.endpoint = {endpoint, ""}, .access_key = {"key", ""}, .secret_key = {"secret", ""}},
        {.sleep = [this](std::chrono::milliseconds time) { pauses_.push_back(time.count()); }});
  }

  std::string origin_;
  std::vector<int64_t> pauses_;
  httplib::Server server_;
  std::jthread thread_;
};

TEST_F(ClientTest, SendsCredentialsAndEncodedQueries) {
  std::string target;
  std::string authorization;
  server_.Get(R"(/api/v1/x)", [&](const httplib::Request& request, httplib::Response& response) {
    target = request.target;
    authorization = request.get_header_value("Authorization");
    response.set_content(R"({"a":1})", "application/json");
  });
  EXPECT_EQ(client().call({.path = "/x", .query = {{"path", "a b/c+d&é"}}}), Json({{"a", 1}}));
  EXPECT_EQ(target, "/api/v1/x?path=a%20b%2Fc%2Bd%26%C3%A9");
  EXPECT_EQ(authorization, "Basic a2V5OnNlY3JldA==");
}

TEST_F(ClientTest, WalksAllPages) {
  server_.Get("/api/v1/things", [](const httplib::Request& request, httplib::Response& response) {
    const std::string after = request.get_param_value("after");
    const int page = after.empty() ? 0 : std::stoi(after);
    const Json body{
        {"results", {page * 2, page * 2 + 1}},
        {"pagination", {{"has_more", page < 2}, {"next_offset", std::to_string(page + 1)}}}};
    response.set_content(body.dump(), "application/json");
  });
  std::vector<int> seen;
  Client client = this->client();
  client.each({.path = "/things"}, [&](const Json& item) {
    seen.push_back(item.get<int>());
    return true;
  });
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  seen.clear();
  client.each({.path = "/things"}, [&](const Json& item) {
    seen.push_back(item.get<int>());
    return seen.size() < 3;
  });
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2}));
}

TEST_F(ClientTest, AsksABusyServerAgain) {
  std::atomic<int> calls = 0;
  server_.Post("/api/v1/x", [&](const httplib::Request&, httplib::Response& response) {
    response.status = ++calls < 3 ? 503 : 201;
    response.set_content("{}", "application/json");
  });
  EXPECT_EQ(client().ask({.method = Method::kPost, .path = "/x", .json = "{}"}).status, 201);
  EXPECT_EQ(calls, 3);
}

struct Repeated {
  int status;
  const char* reason;
  int gets;
  int posts;
};
/// Where nothing is known the first attempt and three more are made.
constexpr Repeated kRepeated[] = {
    {423, "branch_locked", 4, 4},     {429, "", 4, 4}, {429, "too_many_uploads", 1, 1},
    {429, "too_many_failures", 1, 1}, {502, "", 4, 1}, {503, "overloaded", 4, 4},
    {503, "in_doubt", 4, 1},          {504, "", 4, 1}, {507, "quota_exceeded", 1, 1},
    {507, "store_full", 1, 1},
};

/// Verified by mutation: with may_have_been_done() always false the rows 502, 504 and in_doubt
/// fail.
TEST_F(ClientTest, RepeatsWhatMaySucceedLaterAndWasNotDone) {
  const Repeated* row = nullptr;
  std::atomic<int> calls = 0;
  const auto refuse = [&](const httplib::Request&, httplib::Response& response) {
    ++calls;
    response.status = row->status;
    if (*row->reason != 0) response.set_header("X-Tarn-Error", row->reason);
  };
  server_.Get("/api/v1/x", refuse);
  server_.Post("/api/v1/x", refuse);
  Client client = this->client();
  for (const Repeated& each : kRepeated) {
    row = &each;
    calls = 0;
    client.ask({.path = "/x"});
    EXPECT_EQ(calls, each.gets) << each.status << ' ' << each.reason;
    calls = 0;
    client.ask({.method = Method::kPost, .path = "/x", .json = "{}"});
    EXPECT_EQ(calls, each.posts) << each.status << ' ' << each.reason;
  }
}

TEST_F(ClientTest, HonoursRetryAfterUpToALimit) {
  std::atomic<int> calls = 0;
  server_.Get("/api/v1/x", [&](const httplib::Request&, httplib::Response& response) {
    ++calls;
    response.status = 429;
    response.set_header("Retry-After", calls == 1 ? "2" : calls == 2 ? "999" : "soon");
  });
  EXPECT_EQ(client().ask({.path = "/x"}).status, 429);
  EXPECT_EQ(pauses_, (std::vector<int64_t>{2000, 5000, 1800}));
}

TEST_F(ClientTest, RetriesEndWithTheLastAnswer) {
  server_.Get("/api/v1/x", [](const httplib::Request&, httplib::Response& response) {
    response.status = 503;
    response.set_content(json_message("database is away"), "application/json");
  });
  try {
    client().call({.path = "/x"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(exit_code_of(error), ExitCode::kUnavailable);
    EXPECT_EQ(error.message(), "database is away");
  }
}

TEST_F(ClientTest, DoesNotRepeatAPostThatMayHaveBeenDone) {
  std::atomic<int> calls = 0;
  server_.Post("/api/v1/x", [&](const httplib::Request&, httplib::Response& response) {
    ++calls;
    response.status = 502;
  });
  EXPECT_EQ(client().ask({.method = Method::kPost, .path = "/x", .json = "{}"}).status, 502);
  EXPECT_EQ(calls, 1);
}

TEST_F(ClientTest, AnEndpointMustBeAUrlOfHttp) {
  for (const char* endpoint : {"ftp://h", "127.0.0.1:8000", "h", ""}) {
    try {
      client_of(endpoint);
      ADD_FAILURE() << endpoint;
    } catch (const Error& error) {
      EXPECT_EQ(exit_code_of(error), ExitCode::kUsage);
      EXPECT_NE(error.message().find("must begin with http://"), std::string::npos);
    }
  }
}

TEST_F(ClientTest, NoServerIsUnavailable) {
  try {
    client_of("http://127.0.0.1:9").ask({.path = "/x"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(exit_code_of(error), ExitCode::kUnavailable);
  }
  EXPECT_EQ(pauses_, (std::vector<int64_t>{200, 600, 1800}));
}

TEST_F(ClientTest, DownloadsToTheSinkButNotErrors) {
  const std::string body(5'000'000, 'b');
  server_.Get("/api/v1/good", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(body, "application/octet-stream");
  });
  server_.Get("/api/v1/bad", [](const httplib::Request&, httplib::Response& response) {
    response.status = 404;
    response.set_content(json_message("not found"), "application/json");
  });
  std::string got;
  const BodySink sink = [&](std::string_view piece) { got += piece; };
  Client client = this->client();
  EXPECT_EQ(client.download({.path = "/good"}, sink).status, 200);
  EXPECT_EQ(got, body);
  got.clear();
  EXPECT_EQ(client.download({.path = "/bad"}, sink).message(), "not found");
  EXPECT_EQ(got, "");
}

/// Answers with all of `body`, but breaks off the first `breaks` answers in the middle of it.
void serve_with_breaks(httplib::Server& server, const std::string& body, std::atomic<int>& breaks,
                       const std::function<std::string()>& etag) {
  server.Get("/api/v1/x", [&, etag](const httplib::Request&, httplib::Response& response) {
    response.set_header("ETag", etag());
    const bool broken = breaks-- > 0;
    response.set_content_provider(
        body.size(), "application/octet-stream",
        [&body, broken](size_t offset, size_t length, httplib::DataSink& sink) {
          if (broken && offset >= body.size() / 2) return false;
          return sink.write(body.data() + offset, std::min<size_t>(length, 100'000));
        });
  });
}

TEST_F(ClientTest, ResumesADownload) {
  std::string body(1'000'000, '.');
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
  std::atomic<int> breaks = 2;
  serve_with_breaks(server_, body, breaks, [] { return "\"e\""; });
  std::string got;
  const Answer answer =
      client().download({.path = "/x"}, [&](std::string_view piece) { got += piece; });
  EXPECT_EQ(answer.status, 206);
  EXPECT_TRUE(got == body) << got.size();
  EXPECT_EQ(pauses_.size(), 2u);
}

TEST_F(ClientTest, DoesNotJoinTwoObjectsIntoOne) {
  const std::string body(1'000'000, 'b');
  std::atomic<int> breaks = 1;
  std::atomic<int> calls = 0;
  serve_with_breaks(server_, body, breaks, [&] { return std::to_string(++calls); });
  std::string got;
  const auto download = [&](Client client) {
    client.download({.path = "/x"}, [&](std::string_view piece) { got += piece; });
  };
  EXPECT_THROW(download(client()), Error);
  EXPECT_LT(got.size(), body.size());
}

TEST_F(ClientTest, ExceptionsOfSinkAndSourcePropagate) {
  server_.Get("/api/v1/x", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("some bytes", "application/octet-stream");
  });
  server_.Post("/api/v1/x", [](const httplib::Request&, httplib::Response&) {});
  const auto fail = [] { throw Error(ErrorCode::kDataLoss, "the disk is full"); };
  Client client = this->client();
  const auto message_of = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  const auto download = [&] { client.download({.path = "/x"}, [&](std::string_view) { fail(); }); };
  EXPECT_EQ(message_of(download), "the disk is full");
  for (int64_t size : {-1, 10}) {
    const auto upload = [&] {
      client.upload({.request = {.method = Method::kPost, .path = "/x"},
                     .content_type = "text/plain",
                     .size_bytes = size,
                     .open = [&]() -> BodySource {
                       return [&]() -> std::string_view {
                         fail();
                         return {};
                       };
                     }});
    };
    EXPECT_EQ(message_of(upload), "the disk is full") << size;
  }
  EXPECT_EQ(pauses_.size(), 0u);
}

TEST_F(ClientTest, AsksPresignedUrlsWithoutKeys) {
  std::string seen;
  const auto look = [&](const httplib::Request& request, httplib::Response&) {
    seen += str_cat(request.method, ' ', request.target, ' ',
                    request.get_header_value("Authorization"), ';');
  };
  server_.Get("/bucket/key", look);
  server_.Put("/bucket/key", look);
  Client client = this->client();
  const std::string url = str_cat(origin_, "/bucket/key?X-Amz-Signature=a%2Fb");
  client.download({.url = url}, [](std::string_view) {});
  client.upload({.request = {.method = Method::kPut, .url = url},
                 .content_type = "text/plain",
                 .size_bytes = 0,
                 .open = [] { return [] { return std::string_view(); }; }});
  EXPECT_EQ(seen, "GET /bucket/key?X-Amz-Signature=a%2Fb ;PUT /bucket/key?X-Amz-Signature=a%2Fb ;");
}

TEST_F(ClientTest, TokenReplacesKeys) {
  std::string authorization;
  server_.Get("/api/v1/x", [&](const httplib::Request& request, httplib::Response&) {
    authorization = request.get_header_value("Authorization");
  });
  client();
  Client client({.endpoint = {origin_, ""}, .access_key = {"key", ""}, .token = {"t0ken", ""}});
  client.ask({.path = "/x"});
  EXPECT_EQ(authorization, "Bearer t0ken");
}

Upload upload_of(const std::string& body, bool sized) {
  return {.request = {.method = Method::kPost, .path = "/up"},
          .content_type = "text/plain",
          .size_bytes = sized ? static_cast<int64_t>(body.size()) : -1,
          .open = [&body] {
            return [&body, done = false]() mutable -> std::string_view {
              if (std::exchange(done, true)) return {};
              return body;
            };
          }};
}

TEST_F(ClientTest, UploadsBodiesOfKnownAndUnknownSize) {
  std::string got;
  std::string length;
  server_.Post("/api/v1/up", [&](const httplib::Request& request, httplib::Response& response) {
    got = request.body;
    length = request.get_header_value("Content-Length");
    response.status = 201;
  });
  const std::string body(3'000'000, 'u');
  Client client = this->client();
  EXPECT_EQ(client.upload(upload_of(body, true)).status, 201);
  EXPECT_EQ(got, body);
  EXPECT_EQ(length, "3000000");
  EXPECT_EQ(client.upload(upload_of(body, false)).status, 201);
  EXPECT_EQ(got, body);
  const std::string empty;
  EXPECT_EQ(client.upload(upload_of(empty, true)).status, 201);
  EXPECT_EQ(got, "");
}

TEST_F(ClientTest, AnAnswerThatIsNotJsonIsAFailure) {
  server_.Get("/api/v1/x", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("<html>", "text/html");
  });
  EXPECT_THROW(client().call({.path = "/x"}), Error);
}

}  // namespace
}  // namespace tarn::cli
