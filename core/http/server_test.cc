// The HTTP server as a peer on the wire sees it: requests, their bodies, and where one ends.
#include "core/http/server.h"

#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/http/testing/raw_client.h"
#include "core/http/testing/test_server.h"

namespace tarn::http {
namespace {

using std::chrono::milliseconds;
using testing::echo;
using testing::forbid;
using testing::head;
using testing::RawClient;
using testing::serve;
using testing::status_of;

/// Sends the bytes in pieces of `step` and returns the bodies of `count` answers.
std::vector<std::string> bodies_of(uint16_t port, std::string_view bytes, size_t step,
                                   size_t count) {
  RawClient client(port);
  while (!bytes.empty()) {
    client.send(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  std::vector<std::string> bodies;
  while (bodies.size() < count) {
    const auto answer = client.read_answer();
    if (!answer) break;
    bodies.push_back(answer.value().body);
  }
  return bodies;
}

using Bodies = std::vector<std::string>;

TEST(Server, AnswersPipelinedRequestsInOrder) {
  const auto server = serve(echo);
  EXPECT_EQ(bodies_of(server->port(), head("GET /1") + head("GET /2") + head("GET /3"), 1000, 3),
            (Bodies{"GET /1 ", "GET /2 ", "GET /3 "}));
  EXPECT_EQ(bodies_of(server->port(),
                      head("PUT /4", "Content-Length: 5\r\n") + "hello" + head("GET /5"), 1000, 2),
            (Bodies{"PUT /4 hello", "GET /5 "}));
}

TEST(Server, AnswersTheSameHoweverTheBytesArrive) {
  const auto server = serve(echo);
  const std::string wire = head("PUT /1", "Content-Length: 5\r\n") + "hello\r\n" +
                           head("PUT /2", "Transfer-Encoding: chunked\r\n") +
                           "3;x\r\nabc\r\n2\r\nde\r\n0\r\nt: v\r\n\r\n" + head("GET /3");
  for (const size_t step : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{50}, wire.size()}) {
    EXPECT_EQ(bodies_of(server->port(), wire, step, 3),
              (Bodies{"PUT /1 hello", "PUT /2 abcde", "GET /3 "}))
        << step;
  }
}

TEST(Server, AnswersARequestSplitAtEveryByte) {
  const auto server = serve(echo);
  RawClient client(server->port());
  const std::string wire = head("PUT /x", "Content-Length: 3\r\n") + "abc";
  for (size_t cut = 1; cut < wire.size(); ++cut) {
    client.send(wire.substr(0, cut));
    std::this_thread::sleep_for(std::chrono::microseconds(300));  // so that it is received in two
    client.send(wire.substr(cut));
    EXPECT_EQ(client.read_answer().value().body, "PUT /x abc") << cut;
  }
}

TEST(Server, ReadsBodiesOfAnyMethod) {
  const auto server = serve(echo);
  EXPECT_EQ(bodies_of(server->port(),
                      head("GET /1", "Content-Length: 2\r\n") + "ab" +
                          head("DELETE /2", "Transfer-Encoding: chunked\r\n") +
                          "2\r\ncd\r\n0\r\n\r\n" + head("POST /3") + head("WEIRD /4"),
                      1000, 4),
            (Bodies{"GET /1 ab", "DELETE /2 cd", "POST /3 ", "WEIRD /4 "}));
}

TEST(Server, KeepsTheConnectionOverASmallUnreadBody) {
  const auto server = serve(forbid);
  RawClient client(server->port());
  for (const std::string& body :
       {head("PUT /1", "Content-Length: 31\r\n") + "GET /evil HTTP/1.1\r\nHost: h\r\n\r\n",
        head("GET /2", "Content-Length: 31\r\n") + "GET /evil HTTP/1.1\r\nHost: h\r\n\r\n",
        head("PUT /3", "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n0\r\n\r\n"}) {
    client.send(body);
    const auto answer = client.read_answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer.value().status, 403);
    EXPECT_EQ(answer.value().headers.find("Connection"), nullptr);
  }
  EXPECT_TRUE(client.stays_silent(milliseconds(50)));
}

TEST(Server, ClosesOverALargeUnreadBodyAndTheAnswerIsRead) {
  const auto server = serve(forbid);
  for (const bool chunked : {false, true}) {
    RawClient client(server->port());
    client.send(
        head("PUT /1", chunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: 2000000\r\n"));
    const std::string chunk = "186A0\r\n" + std::string(100'000, 'x') + "\r\n";
    for (int i = 0; i < 19; ++i) EXPECT_TRUE(client.send(chunk));
    const auto answer = client.read_answer().value();
    EXPECT_EQ(answer.status, 403);
    EXPECT_TRUE(chunked || answer.headers.get("Connection") == "close");
    EXPECT_TRUE(client.ends_within(milliseconds(1000)));
    EXPECT_TRUE(client.send("x"));
    EXPECT_FALSE(client.was_reset());  // a reset can destroy an answer that is not yet read
  }
}

TEST(Server, RefusesAmbiguousFramingAndCloses) {
  std::atomic<int> handled{0};
  const auto server = serve([&](Request& request) {
    ++handled;
    return echo(request);
  });
  for (const char* headers :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: -1\r\n",
        "Content-Length: abc\r\n", "Content-Length : 5\r\n", "A: b\r\n folded: c\r\n"}) {
    RawClient client(server->port());
    client.send(head("PUT /x", headers) + "0\r\n\r\n" + head("GET /evil"));
    const auto answer = client.read_answer();
    ASSERT_TRUE(answer) << headers;
    EXPECT_EQ(answer.value().status, 400) << headers;
    EXPECT_EQ(answer.value().headers.get("Connection"), "close");
    EXPECT_EQ(answer.value().headers.get("X-Request-Id").size(), 20u);
    EXPECT_EQ(answer.value().body.substr(0, 12), "{\"message\":\"");
    EXPECT_EQ(client.read_answer(), std::nullopt);
  }
  EXPECT_EQ(status_of(server->port(), "GET / HTTP/1.1\nHost: h\n\n"), 400);
  EXPECT_EQ(status_of(server->port(), "GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of(server->port(), head("PUT /", "Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(handled, 0);
}

TEST(Server, ClosesAfterABodyWithBadChunks) {
  const auto server = serve([](Request& request) {
    Response response;
    try {
      read_all(*request.body, 100);
    } catch (const Error& error) {
      response.status = error.code() == ErrorCode::kInvalidArgument ? 400 : 500;
    }
    return response;
  });
  for (const char* body : {"-5\r\nhello\r\n0\r\n\r\n", "\r\nhello\r\n0\r\n\r\n",
                           "FFFFFFFFFFFFFFFFF\r\nhello", "0x5\r\nhello\r\n0\r\n\r\n"}) {
    RawClient client(server->port());
    client.send(head("PUT /x", "Transfer-Encoding: chunked\r\n") + body + head("GET /evil"));
    const auto answer = client.read_answer().value();
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(answer.headers.get("Connection"), "close") << body;
    EXPECT_EQ(client.read_answer(), std::nullopt) << body;
  }
}

TEST(Server, RefusesEndlessChunkLinesAndTrailers) {
  const auto server = serve([](Request& request) {
    Response response;
    try {
      read_all(*request.body, 100);
    } catch (const Error&) {
      response.status = 400;
    }
    return response;
  });
  for (const char* start : {"5;", "0\r\nx: "}) {
    RawClient client(server->port());
    client.send(head("PUT /x", "Transfer-Encoding: chunked\r\n") + start +
                std::string(60'000, 'x'));
    EXPECT_EQ(client.read_answer().value().status, 400) << start;
  }
}

TEST(Server, ReportsABodyThatEndsEarly) {
  std::atomic<int> cut{0};
  const auto server = serve([&](Request& request) {
    try {
      read_all(*request.body, 100);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInvalidArgument) ++cut;
    }
    return Response{};
  });
  for (const std::string& wire : {head("PUT /x", "Content-Length: 9\r\n") + "abc",
                                  head("PUT /x", "Transfer-Encoding: chunked\r\n") + "5\r\nabc"}) {
    RawClient client(server->port());
    client.send(wire);
    client.finish_sending();
    client.read_answer();
    EXPECT_TRUE(client.ends_within(milliseconds(1000)));
  }
  EXPECT_EQ(cut, 2);
}

TEST(Server, AsksToContinueOnTheFirstReadOnly) {
  const auto server = serve(echo);
  RawClient client(server->port());
  client.send(head("PUT /x", "Content-Length: 5\r\nExpect: 100-Continue\r\n"));
  EXPECT_EQ(client.read_answer().value().status, 100);
  EXPECT_TRUE(client.stays_silent(milliseconds(20)));
  client.send("hello" + head("GET /y"));
  EXPECT_EQ(client.read_answer().value().body, "PUT /x hello");
  EXPECT_EQ(client.read_answer().value().body, "GET /y ");
}

TEST(Server, RefusesWithoutAskingToContinue) {
  const auto server = serve(forbid);
  RawClient client(server->port());
  client.send(head("PUT /x", "Content-Length: 5\r\nExpect: 100-continue\r\n"));
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.value().status, 403);
  // The next bytes may be the body or a request: the server could not tell.
  EXPECT_EQ(answer.value().headers.get("Connection"), "close");
  EXPECT_TRUE(client.ends_within(milliseconds(1000)));
}

TEST(Server, ContinuesAnEmptyBodyThatWasAnnounced) {
  const auto server = serve(echo);
  RawClient client(server->port());
  client.send(head("PUT /x", "Content-Length: 0\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(client.read_answer().value().status, 100);
  EXPECT_EQ(client.read_answer().value().body, "PUT /x ");
  client.send(head("GET /y"));
  EXPECT_EQ(client.read_answer().value().body, "GET /y ");
}

TEST(Server, DoesNotAskForABodyThatHasCome) {
  const auto server = serve(echo);
  RawClient client(server->port());
  client.send(head("PUT /x", "Content-Length: 5\r\nExpect: 100-continue\r\n") + "hello");
  EXPECT_EQ(client.read_answer().value().body, "PUT /x hello");
}

TEST(Server, HandsOutLargeBodiesInLargePieces) {
  constexpr size_t kBytes = 8 << 20;
  std::atomic<size_t> pieces{0};
  std::atomic<bool> right{true};
  const auto server = serve([&](Request& request) {
    std::vector<char> piece(256 * 1024);
    size_t total = 0;
    while (const size_t count = request.body->read(piece)) {
      ++pieces;
      for (size_t i = 0; i < count; ++i) {
        if (piece[i] != static_cast<char>((total + i) % 251)) right = false;
      }
      total += count;
    }
    if (total != kBytes) right = false;
    return Response{};
  });
  std::string body(kBytes, '\0');
  for (size_t i = 0; i < kBytes; ++i) body[i] = static_cast<char>(i % 251);
  RawClient client(server->port());
  client.send(head("PUT /x", str_cat("Content-Length: ", kBytes, "\r\n")));
  client.send(body);
  EXPECT_EQ(client.read_answer().value().status, 200);
  EXPECT_TRUE(right);
  EXPECT_LE(pieces, kBytes / (64 * 1024) + 1);
}

TEST(Server, GivesRequestsPeerAndUniqueIds) {
  const auto server = serve([](Request& request) {
    Response response;
    response.body = str_cat(request.peer, " ", request.id);
    return response;
  });
  RawClient client(server->port());
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    client.send(head("GET /"));
    seen.insert(client.read_answer().value().body);
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(seen.begin()->substr(0, 10), "127.0.0.1 ");
  EXPECT_EQ(seen.begin()->size(), 30u);
}

TEST(Server, ServesOldClients) {
  const auto server = serve(echo);
  RawClient once(server->port());
  once.send("GET /a HTTP/1.0\r\n\r\n");
  const auto answer = once.read_answer();
  EXPECT_EQ(answer.value().body, "GET /a ");
  EXPECT_EQ(answer.value().headers.get("Connection"), "close");
  EXPECT_TRUE(once.ends_within(milliseconds(1000)));
  RawClient kept(server->port());
  kept.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.read_answer().value().headers.get("Connection"), "keep-alive");
  kept.send("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_EQ(kept.read_answer().value().body, "GET /b ");
}

TEST(Server, NamesTheAddressItCannotTake) {
  const auto server = serve(echo);
  try {
    Server::start("127.0.0.1", server->port(), {}, echo);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_EQ(error.message(),
              str_cat("listening on 127.0.0.1 port ", server->port(), ": Address already in use"));
  }
}

}  // namespace
}  // namespace tarn::http
