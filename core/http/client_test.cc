#include "core/http/client.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/base/str_cat.h"
#include "core/http/socket.h"
#include "core/http/testing/pattern_body.h"
#include "core/http/testing/test_server.h"

namespace tarn::http {
namespace {

using std::chrono::milliseconds;
using testing::byte_at;
using testing::pattern_answer;
using testing::PatternBody;
using testing::serve;

constexpr size_t kBodyMax = 1 << 20;

std::string url_of(const Server& server, std::string_view target) {
  return str_cat("http://127.0.0.1:", server.port(), target);
}

/// Answers with the request as it arrived, one header a line.
Response describe(Request& request) {
  Response response;
  response.body = str_cat(request.method, " ", request.target, "\n");
  for (const auto& [name, value] : request.headers.all()) {
    if (name != "Host") response.body += str_cat(name, ": ", value, "\n");
  }
  response.body += read_all(*request.body, kBodyMax);
  response.headers.add("X-Two", "a");
  response.headers.add("X-Two", "b");
  response.headers.add("X-Empty", "");
  return response;
}

TEST(Client, SendsOnlyTheGivenHeadersAndBody) {
  const auto server = serve(describe);
  const auto client = Client::create({});
  ClientRequest request;
  request.url = url_of(*server, "/a%20b//../c%2Fd?x=+&y=%2f&z");
  request.headers.add("X-A", "1");
  request.headers.add("X-Empty", "");
  const ClientResponse answer = client->send(request, kBodyMax);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /a%20b//../c%2Fd?x=+&y=%2f&z\nX-A: 1\nX-Empty: \n");
  EXPECT_EQ(answer.headers.count("X-Two"), 2u);
  EXPECT_EQ(*answer.headers.find("X-Empty"), "");
}

TEST(Client, SendsBodiesOfEveryMethod) {
  const auto server = serve(describe);
  const auto client = Client::create({});
  for (const char* method : {"PUT", "POST", "DELETE", "PATCH"}) {
    ClientRequest request;
    request.method = method;
    request.url = url_of(*server, "/x");
    request.body = "bytes";
    EXPECT_EQ(client->send(request, kBodyMax).body,
              str_cat(method, " /x\nContent-Length: 5\nbytes"));
  }
  ClientRequest request;
  request.method = "POST";
  request.url = url_of(*server, "/x");
  EXPECT_EQ(client->send(request, kBodyMax).body, "POST /x\nContent-Length: 0\n");
  request.method = "DELETE";
  EXPECT_EQ(client->send(request, kBodyMax).body, "DELETE /x\n");
}

/// Reads to the end and returns the length, or -1 when a byte is wrong.
int64_t length_of_pattern(BodySource& body, size_t step) {
  std::vector<char> piece(step);
  int64_t total = 0;
  while (const size_t count = body.read(piece)) {
    for (size_t i = 0; i < count; ++i) {
      if (piece[i] != byte_at(static_cast<uint64_t>(total) + i)) return -1;
    }
    total += static_cast<int64_t>(count);
  }
  return total;
}

TEST(Client, UploadsFromACallback) {
  static constexpr uint64_t kBytes = 3'000'001;
  const auto server = serve([](Request& request) {
    Response response;
    const bool announced = request.content_length == kBytes && !request.headers.find("Expect");
    response.body = str_cat(announced ? length_of_pattern(*request.body, 100'000) : -2);
    return response;
  });
  const auto client = Client::create({});
  ClientRequest request;
  request.method = "PUT";
  request.url = url_of(*server, "/x");
  request.upload_bytes = kBytes;
  request.upload = [](uint64_t offset, std::span<char> out) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = byte_at(offset + i);
    return out.size();
  };
  EXPECT_EQ(client->send(request, kBodyMax).body, "3000001");
}

TEST(Client, RethrowsExceptionsOfAnUpload) {
  const auto server = serve(describe);
  const auto client = Client::create({});
  ClientRequest request;
  request.method = "PUT";
  request.url = url_of(*server, "/x");
  request.upload_bytes = 10;
  request.upload = [](uint64_t, std::span<char>) -> size_t {
    throw Error(ErrorCode::kDataLoss, "reading the file: gone");
  };
  try {
    client->send(request, kBodyMax);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "reading the file: gone");
  }
  request.upload = [](uint64_t, std::span<char>) { return size_t{0}; };
  EXPECT_THROW(client->send(request, kBodyMax), Error);
  request = {.url = url_of(*server, "/after")};
  EXPECT_EQ(client->send(request, kBodyMax).body, "GET /after\n");
}

TEST(Client, ReturnsEveryStatusAndHeadAnswers) {
  const auto server = serve([](Request& request) {
    Response response;
    response.status = request.method == "HEAD" ? 200 : 302;
    response.headers.add("Location", "/elsewhere");
    response.content_length = 12'345;
    return response;
  });
  const auto client = Client::create({});
  ClientRequest request{.url = url_of(*server, "/x")};
  EXPECT_EQ(client->send(request, 0).status, 302);
  request.method = "HEAD";
  const ClientResponse answer = client->send(request, 0);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.get("content-length"), "12345");
  EXPECT_EQ(answer.body, "");
}

TEST(Client, LimitsBodies) {
  const auto server = serve([](Request&) {
    Response response;
    response.body = std::string(1000, 'x');
    return response;
  });
  const auto client = Client::create({});
  const ClientRequest request{.url = url_of(*server, "/x")};
  EXPECT_EQ(client->send(request, 1000).body.size(), 1000u);
  try {
    client->send(request, 999);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
  }
}

TEST(Client, StreamsWithBackpressure) {
  constexpr uint64_t kBytes = 64 << 20;
  std::atomic<uint64_t> given{0};
  const auto server = serve([&](Request&) { return pattern_answer(kBytes, given); });
  const auto client = Client::create({});
  const Client::Stream stream = client->open({.url = url_of(*server, "/x")});
  EXPECT_EQ(stream.status, 200);
  EXPECT_EQ(stream.headers.get("Content-Length"), str_cat(kBytes));
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_LT(given, kBytes / 2);  // the body is not read, so the rest waits at the server
  EXPECT_EQ(length_of_pattern(*stream.body, 300'000), static_cast<int64_t>(kBytes));
  char byte = 0;
  EXPECT_EQ(stream.body->read({&byte, 1}), 0u);
}

TEST(Client, StreamsInPiecesOfAnySize) {
  std::atomic<uint64_t> given{0};
  const auto server = serve([&](Request&) {
    Response response;
    response.source = std::make_unique<PatternBody>(2'000'003, given);
    return response;  // in chunks
  });
  const auto client = Client::create({});
  for (const size_t step : {size_t{7}, size_t{16'384}, size_t{4'000'000}}) {
    const Client::Stream stream = client->open({.url = url_of(*server, "/x")});
    EXPECT_EQ(length_of_pattern(*stream.body, step), 2'000'003) << step;
  }
}

TEST(Client, StreamsErrorBodies) {
  const auto server = serve([](Request&) {
    Response response;
    response.status = 404;
    response.body = "<Error/>";
    return response;
  });
  const Client::Stream stream = Client::create({})->open({.url = url_of(*server, "/x")});
  EXPECT_EQ(stream.status, 404);
  EXPECT_EQ(read_all(*stream.body, 100), "<Error/>");  // the client itself is gone
}

TEST(Client, ReportsAStreamThatEndsEarly) {
  const auto server = serve([](Request&) {
    Response response;
    response.source = string_body("hello");
    response.content_length = 10;
    return response;
  });
  const Client::Stream stream = Client::create({})->open({.url = url_of(*server, "/x")});
  try {
    read_all(*stream.body, 100);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  }
}

TEST(Client, ReusesConnectionsButNotThoseOfAbandonedStreams) {
  const auto server = serve([](Request& request) {
    Response response;
    response.body = request.target == "/big" ? std::string(8 << 20, 'x') : "small";
    return response;
  });
  const auto connections = [] {
    const std::string text = metrics::text();
    const size_t at = text.find("\ntarn_http_connections ");
    return std::stoi(text.substr(at + 23));
  };
  const auto client = Client::create({});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client->send({.url = url_of(*server, "/x")}, kBodyMax).body, "small");
    EXPECT_EQ(read_all(*client->open({.url = url_of(*server, "/x")}).body, kBodyMax), "small");
  }
  EXPECT_EQ(connections(), 1);
  client->open({.url = url_of(*server, "/big")});
  EXPECT_EQ(client->send({.url = url_of(*server, "/x")}, kBodyMax).body, "small");
}

TEST(Client, SendsAgainWhenAKeptConnectionHasBeenClosed) {
  auto server = serve(describe);
  const uint16_t port = server->port();
  const auto client = Client::create({});
  ClientRequest request;
  request.method = "PUT";
  request.url = url_of(*server, "/x");
  request.upload_bytes = 3;
  request.upload = [](uint64_t offset, std::span<char> out) {
    return std::string_view("abc").copy(out.data(), out.size(), offset);
  };
  EXPECT_EQ(client->send(request, kBodyMax).body, "PUT /x\nContent-Length: 3\nabc");
  server->stop(milliseconds(1000));
  server = Server::start("127.0.0.1", port, {.workers = 2}, describe);
  EXPECT_EQ(client->send(request, kBodyMax).body, "PUT /x\nContent-Length: 3\nabc");
}

/// A server of one thread that answers the first request, then resets the connection in the middle
/// of the next one, then answers the rest on a new connection.
class ResettingServer {
 public:
  ResettingServer() : listener_(bind_to("127.0.0.1", 0)) {
    start_listening(listener_.fd);
    thread_ = std::thread([this] { run(); });
  }
  ~ResettingServer() {
    thread_.join();
    ::close(listener_.fd);
  }
  uint16_t port() const { return listener_.port; }

 private:
  void run() {
    {
      Socket first(accept_one());
      answer(first);
      receive_request(first);
      const linger at_once{1, 0};
      ::setsockopt(first.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    Socket second(accept_one());
    answer(second);
  }
  int accept_one() {
    pollfd ready{listener_.fd, POLLIN, 0};
    ::poll(&ready, 1, 5'000);
    return accept_from(listener_.fd).fd;
  }
  std::string receive_some(Socket& socket) {
    Patience patience(std::chrono::seconds(5), 0);
    std::string bytes(65'536, '\0');
    patience.wait_readable(socket);
    bytes.resize(socket.receive(bytes).bytes);
    return bytes;
  }
  void receive_request(Socket& socket) {
    std::string request;
    while (!request.ends_with("abc")) {
      const std::string more = receive_some(socket);
      if (more.empty()) return;
      request += more;
    }
  }
  void answer(Socket& socket) {
    receive_request(socket);
    const std::array<std::string_view, 1> pieces{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"};
    socket.send(pieces, false);
  }

  const Listener listener_;
  std::thread thread_;
};

TEST(Client, SendsAgainWhenAKeptConnectionIsReset) {
  const ResettingServer server;
  const auto client = Client::create({});
  ClientRequest request;
  request.method = "PUT";
  request.url = str_cat("http://127.0.0.1:", server.port(), "/x");
  request.upload_bytes = 3;
  request.upload = [](uint64_t offset, std::span<char> out) {
    return std::string_view("abc").copy(out.data(), out.size(), offset);
  };
  EXPECT_EQ(client->send(request, kBodyMax).body, "ok");
  EXPECT_EQ(client->send(request, kBodyMax).body, "ok");
}

/// The error of a request that must fail.
Error error_of(const ClientOptions& options, const ClientRequest& request) {
  try {
    Client::create(options)->send(request, kBodyMax);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::kInternal, "it succeeded");
}

TEST(Client, MapsFailuresAndHidesTheQuery) {
  uint16_t port = 0;
  { port = serve(describe)->port(); }
  const Error refused =
      error_of({}, {.url = str_cat("http://127.0.0.1:", port, "/x?X-Amz-Signature=secret")});
  EXPECT_EQ(refused.code(), ErrorCode::kUnavailable);
  const std::string start = str_cat("GET http://127.0.0.1:", port, "/x: ");
  EXPECT_EQ(refused.message().substr(0, start.size()), start);
  EXPECT_EQ(refused.message().find("secret"), std::string::npos);
  EXPECT_EQ(error_of({}, {.url = "ftp://127.0.0.1/x"}).code(), ErrorCode::kInvalidArgument);
  ClientRequest split{.url = start};
  split.headers.add("X-A", "1\r\nX-B: 2");
  EXPECT_EQ(error_of({}, split).code(), ErrorCode::kInvalidArgument);
}

TEST(Client, EndsAtItsDeadlineOrWithoutProgress) {
  const auto server = serve([](Request&) {
    std::this_thread::sleep_for(milliseconds(3000));
    return Response{};
  });
  const auto started = std::chrono::steady_clock::now();
  const Error late = error_of({}, {.url = url_of(*server, "/x"), .deadline = milliseconds(200)});
  EXPECT_EQ(late.code(), ErrorCode::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - started, milliseconds(2500));
  const Error stalled =
      error_of({.stall_timeout = milliseconds(900)}, {.url = url_of(*server, "/x")});
  EXPECT_EQ(stalled.code(), ErrorCode::kUnavailable);
}

TEST(Client, ServesManyThreads) {
  const auto server = serve(describe);
  const auto client = Client::create({.connections_max = 3});
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string target = str_cat("/", t, "/", i);
        if (client->send({.url = url_of(*server, target)}, kBodyMax).body ==
            str_cat("GET ", target, "\n")) {
          ++right;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 400);
}

}  // namespace
}  // namespace tarn::http
