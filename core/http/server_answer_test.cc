// Tests of the HTTP server with answers of handlers.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/time.h"
#include "core/http/testing/raw_client.h"
#include "core/http/testing/test_server.h"

namespace tarn::http {
namespace {

using std::chrono::milliseconds;
using testing::head;
using testing::RawAnswer;
using testing::RawClient;
using testing::serve;

/// A source that gives `pieces` of `bytes`, then ends or throws.
class PiecewiseBody final : public BodySource {
 public:
  PiecewiseBody(int pieces, std::string bytes, bool throws = false)
      : left_(pieces), bytes_(std::move(bytes)), throws_(throws) {}
  size_t read(std::span<char> out) override {
    if (left_ == 0 && throws_) throw Error(ErrorCode::kUnavailable, "reading: the store is gone");
    if (left_ == 0) return 0;
    --left_;
    const size_t count = std::min(out.size(), bytes_.size());
    std::copy_n(bytes_.begin(), count, out.begin());
    return count;
  }

 private:
  int left_;
  const std::string bytes_;
  const bool throws_;
};

/// A descriptor of an unnamed file with these bytes.
int file_of(std::string_view bytes) {
  char name[] = "/tmp/tarn_http_test_XXXXXX";
  const int fd = ::mkstemp(name);
  ::unlink(name);
  EXPECT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return fd;
}

std::string letters(size_t count) {
  std::string text(count, '\0');
  for (size_t i = 0; i < count; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

/// The answer to one request, and whether the connection then serves another.
struct Outcome {
  std::optional<RawAnswer> answer;
  bool kept = false;
};

Outcome answer_of(const std::function<Response()>& make, std::string_view method = "GET",
                  std::string_view version = "HTTP/1.1") {
  const auto server = serve([&](Request& request) {
    if (request.target != "/again") return make();
    Response response;
    response.status = 299;
    return response;
  });
  RawClient client(server->port());
  client.send(str_cat(method, " / ", version, "\r\nHost: h\r\n\r\n"));
  Outcome outcome{client.read_answer(method == "HEAD"), false};
  client.send(head("GET /again"));
  const auto next = client.read_answer();
  outcome.kept = next && next->status == 299;
  return outcome;
}

TEST(Answer, CarriesStatusHeadersAndBody) {
  const Outcome outcome = answer_of([] {
    Response response;
    response.status = 409;
    response.headers.add("X-A", "1");
    response.headers.add("X-Empty", "");
    response.headers.add("X-A", "2");
    response.headers.add("Content-Length", "999");
    response.headers.add("Transfer-Encoding", "chunked");
    response.body = "{}";
    return response;
  });
  ASSERT_TRUE(outcome.answer);
  const Headers& headers = outcome.answer.value().headers;
  EXPECT_EQ(outcome.answer.value().reason, "Conflict");
  EXPECT_TRUE(parse_http_date(headers.get("Date")));
  std::vector<Headers::Field> fields = headers.all();
  std::erase_if(fields, [](const Headers::Field& f) { return f.first == "Date"; });
  EXPECT_EQ(fields, (std::vector<Headers::Field>{{"X-A", "1"},
                                                 {"X-Empty", ""},
                                                 {"X-A", "2"},
                                                 {"Server", "Tarn"},
                                                 {"Content-Length", "2"}}));
  EXPECT_EQ(outcome.answer.value().body, "{}");
  EXPECT_TRUE(outcome.kept);
}

TEST(Answer, KeepsDateAndServerOfTheHandler) {
  const Outcome outcome = answer_of([] {
    Response response;
    response.headers.add("date", "Fri, 20 Nov 2026 08:15:42 GMT");
    response.headers.add("server", "Other");
    return response;
  });
  EXPECT_EQ(outcome.answer.value().headers.count("Date"), 1u);
  EXPECT_EQ(outcome.answer.value().headers.count("Server"), 1u);
}

TEST(Answer, RefusesControlBytesInHeaders) {
  for (const std::string& value :
       {std::string("a\r\nX-Evil: 1"), std::string("a\nb"), std::string("a\rb"),
        std::string("a\0b", 3), std::string("\x7f")}) {
    const Outcome outcome = answer_of([&] {
      Response response;
      response.headers.add("X-A", value);
      response.body = "secret";
      return response;
    });
    ASSERT_TRUE(outcome.answer);
    EXPECT_EQ(outcome.answer.value().status, 500);
    EXPECT_EQ(outcome.answer.value().headers.find("X-Evil"), nullptr);
    EXPECT_EQ(outcome.answer.value().body, R"({"message":"internal error"})");
    EXPECT_TRUE(outcome.kept);
  }
  const Outcome name = answer_of([] {
    Response response;
    response.headers.add("X A:", "1");
    return response;
  });
  EXPECT_EQ(name.answer.value().status, 500);
}

TEST(Answer, HidesExceptionsOfAHandler) {
  for (const int kind : {0, 1}) {
    const Outcome outcome = answer_of([&]() -> Response {
      if (kind == 0) throw Error(ErrorCode::kNotFound, "secret");
      throw 7;
    });
    EXPECT_EQ(outcome.answer.value().status, 500);
    EXPECT_EQ(outcome.answer.value().body, R"({"message":"internal error"})");
    EXPECT_EQ(outcome.answer.value().headers.get("X-Request-Id").size(), 20u);
    EXPECT_TRUE(outcome.kept);
  }
}

TEST(Answer, ToHeadHasTheLengthButNoBody) {
  const auto length_of = [](const std::function<Response()>& make) {
    const Outcome outcome = answer_of(make, "HEAD");
    EXPECT_TRUE(outcome.kept);
    return std::string(outcome.answer.value().headers.get("Content-Length"));
  };
  EXPECT_EQ(length_of([] { return Response{}; }), "0");
  EXPECT_EQ(length_of([] {
              Response response;
              response.body = "hello";
              return response;
            }),
            "5");
  EXPECT_EQ(length_of([] {
              Response response;
              response.content_length = 123'456'789'012;
              return response;
            }),
            "123456789012");
  EXPECT_EQ(length_of([] {
              Response response;
              response.headers.add("Content-Length", "77");
              return response;
            }),
            "77");
  EXPECT_EQ(length_of([] {
              Response response;
              response.file = FileSlice(file_of("abc"), 1, 2);
              return response;
            }),
            "2");
  EXPECT_EQ(length_of([] {
              Response response;
              response.source = string_body("abcd");
              response.content_length = 4;
              return response;
            }),
            "4");
}

TEST(Answer, WithoutContentHasNeitherBodyNorLength) {
  for (const int status : {204, 304}) {
    const Outcome outcome = answer_of([&] {
      Response response;
      response.status = status;
      response.body = "must not appear";
      return response;
    });
    EXPECT_EQ(outcome.answer.value().status, status);
    EXPECT_EQ(outcome.answer.value().headers.find("Content-Length"), nullptr);
    EXPECT_TRUE(outcome.kept);
  }
  const Outcome kept_length = answer_of([] {
    Response response;
    response.status = 304;
    response.headers.add("Content-Length", "12");
    return response;
  });
  EXPECT_EQ(kept_length.answer.value().headers.get("Content-Length"), "12");
  EXPECT_TRUE(kept_length.kept);
}

TEST(Answer, StreamsASourceOfKnownLength) {
  const Outcome outcome = answer_of([] {
    Response response;
    response.source = std::make_unique<PiecewiseBody>(10, letters(70'000));
    response.content_length = 650'000;  // the source has more bytes, which are not requested
    return response;
  });
  std::string expected;
  while (expected.size() < 650'000) expected += letters(70'000);
  EXPECT_TRUE(outcome.answer.value().body == expected.substr(0, 650'000));
  EXPECT_TRUE(outcome.kept);
}

TEST(Answer, StreamsASourceOfUnknownLengthInChunks) {
  const auto make = [] {
    Response response;
    response.source = std::make_unique<PiecewiseBody>(3, "hello");
    return response;
  };
  const Outcome chunked = answer_of(make);
  EXPECT_EQ(chunked.answer.value().headers.get("Transfer-Encoding"), "chunked");
  EXPECT_EQ(chunked.answer.value().body, "hellohellohello");
  EXPECT_TRUE(chunked.kept);
  const Outcome old = answer_of(make, "GET", "HTTP/1.0");
  EXPECT_EQ(old.answer.value().headers.find("Transfer-Encoding"), nullptr);
  EXPECT_EQ(old.answer.value().body, "hellohellohello");
}

TEST(Answer, SmallPiecesAreSentAtOnce) {
  const auto server = serve([](Request&) {
    Response response;
    response.source = std::make_unique<PiecewiseBody>(3, "hello");
    return response;
  });
  RawClient client(server->port());
  auto fastest = milliseconds::max();
  for (int i = 0; i < 10; ++i) {
    const auto started = std::chrono::steady_clock::now();
    client.send(head("GET /"));
    EXPECT_EQ(client.read_answer().value().body, "hellohellohello");
    fastest = std::min(fastest, std::chrono::duration_cast<milliseconds>(
                                    std::chrono::steady_clock::now() - started));
  }
  // Waiting for acknowledgements would cost 40 ms each time; other programs may cost it once.
  EXPECT_LT(fastest, milliseconds(30));
}

TEST(Answer, IsDetectablyIncompleteWhenItsSourceFails) {
  const Outcome throws_late = answer_of([] {
    Response response;
    response.source = std::make_unique<PiecewiseBody>(2, "hello", true);
    return response;
  });
  EXPECT_EQ(throws_late.answer, std::nullopt);
  EXPECT_FALSE(throws_late.kept);
  const Outcome ends_early = answer_of([] {
    Response response;
    response.source = std::make_unique<PiecewiseBody>(2, "hello");
    response.content_length = 11;
    return response;
  });
  EXPECT_EQ(ends_early.answer, std::nullopt);
  EXPECT_FALSE(ends_early.kept);
  const Outcome throws_first = answer_of([] {
    Response response;
    response.source = std::make_unique<PiecewiseBody>(0, "", true);
    response.content_length = 11;
    return response;
  });
  EXPECT_EQ(throws_first.answer.value().status, 500);
  EXPECT_TRUE(throws_first.kept);
}

TEST(Answer, SendsPartsOfFiles) {
  const std::string bytes = letters(3'000'000);
  struct Part {
    uint64_t offset;
    uint64_t length;
  };
  for (const Part& part :
       {Part{0, 0}, Part{5, 1}, Part{100, 65'536}, Part{100, 65'537}, Part{1, 2'999'999}}) {
    const Outcome outcome = answer_of([&] {
      Response response;
      response.file = FileSlice(file_of(bytes), part.offset, part.length);
      return response;
    });
    ASSERT_TRUE(outcome.answer) << part.length;
    EXPECT_TRUE(outcome.answer.value().body == bytes.substr(part.offset, part.length))
        << part.length;
    EXPECT_TRUE(outcome.kept);
  }
}

TEST(Answer, DoesNotPadAFileThatIsTooShort) {
  const Outcome small = answer_of([] {
    Response response;
    response.file = FileSlice(file_of("abc"), 1, 3);
    return response;
  });
  EXPECT_EQ(small.answer.value().status, 500);
  const Outcome large = answer_of([] {
    Response response;
    response.file = FileSlice(file_of(letters(100'000)), 0, 100'001);
    return response;
  });
  EXPECT_EQ(large.answer, std::nullopt);
}

TEST(Answer, CanReadTheRequestBodyWhileItIsSent) {
  const auto server = serve([](Request& request) {
    Response response;
    response.content_length = request.content_length;
    response.source = std::move(request.body);
    return response;
  });
  RawClient client(server->port());
  const std::string body = letters(300'000);
  client.send(head("PUT /", "Content-Length: 300000\r\n") + body);
  EXPECT_TRUE(client.read_answer().value().body == body);
  client.send(head("PUT /", "Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_answer().value().body, "abc");
}

TEST(Answer, ClosesWhenEitherSideAsksForIt) {
  const auto server = serve([](Request&) { return Response{}; });
  RawClient client(server->port());
  client.send(head("GET /", "Connection: close\r\n"));
  EXPECT_EQ(client.read_answer().value().headers.get("Connection"), "close");
  EXPECT_TRUE(client.ends_within(milliseconds(1000)));
  const Outcome outcome = answer_of([] {
    Response response;
    response.headers.add("connection", "Close");
    return response;
  });
  EXPECT_EQ(outcome.answer.value().headers.get("Connection"), "close");
  EXPECT_EQ(outcome.answer.value().headers.count("Connection"), 1u);
  EXPECT_FALSE(outcome.kept);
}

}  // namespace
}  // namespace tarn::http
