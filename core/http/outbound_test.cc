#include "core/http/outbound.h"

#include <atomic>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/http/testing/test_server.h"

namespace tarn::http {
namespace {

using std::chrono::milliseconds;
using testing::serve;

const std::vector<std::string> kLoopback = {"127.0.0.1"};

std::string url_of(const Server& server, std::string_view target = "/x",
                   std::string_view host = "127.0.0.1") {
  return str_cat("http://", host, ":", server.port(), target);
}

/// The error of a request that must fail.
Error error_of(const Outbound& outbound, const OutboundRequest& request) {
  try {
    outbound.send(request);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::kInternal, "it succeeded");
}

TEST(Outbound, SendsOneRequest) {
  const auto server = serve([](Request& request) {
    Response response;
    response.status = 503;
    response.body = str_cat(request.method, " ", request.target, " ", request.headers.get("X-A"),
                            " ", read_all(*request.body, 1000));
    response.headers.add("Retry-After", "7");
    return response;
  });
  const Outbound outbound({.allowed_targets = kLoopback});
  OutboundRequest request{.url = url_of(*server, "/a?b=c"), .body = "bytes"};
  request.headers.add("X-A", "1");
  const OutboundAnswer answer = outbound.send(request);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "POST /a?b=c 1 bytes");
  EXPECT_FALSE(answer.cut);
  EXPECT_EQ(answer.headers.get("retry-after"), "7");
}

TEST(Outbound, RefusesPrivateAddressesInEveryNotation) {
  std::atomic<int> requests{0};
  const auto server = serve([&](Request&) {
    ++requests;
    return Response{};
  });
  const Outbound outbound({});
  for (const char* host :
       {"127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0.0.0.0", "0",
        "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "LOCALHOST"}) {
    const std::string url = url_of(*server, "/x", host);
    const Error error = error_of(outbound, {.url = url});
    EXPECT_EQ(error.reason(), "target_not_allowed") << host << ": " << error.message();
    EXPECT_NE(error.message().find("hooks.allowed_targets"), std::string::npos);
    EXPECT_THROW(outbound.check(url), Error) << host;
  }
  EXPECT_EQ(requests, 0);
}

TEST(Outbound, ChecksTheResolvedAddress) {
  std::atomic<int> requests{0};
  const auto server = serve([&](Request& request) {
    ++requests;
    Response response;
    response.body = request.headers.get("Host");
    return response;
  });
  const std::string port = std::to_string(server->port());
  const std::string url = url_of(*server, "/x", "public.example");
  // Of several addresses one that is refused refuses all, whatever their order.
  for (const std::string addresses : {"127.0.0.1", "192.0.2.1,127.0.0.1", "127.0.0.1,8.8.8.8"}) {
    const std::vector<std::string> names = {"public.example:" + port + ":" + addresses};
    const Outbound outbound({.known_names = names});
    const Error error = error_of(outbound, {.url = url, .timeout = milliseconds(2'000)});
    EXPECT_EQ(error.reason(), "target_not_allowed");
    EXPECT_EQ(error.message().find("127.0.0.1"), std::string::npos) << "names what it resolved";
    EXPECT_THROW(outbound.check(url), Error);
  }
  EXPECT_EQ(requests, 0);
  const Outbound permitted({.allowed_targets = {"public.example:" + port},
                            .known_names = {"public.example:" + port + ":127.0.0.1"}});
  permitted.check(url);
  EXPECT_EQ(requests, 0);
  EXPECT_EQ(permitted.send({.url = url}).body, "public.example:" + port);
}

TEST(Outbound, FollowsNoRedirect) {
  std::atomic<int> secrets{0};
  const auto server = serve([&](Request& request) {
    Response response;
    if (request.target == "/secret") {
      ++secrets;
      return response;
    }
    response.status = 307;
    response.headers.add("Location", str_cat("http://", request.headers.get("Host"), "/secret"));
    return response;
  });
  const Outbound outbound({.allowed_targets = kLoopback});
  const OutboundAnswer answer = outbound.send({.url = url_of(*server)});
  EXPECT_EQ(answer.status, 307);
  EXPECT_EQ(secrets, 0);
}

TEST(Outbound, UsesNoProxyOfTheEnvironment) {
  std::atomic<int> proxied{0};
  const auto proxy = serve([&](Request&) {
    ++proxied;
    return Response{};
  });
  const auto server = serve(testing::echo);
  const std::string address = str_cat("http://127.0.0.1:", proxy->port());
  for (const char* name : {"http_proxy", "ALL_PROXY"}) ::setenv(name, address.c_str(), 1);
  const Outbound outbound({.allowed_targets = kLoopback});
  EXPECT_EQ(outbound.send({.url = url_of(*server)}).body, "POST /x ");
  for (const char* name : {"http_proxy", "ALL_PROXY"}) ::unsetenv(name);
  EXPECT_EQ(proxied, 0);
}

TEST(Outbound, RefusesUnsupportedUrls) {
  const Outbound outbound({});
  for (const std::string url :
       {"", "/x", "x", "ftp://x.example/", "file:///etc/passwd", "gopher://x.example/",
        "dict://x.example/", "http://", "http://a b/", "http://u:p@x.example/",
        "http://u@x.example/", "http://x.example:99999/", "http://[fe80::1%25lo]/",
        "http://x.example/\r\nX: y", "http://x.example/\n"}) {
    const Error error = error_of(outbound, {.url = url});
    EXPECT_EQ(error.reason(), "invalid_url") << url << ": " << error.message();
    EXPECT_THROW(outbound.check(url), Error) << url;
  }
  const std::string longest = "http://x.example/" + std::string(kOutboundUrlBytesMax, 'x');
  EXPECT_EQ(error_of(outbound, {.url = longest}).reason(), "invalid_url");
  EXPECT_EQ(error_of(outbound, {.url = std::string("http://x.example/\0y", 19)}).reason(),
            "invalid_url");
}

TEST(Outbound, RefusesHeaderInjection) {
  const auto server = serve(testing::echo);
  const Outbound outbound({.allowed_targets = kLoopback});
  const std::pair<std::string, std::string> kBad[] = {{"X-A", "1\r\nX-B: 2"},
                                                      {"X-A", "1\nX-B: 2"},
                                                      {"X-A\r\nX-B", "1"},
                                                      {"X-A: 1\nX", "2"},
                                                      {"", "1"},
                                                      {"X A", "1"},
                                                      {"Host", "x"},
                                                      {"content-length", "100"},
                                                      {"Transfer-Encoding", "chunked"},
                                                      {"Connection", "close"},
                                                      {"X-A", std::string("1\0", 2)}};
  for (const auto& [name, value] : kBad) {
    OutboundRequest request{.url = url_of(*server)};
    request.headers.add(name, value);
    EXPECT_EQ(error_of(outbound, request).code(), ErrorCode::kInvalidArgument) << name;
  }
  OutboundRequest request{.method = "GET / HTTP/1.1\r\nX:", .url = url_of(*server)};
  EXPECT_EQ(error_of(outbound, request).code(), ErrorCode::kInvalidArgument);
}

/// Sends bytes without end, optionally slowly.
class EndlessBody final : public BodySource {
 public:
  EndlessBody(milliseconds each, std::atomic<uint64_t>& given) : each_(each), given_(given) {}
  size_t read(std::span<char> out) override {
    std::this_thread::sleep_for(each_);
    const size_t count = each_.count() > 0 ? 1 : out.size();
    std::fill_n(out.begin(), count, 'x');
    given_ += count;
    return count;
  }

 private:
  const milliseconds each_;
  std::atomic<uint64_t>& given_;
};

Handler endless(milliseconds each, std::atomic<uint64_t>& given) {
  return [each, &given](Request&) {
    Response response;
    response.source = std::make_unique<EndlessBody>(each, given);
    return response;
  };
}

TEST(Outbound, ReadsNoMoreThanItWasAskedTo) {
  std::atomic<uint64_t> given{0};
  const auto server = serve(endless(milliseconds(0), given));
  const Outbound outbound({.allowed_targets = kLoopback});
  const OutboundAnswer answer =
      outbound.send({.url = url_of(*server), .answer_bytes_max = 100'000});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.size(), 100'000u);
  EXPECT_TRUE(answer.cut);
  EXPECT_LT(given, 64u << 20);
}

TEST(Outbound, LimitsTheHead) {
  const auto server = serve([](Request&) {
    Response response;
    for (int i = 0; i < 8; ++i) response.headers.add("X-Long", std::string(60'000, 'x'));
    return response;
  });
  const Outbound outbound({.allowed_targets = kLoopback});
  EXPECT_EQ(error_of(outbound, {.url = url_of(*server)}).reason(), "head_too_large");
}

TEST(Outbound, GivesUpOnASlowBodyAtItsTimeout) {
  std::atomic<uint64_t> given{0};
  const auto server = serve(endless(milliseconds(50), given));
  const Outbound outbound({.allowed_targets = kLoopback});
  const auto started = std::chrono::steady_clock::now();
  const Error error = error_of(outbound, {.url = url_of(*server), .timeout = milliseconds(400)});
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.message();
  EXPECT_LT(std::chrono::steady_clock::now() - started, milliseconds(3'000));
}

TEST(Outbound, EndsWhenItsWorkIsCancelled) {
  std::atomic<uint64_t> given{0};
  const auto server = serve(endless(milliseconds(50), given));
  const Outbound outbound({.allowed_targets = kLoopback});
  std::stop_source stop;
  const CancellationScope scope(stop.get_token());
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(300));
    stop.request_stop();
  });
  const auto started = std::chrono::steady_clock::now();
  const Error error = error_of(outbound, {.url = url_of(*server)});
  canceller.join();
  EXPECT_EQ(error.reason(), "operation_cancelled") << error.message();
  EXPECT_LT(std::chrono::steady_clock::now() - started, milliseconds(3'000));
}

TEST(Outbound, ReportsAnUnreachableHost) {
  uint16_t port = 0;
  { port = serve(testing::echo)->port(); }
  const Outbound outbound({.allowed_targets = kLoopback});
  const Error refused = error_of(outbound, {.url = str_cat("http://127.0.0.1:", port, "/x?key=s")});
  EXPECT_EQ(refused.code(), ErrorCode::kUnavailable);
  EXPECT_EQ(refused.message().find("key=s"), std::string::npos);
  // A name that is not known now passes the check; who sends reports it.
  const std::string unknown = "http://no-such-host.invalid/";
  outbound.check(unknown);
  EXPECT_EQ(error_of(outbound, {.url = unknown}).code(), ErrorCode::kUnavailable);
}

TEST(Outbound, ChecksCertificates) {
  // A plain server is no TLS server: the request must not go out in clear.
  std::atomic<int> requests{0};
  const auto server = serve([&](Request&) {
    ++requests;
    return Response{};
  });
  const Outbound outbound({.allowed_targets = kLoopback});
  const Error error =
      error_of(outbound, {.url = str_cat("https://127.0.0.1:", server->port(), "/")});
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_EQ(requests, 0);
}

TEST(RetryAfter, AcceptsSecondsAndDatesAndIsBounded) {
  const Instant now = *parse_http_date("Fri, 20 Nov 2026 08:15:42 GMT");
  const auto wished = [&](std::string_view text, int status = 503) {
    OutboundAnswer answer{.status = status};
    answer.headers.add("Retry-After", std::string(text));
    const auto time = retry_after(answer, now, std::chrono::hours{6});
    return time ? time->count() : -1;
  };
  constexpr int64_t kLongest = 6 * 3'600'000;
  EXPECT_EQ(wished("120"), 120'000);
  EXPECT_EQ(wished("0", 429), 0);
  EXPECT_EQ(wished("21600"), kLongest);
  EXPECT_EQ(wished("21601"), kLongest);
  EXPECT_EQ(wished("9223372036854775807"), kLongest);
  EXPECT_EQ(wished("99999999999999999999999"), kLongest);
  EXPECT_EQ(wished("Fri, 20 Nov 2026 08:16:42 GMT"), 60'000);
  EXPECT_EQ(wished("Fri, 20 Nov 2026 08:15:00 GMT"), 0);
  EXPECT_EQ(wished("Fri, 20 Nov 2099 08:15:00 GMT"), kLongest);
  for (const char* text : {"", "soon", "-1", "1.5", "12 s"}) EXPECT_EQ(wished(text), -1) << text;
  EXPECT_EQ(wished("120", 500), -1);
  EXPECT_EQ(retry_after({.status = 503}, now, std::chrono::hours{6}), std::nullopt);
}

}  // namespace
}  // namespace tarn::http
