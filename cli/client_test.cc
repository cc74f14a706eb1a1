#include "cli/client.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

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
    response.set_content(R"({"message":"database is away"})", "application/json");
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
    response.set_content(R"({"message":"not found"})", "application/json");
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

TEST(Requests, RefuseTextThatIsNotUtf8) {
  try {
    post_request("/x", Json{{"message", "caf\xe9"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "sending a request: a name or text in it is not UTF-8");
  }
}

TEST_F(ClientTest, AnAnswerThatIsNotJsonIsAFailure) {
  server_.Get("/api/v1/x", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("<html>", "text/html");
  });
  EXPECT_THROW(client().call({.path = "/x"}), Error);
}

}  // namespace
}  // namespace tarn::cli
