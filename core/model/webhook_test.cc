#include "core/model/webhook.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/model/event.h"

namespace tarn {
namespace {

TEST(Webhook, SecretsAreMadeAndRead) {
  const std::string secret = make_webhook_secret();
  EXPECT_EQ(webhook_key(secret).size(), 32u);
  EXPECT_NE(secret, make_webhook_secret());
  EXPECT_EQ(webhook_key("whsec_" + to_base64(std::string(24, 'x'))), std::string(24, 'x'));
  for (const std::string& bad :
       {std::string(), std::string("whsec_"), std::string("whsec_x"),
        "whsec_" + to_base64(std::string(23, 'x')), "whsec_" + to_base64(std::string(65, 'x')),
        to_base64(std::string(32, 'x')), "WHSEC_" + to_base64(std::string(32, 'x'))}) {
    EXPECT_THROW(webhook_key(bad), Error) << bad;
  }
}

TEST(Webhook, NamesAreChecked) {
  for (const char* good : {"a", "deploy-prod", "A.b_c", "0"}) {
    EXPECT_EQ(parse_webhook_name(good), good);
  }
  for (const std::string bad : {"", ".a", "-a", "a b", "a/b", "a:ping", "\xc3\xa4"}) {
    EXPECT_THROW(parse_webhook_name(bad), Error) << bad;
  }
  EXPECT_NO_THROW(parse_webhook_name(std::string(64, 'a')));
  EXPECT_THROW(parse_webhook_name(std::string(65, 'a')), Error);
}

TEST(Webhook, EventPatternsMatchSomething) {
  for (const char* good : {"*", "branch.*", "*.created", "tag.created", "promotion.rolled_back"}) {
    EXPECT_TRUE(is_event_pattern(good)) << good;
  }
  for (const char* bad : {"", "branch", "brunch.*", "Branch.*", "branch.?", "tag.creat%", "**x"}) {
    EXPECT_FALSE(is_event_pattern(bad)) << bad;
  }
  EXPECT_FALSE(is_event_pattern(std::string(65, '*')));
  EXPECT_FALSE(is_event_type("branch.*"));
  EXPECT_TRUE(is_event_type("branch.created"));
}

}  // namespace
}  // namespace tarn
