#include "core/http/webhook_headers.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace tarn::http {
namespace {

// The values were computed with Python's hmac and base64.
TEST(WebhookHeaders, SignAsStandardWebhooks) {
  const WebhookMessage message{.id = "msg_p5jXN8AQM9LWM0D4loKWxJek",
                               .sent = from_millis(1'614'265'330'999),
                               .body = R"({"test": 2432232314})"};
  Headers headers;
  add_standard_webhook_headers(headers, message, *from_base64("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
  EXPECT_EQ(headers.get("webhook-id"), "msg_p5jXN8AQM9LWM0D4loKWxJek");
  EXPECT_EQ(headers.get("webhook-timestamp"), "1614265330");
  EXPECT_EQ(headers.get("webhook-signature"), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");

  std::string key;
  for (char c = 0; c < 32; ++c) key.push_back(c);
  Headers other;
  add_standard_webhook_headers(other,
                               {.id = "evt_1",
                                .sent = from_millis(1'700'000'000'000),
                                .body = "{\"type\":\"ping\",\"\xc3\xbc\":1}"},
                               key);
  EXPECT_EQ(other.get("webhook-signature"), "v1,i5GnMe5zfHtdzDVO3VOPJmHl4+Djb++USB1b0sIPk5Y=");
}

TEST(WebhookHeaders, SignAsMlflow) {
  Headers headers;
  add_mlflow_webhook_headers(headers,
                             {.id = "msg_p5jXN8AQM9LWM0D4loKWxJek",
                              .sent = from_millis(1'614'265'330'000),
                              .body = R"({"test": 2432232314})"},
                             "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  EXPECT_EQ(headers.get("x-mlflow-delivery-id"), "msg_p5jXN8AQM9LWM0D4loKWxJek");
  EXPECT_EQ(headers.get("x-mlflow-timestamp"), "1614265330");
  EXPECT_EQ(headers.get("x-mlflow-signature"), "v1,TcxlhK9b6UD6iVI1ZU2tTqp8PEVfYRseNNfa6b+LcUg=");
}

}  // namespace
}  // namespace tarn::http
