#include "core/http/parser.h"

#include <array>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::http {
namespace {

constexpr size_t kTargetMax = 64;
constexpr std::string_view kChunkedHead =
    "PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

/// The status of the refusal, 0 for an accepted head.
int refusal_of(std::string_view head) {
  Parser parser;
  const auto parsed = parser.start(head, kTargetMax);
  const auto* refusal = std::get_if<HeadRefusal>(&parsed);
  return refusal == nullptr ? 0 : refusal->status;
}

RequestHead parse(std::string_view head) {
  Parser parser;
  return std::get<RequestHead>(parser.start(head, kTargetMax));
}

TEST(ParseHead, KeepsTargetAndHeadersAsTheyAre) {
  const RequestHead head = parse(
      "PROPFIND /a%2Fb//../c+d?x=%2f#f HTTP/1.1\r\nHost: h:80\r\nx-Amz-Meta: a%20b,  "
      "c\r\nEmpty:\r\n"
      "Empty:  \t\r\nx-amz-meta: \t second \t\r\nRaw: \xc3\xa9\r\n\r\n");
  const Request& request = head.request;
  EXPECT_EQ(request.method, "PROPFIND");
  EXPECT_EQ(request.target, "/a%2Fb//../c+d?x=%2f#f");
  EXPECT_EQ(request.headers.all(), (std::vector<Headers::Field>{{"Host", "h:80"},
                                                                {"x-Amz-Meta", "a%20b,  c"},
                                                                {"Empty", ""},
                                                                {"Empty", ""},
                                                                {"x-amz-meta", "second"},
                                                                {"Raw", "\xc3\xa9"}}));
  EXPECT_EQ(request.content_length, std::nullopt);
  EXPECT_FALSE(request.chunked);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.http_1_0);
}

