// Tests of deliveries to local receivers, over a real database.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/mutex.h"
#include "core/base/str_cat.h"
#include "core/events/webhooks.h"
#include "core/http/outbound.h"
#include "core/http/testing/test_server.h"
#include "core/http/webhook_headers.h"
#include "server/jobs/deliveries.h"
#include "tests/support/repository_test.h"

namespace tarn::jobs {
namespace {

using namespace std::chrono_literals;

const std::string kSealKey(32, 'k');

/// A server that answers with the status of `status_for` and records requests.
class Receiver {
 public:
  struct Got {
    http::Headers headers;
    std::string target;
    std::string body;
  };

  explicit Receiver(std::function<int(size_t)> status_for, std::string retry_after = "")
      : retry_after_(std::move(retry_after)),
        server_(http::testing::serve([this, status_for](http::Request& request) {
          Got got{request.headers, request.target,
                  http::read_all(*request.body, http::testing::kTestBodyMax)};
          size_t number = 0;
          {
            MutexLock lock(mutex_);
            got_.push_back(std::move(got));
            number = got_.size();
          }
          http::Response response;
          response.status = status_for(number);
          response.body = "no thanks";
          if (response.status == 302) response.headers.add("Location", "/elsewhere");
          if (!retry_after_.empty()) response.headers.add("Retry-After", retry_after_);
          return response;
        })) {}

  std::string url() const { return str_cat("http://127.0.0.1:", server_->port(), "/hook"); }
  std::vector<Got> got() {
    MutexLock lock(mutex_);
    return got_;
  }

