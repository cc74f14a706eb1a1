#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"
#include "server/api/json/repository.h"

namespace tarn::api::json {
namespace {

TEST(WebhookBodies, AreReadAndWrittenWhole) {
  const Webhook webhook{.name = "deploy",
                        .url = "https://x.example/",
                        .events = {"tag.*", "alias.set"},
                        .format = WebhookFormat::kMlflow,
                        .active = false,
                        .created_by = "ann"};
  const std::string members =
      R"("active":false,"created_by":"ann","creation_date":"1970-01-01T00:00:00.000Z",)"
      R"("events":["tag.*","alias.set"],"format":"mlflow","id":"deploy","url":"https://x.example/")";
  EXPECT_EQ(webhook_body(webhook), "{" + members + "}\n");
  EXPECT_EQ(webhook_body(webhook, "whsec_x"), "{" + members +
                                                  R"(,"secret":"whsec_x"})"
                                                  "\n");

  const PutWebhook least = parsed(parse_put_webhook, R"({"url":"u"})");
  EXPECT_EQ(least.webhook.events, std::vector<std::string>{"*"});
  EXPECT_EQ(least.webhook.format, WebhookFormat::kStandard);
  EXPECT_TRUE(least.webhook.active);
  EXPECT_FALSE(least.secret);
  const PutWebhook all = parsed(
      parse_put_webhook,
      R"({"url":"u","events":["tag.*"],"format":"mlflow","active":false,"secret":"whsec_x"})");
  EXPECT_EQ(all.webhook.events, std::vector<std::string>{"tag.*"});
  EXPECT_EQ(all.webhook.format, WebhookFormat::kMlflow);
  EXPECT_FALSE(all.webhook.active);
  EXPECT_EQ(all.secret, "whsec_x");
  for (const char* bad : {"{}", R"({"url":1})", R"({"url":"u","format":"slack"})",
                          R"({"url":"u","events":"tag.*"})", R"({"url":"u","active":"no"})"}) {
    EXPECT_NE(failure(parse_put_webhook, bad), "") << bad;
  }
}

TEST(DeliveryBodies, ShowKnownFields) {
  Delivery delivery{.id = "evt_1", .type = "tag.created", .attempts = 2};
  delivery.next_attempt = from_millis(1000);
  delivery.last_status = 500;
  delivery.last_error = "answered 500";
  EXPECT_EQ(delivery_body(delivery),
            R"({"attempts":2,"creation_date":"1970-01-01T00:00:00.000Z","id":"evt_1",)"
            R"("last_error":"answered 500","last_status":500,)"
            R"("next_attempt":"1970-01-01T00:00:01.000Z","state":"pending","type":"tag.created"})"
            "\n");
  EXPECT_EQ(ping_body({.id = "evt_2", .error = "no answer", .took = std::chrono::milliseconds(7)}),
            R"({"delivered":false,"duration_ms":7,"error":"no answer","id":"evt_2"})"
            "\n");
}

}  // namespace
}  // namespace tarn::api::json