TEST(ParseHead, ReadsFramingAndConnection) {
  EXPECT_EQ(parse("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n").request.content_length,
            12u);
  EXPECT_EQ(parse("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n").request.content_length,
            0u);
  EXPECT_TRUE(
      parse("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n").request.chunked);
  EXPECT_FALSE(parse("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n").keep_alive);
  EXPECT_FALSE(parse("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  EXPECT_TRUE(parse("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\n\r\n").expects_continue);
  EXPECT_FALSE(parse("PUT / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").expects_continue);
}

TEST(ParseHead, StripsTheAuthorityOfItsOwnHost) {
  const auto target_of = [](std::string_view target) {
    return parse(str_cat("GET ", target, " HTTP/1.1\r\nHost: a.b:80\r\n\r\n")).request.target;
  };
  EXPECT_EQ(target_of("http://a.b:80/x//y?z"), "/x//y?z");
  EXPECT_EQ(target_of("HTTPS://A.B:80?z=http://q/"), "/?z=http://q/");
  EXPECT_EQ(target_of("http://a.b:80"), "/");
  EXPECT_EQ(parse("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").request.target, "*");
}

struct Refused {
  const char* name;
  std::string_view request_line;
  std::string_view headers;
  int status;
};

constexpr Refused kRefused[] = {
    {"no Host", "GET / HTTP/1.1", "A: b\r\n", 400},
    {"two Hosts", "GET / HTTP/1.1", "Host: h\r\nHost: h\r\n", 400},
    {"Host with a blank", "GET / HTTP/1.1", "Host: a b\r\n", 400},
    {"Host with a path", "GET / HTTP/1.1", "Host: a/b\r\n", 400},
    {"length and chunked", "PUT / HTTP/1.1",
     "Host: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
    {"chunked and length", "PUT / HTTP/1.1",
     "Host: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
    {"gzip and length", "PUT / HTTP/1.1",
     "Host: h\r\nTransfer-Encoding: gzip\r\nContent-Length: 5\r\n", 400},
    {"two lengths", "PUT / HTTP/1.1", "Host: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n", 400},
    {"the same length twice", "PUT / HTTP/1.1",
     "Host: h\r\nContent-Length: 5\r\nContent-Length: 5\r\n", 400},
    {"list of lengths", "PUT / HTTP/1.1", "Host: h\r\nContent-Length: 5, 5\r\n", 400},
    {"negative length", "PUT / HTTP/1.1", "Host: h\r\nContent-Length: -1\r\n", 400},
    {"signed length", "PUT / HTTP/1.1", "Host: h\r\nContent-Length: +1\r\n", 400},
    {"word as length", "PUT / HTTP/1.1", "Host: h\r\nContent-Length: abc\r\n", 400},
    {"empty length", "PUT / HTTP/1.1", "Host: h\r\nContent-Length:\r\n", 400},
    {"hex length", "PUT / HTTP/1.1", "Host: h\r\nContent-Length: 0x5\r\n", 400},
    {"length above 63 bits", "PUT / HTTP/1.1", "Host: h\r\nContent-Length: 9223372036854775808\r\n",
     400},
    {"length above 64 bits", "PUT / HTTP/1.1",
     "Host: h\r\nContent-Length: 18446744073709551616\r\n", 400},
    {"blank before the colon", "PUT / HTTP/1.1", "Host: h\r\nContent-Length : 5\r\n", 400},
    {"gzip, chunked", "PUT / HTTP/1.1", "Host: h\r\nTransfer-Encoding: gzip, chunked\r\n", 501},
    {"chunked, identity", "PUT / HTTP/1.1", "Host: h\r\nTransfer-Encoding: chunked, identity\r\n",
     501},
    {"chunked twice", "PUT / HTTP/1.1",
     "Host: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
    {"gzip then chunked", "PUT / HTTP/1.1",
     "Host: h\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", 400},
    {"identity", "PUT / HTTP/1.1", "Host: h\r\nTransfer-Encoding: identity\r\n", 501},
    {"chunked in 1.0", "PUT / HTTP/1.0", "Host: h\r\nTransfer-Encoding: chunked\r\n", 400},
    {"quote in target", "GET /\"a HTTP/1.1", "Host: h\r\n", 400},
    {"angle in target", "GET /<a HTTP/1.1", "Host: h\r\n", 400},
    {"angle in query", "GET /?a> HTTP/1.1", "Host: h\r\n", 400},
    {"backslash in target", "GET /a\\b HTTP/1.1", "Host: h\r\n", 400},
    {"raw UTF-8 in target", "GET /\xc3\xa9 HTTP/1.1", "Host: h\r\n", 400},
    {"control byte in target", "GET /a\x01 HTTP/1.1", "Host: h\r\n", 400},
    {"tab in target", "GET /a\tb HTTP/1.1", "Host: h\r\n", 400},
    {"DEL in target", "GET /a\x7f HTTP/1.1", "Host: h\r\n", 400},
    {"blank in target", "GET /a b HTTP/1.1", "Host: h\r\n", 400},
    {"relative target", "GET a HTTP/1.1", "Host: h\r\n", 400},
    {"star for GET", "GET * HTTP/1.1", "Host: h\r\n", 400},
    {"no target", "GET  HTTP/1.1", "Host: h\r\n", 400},
    {"absolute target of another host", "GET http://other/a HTTP/1.1", "Host: h\r\n", 400},
    {"absolute target of another scheme", "GET ftp://h/a HTTP/1.1", "Host: h\r\n", 400},
    {"user in absolute target", "GET http://u@h/a HTTP/1.1", "Host: h\r\n", 400},
    {"CONNECT", "CONNECT h:443 HTTP/1.1", "Host: h\r\n", 405},
    {"TRACE", "TRACE / HTTP/1.1", "Host: h\r\n", 405},
    {"HTTP/2", "GET / HTTP/2.0", "Host: h\r\n", 505},
    {"HTTP/0.9", "GET /", "Host: h\r\n", 400},
    {"no method", " / HTTP/1.1", "Host: h\r\n", 400},
    {"bad method", "GE(T / HTTP/1.1", "Host: h\r\n", 400},
    {"bad field name", "GET / HTTP/1.1", "Host: h\r\nA b: c\r\n", 400},
    {"field without colon", "GET / HTTP/1.1", "Host: h\r\nabc\r\n", 400},
    {"empty field name", "GET / HTTP/1.1", "Host: h\r\n: c\r\n", 400},
    {"bare CR in value", "GET / HTTP/1.1", "Host: h\r\nA: b\rc\r\n", 400},
    {"control byte in value", "GET / HTTP/1.1", "Host: h\r\nA: b\x01\r\n", 400},
};

TEST(ParseHead, RefusesAmbiguousHeads) {
  for (const Refused& c : kRefused) {
    EXPECT_EQ(refusal_of(str_cat(c.request_line, "\r\n", c.headers, "\r\n")), c.status) << c.name;
  }
  constexpr char kNul[] = "GET / HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n";
  EXPECT_EQ(refusal_of({kNul, sizeof kNul - 1}), 400);
}

TEST(ParseHead, LimitsTheTarget) {
  const auto head_of = [](size_t bytes) {
    return str_cat("GET /", std::string(bytes - 1, 'x'), " HTTP/1.1\r\nHost: h\r\n\r\n");
  };
  EXPECT_EQ(refusal_of(head_of(kTargetMax)), 0);
  EXPECT_EQ(refusal_of(head_of(kTargetMax + 1)), 414);
}

struct Decoding {
  std::string body;
  size_t consumed = 0;
  bool finished = false;
};

/// Decodes as the server does: input arrives `step` bytes at a time, output is taken `room` bytes
/// at a time.
Decoding decode(const std::string& wire, size_t step, size_t room) {
  Parser parser;
  parser.start(kChunkedHead, kTargetMax);
  Decoding all;
  size_t arrived = 0;
  std::string out(room, '\0');
  while (!all.finished) {
    const auto done = parser.decode_chunks(
        std::string_view(wire).substr(all.consumed, arrived - all.consumed), out);
    all.consumed += done.consumed;
    all.body.append(out, 0, done.produced);
    all.finished = done.finished;
    if (done.consumed + done.produced > 0) continue;
    if (arrived == wire.size()) break;
    arrived = std::min(wire.size(), arrived + step);
  }
  return all;
}

TEST(DecodeChunks, GivesTheSameHoweverTheBytesArrive) {
  struct Case {
    std::string wire;
    std::string body;
  };
  const Case cases[] = {
      {"0\r\n\r\n", ""},
      {"5;ext=\"q;\";b\r\nhello\r\n6\r\n world\r\n0\r\nx-t: v\r\nx-u: w\r\n\r\n", "hello world"},
      {"1\r\na\r\n1\r\nb\r\n1\r\nc\r\n000\r\n\r\n", "abc"},
      {"A\r\n0123456789\r\n0;x\r\n\r\n", "0123456789"},
  };
  for (const Case& c : cases) {
    for (size_t step = 1; step <= c.wire.size() + 1; ++step) {
      for (const size_t room : {size_t{1}, size_t{3}, size_t{100}}) {
        const Decoding all = decode(c.wire + "GET /next", step, room);
        EXPECT_EQ(all.body, c.body) << step << " " << room;
        EXPECT_EQ(all.consumed, c.wire.size()) << step << " " << room;
        EXPECT_TRUE(all.finished) << step << " " << room;
      }
    }
  }
}

TEST(DecodeChunks, RefusesBadFraming) {
  for (const char* wire :
       {"-5\r\nhello\r\n0\r\n\r\n", "\r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
        "FFFFFFFFFFFFFFFFF\r\nhello", "FFFFFFFFFFFFFFFF\r\nhello", "80000000001\r\nhello",
        " 5\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n\r\n",
        "5\r\nhelloX\r\n0\r\n\r\n", "5\r\nhelloXX0\r\n\r\n", "g\r\nhello\r\n0\r\n\r\n",
        "5;a=\"\x01\"\r\nhello\r\n0\r\n\r\n", "0\r\nbad trailer\r\n\r\n",
        "0\r\nContent-Length: 5\r\n\r\n", "0\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    for (const size_t step : {size_t{1}, size_t{1000}}) {
      EXPECT_THROW(decode(wire, step, 100), Error) << wire << " by " << step;
    }
  }
}

TEST(DecodeChunks, DropsTrailers) {
  Parser parser;
  auto parsed = parser.start(kChunkedHead, kTargetMax);
  std::array<char, 16> out;
  parser.decode_chunks("0\r\nHost: evil\r\nAuthorization: x\r\n\r\n", out);
  EXPECT_EQ(std::get<RequestHead>(parsed).request.headers.all().size(), 2u);
}

/// Valid messages with bytes changed, inserted and removed: whatever the outcome, it is an outcome.
TEST(Parser, SurvivesDamagedInput) {
  std::mt19937 random(7);
  const std::string heads[] = {
      "GET http://h/a%2F?b HTTP/1.1\r\nHost: h\r\nConnection: close, x\r\nExpect: "
      "100-continue\r\n\r\n",
      std::string(kChunkedHead), "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n"};
  const std::string wire = "5;a=\"b\"\r\nhello\r\n6\r\n world\r\n0\r\nx: y\r\n z\r\n\r\n";
  constexpr char kDamage[] = "\r\n \t:;\"\\0123456789abcdefF,=\0\x7f\xff";
  const std::string_view kBytes(kDamage, sizeof kDamage - 1);
  const auto damage = [&](std::string text) {
    for (unsigned i = random() % 4; i > 0 && !text.empty(); --i) {
      const size_t at = random() % text.size();
      const char byte = kBytes[random() % kBytes.size()];
      switch (random() % 3) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text.erase(at, 1 + random() % 3);
      }
    }
    return text;
  };
  for (int round = 0; round < 20'000; ++round) {
    Parser parser;
    parser.start(damage(heads[static_cast<size_t>(round) % 3]), kTargetMax);
    try {
      decode(damage(wire), 1 + random() % 40, 1 + random() % 8);
    } catch (const Error&) {
      continue;
    }
  }
}

TEST(PartialHead, ReadsCompleteLines) {
  const Request request = read_partial_head(
      "\r\nPUT /b/k?a=b HTTP/1.1\r\nHost: s3.test\r\nAuthorization: \tAWS x \r\nX-Cut: not whol");
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.target, "/b/k?a=b");
  EXPECT_EQ(request.headers.get("host"), "s3.test");
  EXPECT_EQ(request.headers.get("authorization"), "AWS x");
  EXPECT_EQ(request.headers.all().size(), 2u);
  EXPECT_NE(request.body, nullptr);
}

TEST(PartialHead, TakesAnyBytes) {
  EXPECT_EQ(read_partial_head("").target, "");
  EXPECT_EQ(read_partial_head("\r\n\r\n").method, "");
  EXPECT_EQ(read_partial_head("GET").method, "GET");
  EXPECT_EQ(read_partial_head("GET /cut").target, "/cut");
  const Request odd = read_partial_head("GET / HTTP/1.1\r\nno colon\r\n: v\r\n\r\nbody: x\r\n");
  EXPECT_EQ(odd.headers.all().size(), 2u);
  EXPECT_EQ(odd.headers.get("body"), "");
}

}  // namespace
}  // namespace tarn::http