 private:
  const std::string retry_after_;
  Mutex mutex_;
  std::vector<Got> got_ TARN_GUARDED_BY(mutex_);
  std::unique_ptr<http::Server> server_;
};

class Deliveries : public ::testing::Test {
 protected:
  std::string make(const std::string& name, const std::string& url,
                   WebhookFormat format = WebhookFormat::kStandard) {
    return *events::put_webhook(
                *engine, kSealKey, repo,
                {.name = name, .url = url, .events = {"*"}, .format = format, .created_by = "ann"},
                {})
                .secret;
  }
  void make_event() { engine.branch(repo, "b" + std::to_string(branches++), "main"); }
  bool deliver(std::stop_token stop = {}) { return deliver_one(*engine, outbound, options, stop); }
  std::vector<Delivery> listed(std::string_view webhook = "deploy") {
    return events::list_deliveries(*engine, repo, webhook, {}, "", 100).items;
  }

  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
  http::Outbound outbound{{.allowed_targets = {"127.0.0.1"}}};
  DeliveryOptions options{
      .timeout = 2s, .retry_first = 1ms, .attempts_max = 3, .seal_key = kSealKey};
  int branches = 0;
};

TEST_F(Deliveries, AreSignedAndSentOnce) {
  Receiver receiver([](size_t) { return 204; });
  const std::string secret = make("deploy", receiver.url());
  EXPECT_FALSE(deliver());
  make_event();
  EXPECT_TRUE(deliver());
  EXPECT_FALSE(deliver());
  ASSERT_EQ(receiver.got().size(), 1u);
  const Receiver::Got got = receiver.got()[0];
  const Delivery delivery = listed().at(0);
  EXPECT_EQ(delivery.state, DeliveryState::kDelivered);
  EXPECT_EQ(delivery.last_status, 204);
  EXPECT_EQ(got.target, "/hook");
  EXPECT_EQ(got.headers.get("content-type"), "application/json");
  EXPECT_EQ(got.headers.get("webhook-id"), delivery.id);
  const int64_t sent = std::stoll(std::string(got.headers.get("webhook-timestamp")));
  http::Headers expected;
  http::add_standard_webhook_headers(
      expected, {.id = delivery.id, .sent = from_millis(sent * 1000), .body = got.body},
      webhook_key(secret));
  EXPECT_EQ(got.headers.get("webhook-signature"), expected.get("webhook-signature"));
  EXPECT_LT(std::abs(sent - to_seconds(engine.clock.now())), 60);
  EXPECT_EQ(got.headers.find("x-mlflow-signature"), nullptr);
}

TEST_F(Deliveries, HaveMlflowHeadersForMlflowReceivers) {
  Receiver receiver([](size_t) { return 200; });
  const std::string secret = make("deploy", receiver.url(), WebhookFormat::kMlflow);
  branch::create_tag(*engine, repo, TagName("v1"), "main", /*force=*/false);
  EXPECT_TRUE(deliver());
  const Receiver::Got got = receiver.got().at(0);
  const int64_t sent = std::stoll(std::string(got.headers.get("x-mlflow-timestamp")));
  http::Headers expected;
  http::add_mlflow_webhook_headers(
      expected, {.id = listed().at(0).id, .sent = from_millis(sent * 1000), .body = got.body},
      secret);
  EXPECT_EQ(got.headers.get("x-mlflow-signature"), expected.get("x-mlflow-signature"));
  EXPECT_EQ(got.headers.get("x-mlflow-delivery-id"), got.headers.get("webhook-id"));
}

TEST_F(Deliveries, AreRetriedWithOneIdUntilDead) {
  Receiver receiver([](size_t) { return 500; });
  make("deploy", receiver.url());
  make_event();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(deliver()) << i;
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_FALSE(deliver());
  const auto got = receiver.got();
  ASSERT_EQ(got.size(), 3u);
  for (const Receiver::Got& each : got) {
    EXPECT_EQ(each.headers.get("webhook-id"), got[0].headers.get("webhook-id"));
    EXPECT_EQ(each.body, got[0].body);
  }
  const Delivery dead = listed().at(0);
  EXPECT_EQ(dead.state, DeliveryState::kDead);
  EXPECT_EQ(dead.attempts, 3u);
  EXPECT_EQ(dead.last_status, 500);
  EXPECT_EQ(dead.last_error, "answered 500: no thanks");

  events::redeliver(*engine, repo, "deploy", dead.id);
  EXPECT_TRUE(deliver());
  EXPECT_EQ(receiver.got().at(3).headers.get("webhook-id"), dead.id);
}

TEST_F(Deliveries, HonourRetryAfter) {
  const auto pause_after = [&](int status, const std::string& retry_after) {
    Receiver receiver([status](size_t) { return status; }, retry_after);
    make("deploy", receiver.url());
    make_event();
    const Instant began = engine.clock.now();
    EXPECT_TRUE(deliver());
    const Delivery made = listed().at(0);
    EXPECT_EQ(made.last_status, status);
    events::delete_webhook(*engine, repo, "deploy");
    return *made.next_attempt - began;
  };
  EXPECT_LT(pause_after(503, ""), 30s);
  EXPECT_LT(pause_after(500, "600"), 30s);
  EXPECT_LT(pause_after(503, "soon"), 30s);
  for (const int status : {429, 503}) {
    const auto pause = pause_after(status, "600");
    EXPECT_GE(pause, 600s) << status;
    EXPECT_LT(pause, 630s) << status;
  }
  const auto until = pause_after(503, to_http_date(engine.clock.now() + 900s));
  EXPECT_GE(until, 890s);
  EXPECT_LT(until, 930s);
  EXPECT_LT(pause_after(503, "999999999"), kRetryPauseMax + 30s);
  options.retry_first = 20min;
  EXPECT_GE(pause_after(503, "1"), 10min) << "never sooner than without";
}

TEST_F(Deliveries, RetryAfterDoesNotReviveADeadDelivery) {
  Receiver receiver([](size_t) { return 503; }, "0");
  make("deploy", receiver.url());
  make_event();
  options.attempts_max = 1;
  EXPECT_TRUE(deliver());
  EXPECT_EQ(listed().at(0).state, DeliveryState::kDead);
  EXPECT_FALSE(deliver());
}

TEST_F(Deliveries, ThatAreRedirectedFail) {
  Receiver receiver([](size_t) { return 302; });
  make("deploy", receiver.url());
  make_event();
  EXPECT_TRUE(deliver());
  EXPECT_EQ(receiver.got().size(), 1u);
  EXPECT_EQ(listed().at(0).last_status, 302);
  EXPECT_EQ(listed().at(0).state, DeliveryState::kPending);
}

TEST_F(Deliveries, AreNotMadeToPrivateAddresses) {
  Receiver receiver([](size_t) { return 204; });
  make("deploy", receiver.url());
  make_event();
  const http::Outbound strict{{}};
  EXPECT_TRUE(deliver_one(*engine, strict, options, {}));
  EXPECT_TRUE(receiver.got().empty());
  const Delivery refused = listed().at(0);
  EXPECT_FALSE(refused.last_status);
  EXPECT_NE(refused.last_error.find("hooks.allowed_targets"), std::string::npos);
}

TEST_F(Deliveries, SlowReceiverDelaysNoOther) {
  std::atomic<bool> release{false};
  Receiver slow([&](size_t) {
    while (!release) std::this_thread::sleep_for(5ms);
    return 204;
  });
  Receiver quick([](size_t) { return 204; });
  make("slow", slow.url());
  make("deploy", quick.url());
  for (int i = 0; i < 5; ++i) make_event();
  options.timeout = 30s;
  std::vector<std::thread> workers;
  std::stop_source stop;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      while (!stop.stop_requested()) {
        if (!deliver(stop.get_token())) std::this_thread::sleep_for(10ms);
      }
    });
  }
  for (int i = 0; i < 500 && quick.got().size() < 5; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(quick.got().size(), 5u);
  EXPECT_EQ(slow.got().size(), kDeliveriesPerWebhookMax);
  stop.request_stop();
  release = true;
  for (std::thread& worker : workers) worker.join();
}

TEST_F(Deliveries, StoppedServerReturnsItsClaims) {
  std::atomic<bool> release{false};
  Receiver slow([&](size_t number) {
    while (number == 1 && !release) std::this_thread::sleep_for(5ms);
    return 204;
  });
  make("deploy", slow.url());
  make_event();
  options.timeout = 30s;
  std::stop_source stop;
  std::thread stopper([&] {
    while (slow.got().empty()) std::this_thread::sleep_for(5ms);
    stop.request_stop();
  });
  EXPECT_TRUE(deliver(stop.get_token()));
  stopper.join();
  EXPECT_TRUE(deliver());
  release = true;
  ASSERT_EQ(slow.got().size(), 2u);
  EXPECT_EQ(slow.got()[0].headers.get("webhook-id"), slow.got()[1].headers.get("webhook-id"));
  EXPECT_EQ(listed().at(0).state, DeliveryState::kDelivered);
}

TEST(RetryPause, GrowsToItsLimit) {
  std::chrono::milliseconds whole = 5s;
  for (uint32_t attempts = 1; attempts < 20; ++attempts) {
    for (int i = 0; i < 50; ++i) {
      const auto pause = retry_pause(attempts, 5s);
      EXPECT_GE(pause, whole / 2);
      EXPECT_LE(pause, whole);
    }
    whole = std::min<std::chrono::milliseconds>(whole * 4, kRetryPauseMax);
  }
  EXPECT_EQ(whole, kRetryPauseMax);
}

}  // namespace
}  // namespace tarn::jobs
