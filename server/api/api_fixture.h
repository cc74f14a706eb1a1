// Fixture for tests of the API: the context of an Api, and a client that sends requests to it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "core/auth/authenticator.h"
#include "core/auth/directory.h"
#include "core/base/encoding.h"
#include "core/http/message.h"
#include "core/jobs/operation_runner.h"
#include "server/api/api.h"
#include "tests/support/repository_test.h"

namespace tarn::api {

inline std::string basic(std::string_view id, std::string_view secret) {
  return "Basic " + to_base64(std::string(id) + ":" + std::string(secret));
}

/// The parts of an Api in tests, over an engine and a clock that must outlive it.
struct TestService {
  explicit TestService(testing::TestEngine& with) : TestService(with, with.clock) {}
  TestService(testing::TestEngine& with, const Clock& time, auth::Uptime age = uptime)
      : engine(with),
        clock(time),
        authenticator(engine.pool, clock, std::string(32, 'k'), std::move(age)) {}

  testing::TestEngine& engine;
  const Clock& clock;
  auth::Authenticator authenticator;
  auth::Directory directory{engine.pool, std::string(32, 'k')};
  jobs::OperationRunner operations{engine.pool, clock};
  http::Outbound outbound{{.allowed_targets = {"10.1.2.3"}}};
  const Context context{.engine = *engine,
                        .authenticator = authenticator,
                        .directory = directory,
                        .clock = clock,
                        .operations = operations,
                        .outbound = outbound,
                        .installation = {.version = "1"},
                        .webhook_key = std::string(32, 'w')};
};

/// A request of a test; signed in unless stated otherwise.
struct Sent {
  std::string method = "GET";
  std::string path{};  ///< below /api/v1
  std::string body{};
  std::string content_type{};
  http::Headers headers{};
  bool signed_in = true;
};

inline void expect_message(const http::Response& response, int status, std::string_view message) {
  EXPECT_EQ(response.status, status);
  EXPECT_NE(response.body.find("{\"message\":\"" + std::string(message) + "\""), std::string::npos)
      << response.body;
}

inline void expect_reason(const http::Response& response, int status, std::string_view reason) {
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_EQ(response.headers.get("X-Tarn-Error"), reason) << response.body;
}

/// Requests of an administrator.
class ApiTest : public testing::RepositoryTest {
 protected:
  static constexpr std::string_view kKeyId = "AKIATESTTESTTESTTESQ";
  static constexpr std::string_view kSecret = "a-secret-of-the-tests";

  ApiTest() { service.directory.ensure_admin("admin", kKeyId, kSecret, engine.clock.now()); }

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

  TestService service{engine};
  Api api{service.context};
  std::string here = "/repositories/" + repo.str();
};

}  // namespace tarn::api
