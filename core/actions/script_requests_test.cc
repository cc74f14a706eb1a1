// Requests of scripts against a server of the test: what arrives, and where they end.
#include "core/actions/script_requests.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/http/server.h"

namespace tarn::actions {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

class ScriptRequestsTest : public ::testing::Test {
 protected:
  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_->port()) + "/asked";
  }
  /// The reason of what was thrown; "" = nothing.
  static std::string refusal(ScriptRequests& requests, const Json& given,
                             const std::string& body = "") {
    try {
      requests.send(given, body);
    } catch (const Error& error) {
      return std::string(error.reason());
    }
    return "";
  }

  std::atomic<int> taken_ = 0;
  std::atomic<bool> slow_ = false;
  const std::unique_ptr<http::Server> server_ =
      http::Server::start("127.0.0.1", 0, {}, [this](http::Request& request) {
        ++taken_;
        http::read_all(*request.body, 1 << 20);
        if (slow_) std::this_thread::sleep_for(2s);
        http::Response response;
        response.body = std::string(100, 'x');
        return response;
      });
  const http::Outbound outbound_{{.allowed_targets = {"127.0.0.1"}}};
};

TEST_F(ScriptRequestsTest, AreSentAndAnswered) {
  ScriptRequests requests(outbound_, Clock::now() + 20s);
  const Message answer = requests.send({{"url", url()}}, "");
  const Json head = Json::parse(answer.json);
  EXPECT_EQ(head["status"], 200);
  EXPECT_EQ(head["reason"], "OK");
  EXPECT_EQ(head["headers"]["Content-Length"], "100");
  EXPECT_EQ(answer.bytes, std::string(100, 'x'));
}

TEST_F(ScriptRequestsTest, AreCounted) {
  ScriptRequests requests(outbound_, Clock::now() + 20s, {.requests_max = 2});
  EXPECT_EQ(refusal(requests, {{"url", url()}}), "");
  EXPECT_EQ(refusal(requests, {{"url", url()}}), "");
  EXPECT_EQ(refusal(requests, {{"url", url()}}), "script_requests");
  EXPECT_EQ(taken_, 2);
}

TEST_F(ScriptRequestsTest, FailedOnesAreCounted) {
  const http::Outbound closed{{}};
  ScriptRequests requests(closed, Clock::now() + 20s, {.requests_max = 1});
  EXPECT_EQ(refusal(requests, {{"url", url()}}), "target_not_allowed");
  EXPECT_EQ(refusal(requests, {{"url", url()}}), "script_requests");
  EXPECT_EQ(taken_, 0);
}

TEST_F(ScriptRequestsTest, BytesAreLimited) {
  ScriptRequests requests(outbound_, Clock::now() + 20s, {.bytes_max = 250});
  EXPECT_EQ(refusal(requests, {{"url", url()}}, std::string(50, 'b')), "");
  EXPECT_EQ(refusal(requests, {{"url", url()}}, std::string(100, 'b')), "script_requests");
  EXPECT_EQ(taken_, 1) << "the body alone is too much: nothing is sent";
  EXPECT_EQ(refusal(requests, {{"url", url()}}, std::string(10, 'b')), "script_requests");
  EXPECT_EQ(taken_, 2) << "its answer is too much";
}

TEST_F(ScriptRequestsTest, AreRefusedAnswersThatAreTooLong) {
  ScriptRequests requests(outbound_, Clock::now() + 20s, {.answer_bytes_max = 99});
  EXPECT_EQ(refusal(requests, {{"url", url()}}), "script_requests");
}

TEST_F(ScriptRequestsTest, EndWithTheScript) {
  slow_ = true;
  const auto began = Clock::now();
  ScriptRequests requests(outbound_, began + 300ms);
  EXPECT_NE(refusal(requests, {{"url", url()}}), "");
  EXPECT_LT(Clock::now() - began, 1500ms);
  std::this_thread::sleep_until(began + 301ms);
  EXPECT_EQ(refusal(requests, {{"url", url()}}), "script_requests") << "the time is over";
  EXPECT_EQ(taken_, 1);
}

TEST_F(ScriptRequestsTest, HeadersAreLimited) {
  ScriptRequests requests(outbound_, Clock::now() + 20s, {.header_bytes_max = 10});
  EXPECT_EQ(refusal(requests, {{"url", url()}, {"headers", {{"X-A", "1234567"}}}}), "");
  EXPECT_EQ(refusal(requests, {{"url", url()}, {"headers", {{"X-A", "12345678"}}}}),
            "script_requests");
  EXPECT_EQ(taken_, 1);
}

TEST_F(ScriptRequestsTest, RefuseLineBreaksInHeaders) {
  ScriptRequests requests(outbound_, Clock::now() + 20s);
  EXPECT_NE(refusal(requests, {{"url", url()}, {"headers", {{"X-A", "b\r\nX-C: d"}}}}), "");
  EXPECT_NE(refusal(requests, {{"url", url()}, {"headers", {{"X-A: b\r\nX-C", "d"}}}}), "");
  EXPECT_NE(refusal(requests, {{"url", url()}, {"method", "GET / HTTP/1.1\r\nX-C: d\r\n\r\nGET"}}),
            "");
  EXPECT_NE(refusal(requests, {{"url", 1}}), "");
  EXPECT_EQ(taken_, 0);
}

}  // namespace
}  // namespace tarn::actions
