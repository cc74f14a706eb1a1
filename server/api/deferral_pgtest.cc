// Tests of deferral: the requests that may continue in the background, and the limit of waiting
// clients.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/pause.h"
#include "core/jobs/operations.h"
#include "server/api/api_fixture.h"

namespace tarn::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

class Deferral : public ApiTest {
 protected:
  Deferral() { engine.put(repo, "main", "a", "1"); }

  http::Response prefer(const std::string& preference, Sent sent) {
    sent.headers.add("Prefer", preference);
    return send(std::move(sent));
  }
  std::string start_operation(milliseconds lease = seconds{60}) {
    return rows.start("commit", "/x", "admin", lease);
  }
  std::string newest_operation() {
    const auto page = operations.list("admin", "", 1);
    return page.items.empty() ? "" : page.items[0].id;
  }

  jobs::OperationRunner& operations = service.operations;
  jobs::Operations rows{engine.pool, engine.clock};
};

// A deferred answer is stored, and tells so even when it came in time. Verified by mutation:
// leaving out in turn the look at the path, at the body, at the method and at the reads that may
// take long.
TEST_F(Deferral, IsOfOperationsOnRepositoriesThatMayTakeLong) {
  struct Case {
    int status;
    Sent sent;
  };
  const std::string name = fresh_name();
  const Case at_once[] = {
      {201, {.method = "POST", .path = "/auth/users/admin/credentials"}},
      {201, {.method = "POST", .path = "/auth/users", .body = R"({"id":")" + name + "\"}"}},
      {200, {.path = "/auth/users"}},
      {200,
       {.method = "POST",
        .path = "/auth/login",
        .body = R"({"access_key_id":")" + std::string(kKeyId) + R"(","secret_access_key":")" +
                std::string(kSecret) + "\"}"}},
      {200, {.path = "/config"}},
      {200, {.path = "/operations"}},
      {200, {.path = here}},
      {200, {.path = here + "/refs/main/objects?path=a"}},
      {200, {.method = "HEAD", .path = here + "/refs/main/objects?path=a"}},
      {200, {.path = here + "/refs/main/objects/stat?path=a"}},
      {201,
       {.method = "POST",
        .path = here + "/branches/main/objects?path=b",
        .body = "bytes",
        .content_type = "text/plain"}},
  };
  const std::string before = newest_operation();
  for (const Case& c : at_once) {
    const http::Response response = prefer("respond-async", c.sent);
    EXPECT_EQ(response.status, c.status) << c.sent.method << " " << c.sent.path;
    EXPECT_EQ(response.headers.count("Preference-Applied"), 0u) << c.sent.path;
  }
  EXPECT_EQ(newest_operation(), before) << "nothing was kept";
  EXPECT_EQ(engine.read(repo, "main", "b"), "bytes");

  const Case deferred[] = {
      {200, {.path = here + "/refs/main/objects/ls"}},
      {200, {.path = here + "/branches/main/diff"}},
      {200, {.path = here + "/refs/main/commits"}},
      {201,
       {.method = "POST", .path = here + "/branches/main/commits", .body = R"({"message":"m"})"}},
  };
  for (const Case& c : deferred) {
    const http::Response response = prefer("wait=30", c.sent);
    EXPECT_EQ(response.status, c.status) << c.sent.method << " " << c.sent.path;
    EXPECT_EQ(response.headers.get("Preference-Applied"), "wait=30") << c.sent.path;
  }
}

// Secrets of webhooks and presigned URLs are never stored.
TEST_F(Deferral, AnswersWithSecretsAreNeverStored) {
  struct Case {
    int status;
    Sent sent;
  };
  const std::string upload = here + "/branches/main/staging/pmpu";
  const Case cases[] = {
      {201,
       {.method = "PUT", .path = here + "/webhooks/w", .body = R"({"url":"http://10.1.2.3/"})"}},
      {200,
       {.method = "PUT", .path = here + "/webhooks/w", .body = R"({"url":"http://10.1.2.3/x"})"}},
      {201, {.method = "POST", .path = upload + "?path=b&parts=1"}},
      {400,
       {.method = "PUT",
        .path = upload + "/u/parts/1?path=b",
        .body = R"({"physical_address":"local://x"})"}},
      {200, {.path = here + "/refs/main/objects/ls?presign=true"}},
  };
  Context presigning = service.context;
  presigning.installation.presign = true;
  presigning.block_key = std::string(32, 'b');
  Api with(presigning);
  const std::string before = newest_operation();
  for (const Case& c : cases) {
    http::Request request;
    request.method = c.sent.method;
    request.target = "/api/v1" + c.sent.path;
    request.headers.add("Authorization", basic(kKeyId, kSecret));
    request.headers.add("Host", "tarn.test");
    request.headers.add("Prefer", "wait=0");
    if (!c.sent.body.empty()) request.headers.add("Content-Type", "application/json");
    request.content_length = c.sent.body.size();
    request.body = http::string_body(c.sent.body);
    const http::Response response = with.handle(request);
    EXPECT_NE(response.status, 202) << c.sent.path;
    EXPECT_EQ(response.status, c.status) << c.sent.path << ' ' << response.body;
  }
  EXPECT_EQ(newest_operation(), before) << "nothing was kept";
}

// Verified by mutation: taking the state "lost" for one that is waited for.
TEST_F(Deferral, NobodyWaitsForAnOperationWhoseServerDied) {
  const auto began = SteadyClock::now();
  const std::string lost = start_operation(seconds{-1});
  EXPECT_EQ(operations.wait_for("admin", lost, seconds{20})->state, OperationState::kLost);
  const std::string dying = start_operation(milliseconds{300});
  const http::Response answer = prefer("wait=20", {.path = "/operations/" + dying});
  EXPECT_NE(answer.body.find(R"("code":"operation_lost")"), std::string::npos) << answer.body;
  EXPECT_LT(SteadyClock::now() - began, seconds{10});
}

// Twice as many requests as may wait; it does not matter which are accepted. Verified by mutation:
// letting all wait; not counting those that leave, after which none could wait.
TEST_F(Deferral, WaitingRequestsAreLimited) {
  constexpr size_t kAsking = 2 * jobs::kOperationWaitersMax;
  const std::string id = start_operation();
  std::atomic<size_t> answered{0};
  std::vector<std::jthread> asking;
  for (size_t i = 0; i < kAsking; ++i) {
    asking.emplace_back([&] {
      EXPECT_TRUE(operations.wait_for("admin", id, seconds{60}));
      ++answered;
    });
  }
  const auto deadline = SteadyClock::now() + seconds{20};
  while (answered < kAsking - jobs::kOperationWaitersMax && SteadyClock::now() < deadline) {
    pause({}, milliseconds{20});
  }
  pause({}, milliseconds{300});
  EXPECT_EQ(answered, kAsking - jobs::kOperationWaitersMax);
  rows.finish(id, OperationState::kDone, 200, "{}");
  asking.clear();
  EXPECT_EQ(answered, kAsking);

  const auto began = SteadyClock::now();
  operations.wait_for("admin", start_operation(), seconds{1});
  EXPECT_GE(SteadyClock::now() - began, milliseconds{700});
}

}  // namespace
}  // namespace tarn::api
