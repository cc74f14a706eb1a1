// Tests of the webhook operations, with a local receiver.
#include <gtest/gtest.h>

#include "core/events/webhooks.h"
#include "core/http/testing/test_server.h"
#include "server/api/api_fixture.h"

namespace tarn::api {
namespace {

class WebhookCalls : public ApiTest {
 protected:
  http::Response put(const std::string& name, const std::string& body) {
    return send({.method = "PUT", .path = here + "/webhooks/" + name, .body = body});
  }
  static std::string with_url(const std::string& url) { return R"({"url":")" + url + "\"}"; }
};

constexpr std::string_view kAllowed = "http://10.1.2.3/hook";

TEST_F(WebhookCalls, ShowTheSecretOnce) {
  const http::Response made = put("deploy", with_url(std::string(kAllowed)));
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_NE(made.body.find(R"("secret":"whsec_)"), std::string::npos) << made.body;
  EXPECT_NE(made.body.find(R"("created_by":"admin")"), std::string::npos) << made.body;
  const http::Response changed =
      put("deploy", R"({"url":"http://10.1.2.3/other","events":["tag.*"]})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  for (const http::Response& shown : {get(here + "/webhooks/deploy"), get(here + "/webhooks")}) {
    EXPECT_EQ(shown.status, 200);
    EXPECT_NE(shown.body.find("http://10.1.2.3/other"), std::string::npos) << shown.body;
    EXPECT_EQ(shown.body.find("secret"), std::string::npos) << shown.body;
  }
  EXPECT_EQ(changed.body.find("secret"), std::string::npos);
  EXPECT_EQ(send({.method = "DELETE", .path = here + "/webhooks/deploy"}).status, 204);
  EXPECT_EQ(get(here + "/webhooks/deploy").status, 404);
}

TEST_F(WebhookCalls, RefuseForbiddenTargetsAndInvalidFields) {
  for (const char* url : {"http://127.0.0.1:1/", "http://localhost/", "http://169.254.169.254/",
                          "http://[::1]/", "http://10.1.2.4/"}) {
    const http::Response refused = put("deploy", with_url(url));
    EXPECT_EQ(refused.status, 400) << url;
    EXPECT_EQ(refused.headers.get("X-Tarn-Error"), "target_not_allowed") << url;
    EXPECT_NE(refused.body.find("hooks.allowed_targets"), std::string::npos) << refused.body;
  }
  for (const char* url : {"ftp://10.1.2.3/", "not a url", "http://u:p@10.1.2.3/"}) {
    EXPECT_EQ(put("deploy", with_url(url)).status, 400) << url;
  }
  EXPECT_EQ(put("a:b", with_url(std::string(kAllowed))).status, 400);
  EXPECT_EQ(put("deploy", R"({"url":"http://10.1.2.3/","events":["brunch"]})").status, 400);
  EXPECT_EQ(put("deploy", R"({"url":"http://10.1.2.3/","secret":"x"})").status, 400);
  EXPECT_EQ(get(here + "/webhooks/deploy").status, 404) << "nothing of it was made";
}

TEST_F(WebhookCalls, ListDeliveriesAndSendThemAgain) {
  put("deploy", with_url(std::string(kAllowed)));
  engine.branch(repo, "dev", "main");
  const std::string path = here + "/webhooks/deploy/deliveries";
  const http::Response all = get(path);
  EXPECT_NE(all.body.find(R"("type":"branch.created")"), std::string::npos) << all.body;
  EXPECT_NE(all.body.find(R"("state":"pending")"), std::string::npos) << all.body;
  EXPECT_NE(get(path + "?state=dead").body.find(R"("results":[])"), std::string::npos);
  EXPECT_EQ(get(path + "?state=lost").status, 400);
  const size_t at = all.body.find("evt_");
  const std::string id = all.body.substr(at, all.body.find('"', at) - at);
  const http::Response again = post(path + "/" + id + ":redeliver", "");
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_NE(again.body.find(id), std::string::npos);
  EXPECT_EQ(post(path + "/evt_0:redeliver", "").status, 404);
  EXPECT_EQ(get(here + "/webhooks/other/deliveries").status, 404);
}

TEST_F(WebhookCalls, PingReturnsTheResult) {
  std::string signature;
  const auto receiver = http::testing::serve([&](http::Request& request) {
    signature = request.headers.get("webhook-signature");
    http::Response response;
    response.status = request.target == "/good" ? 204 : 418;
    return response;
  });
  const std::string base = "http://127.0.0.1:" + std::to_string(receiver->port());
  // As an installation that permits this machine; the API of the fixture does not.
  http::Outbound outbound{{.allowed_targets = {"127.0.0.1"}}};
  const Context context{.engine = service.context.engine,
                        .authenticator = service.authenticator,
                        .directory = service.directory,
                        .clock = engine.clock,
                        .operations = service.operations,
                        .outbound = outbound,
                        .installation = {.version = "1"},
                        .webhook_key = service.context.webhook_key};
  const auto ask = [&](const std::string& method, const std::string& path,
                       const std::string& body) {
    http::Request request;
    request.method = method;
    request.target = "/api/v1" + here + path;
    request.headers.add("Authorization", basic(kKeyId, kSecret));
    if (!body.empty()) request.headers.add("Content-Type", "application/json");
    request.content_length = body.size();
    request.body = http::string_body(body);
    return Api(context).handle(request);
  };
  EXPECT_EQ(ask("PUT", "/webhooks/deploy", with_url(base + "/good")).status, 201);
  const http::Response good = ask("POST", "/webhooks/deploy:ping", "");
  EXPECT_EQ(good.status, 200);
  EXPECT_NE(good.body.find(R"("delivered":true)"), std::string::npos) << good.body;
  EXPECT_EQ(signature.substr(0, 3), "v1,");
  ask("PUT", "/webhooks/deploy", with_url(base + "/bad"));
  const http::Response bad = ask("POST", "/webhooks/deploy:ping", "");
  EXPECT_NE(bad.body.find(R"("delivered":false)"), std::string::npos) << bad.body;
  EXPECT_NE(bad.body.find(R"("status":418)"), std::string::npos) << bad.body;
  const http::Response refused = post(here + "/webhooks/deploy:ping", "");
  EXPECT_EQ(refused.headers.get("X-Tarn-Error"), "target_not_allowed") << "and again when sent";
}

}  // namespace
}  // namespace tarn::api
