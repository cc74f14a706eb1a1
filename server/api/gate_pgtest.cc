// Gate policies and comparisons over REST.
#include <gtest/gtest.h>

#include "server/api/api_fixture.h"

namespace tarn::api {
namespace {

class GateApi : public ApiTest {
 protected:
  http::Response put(const std::string& name, const std::string& document,
                     std::string_view if_match = "") {
    Sent sent{.method = "PUT",
              .path = here + "/policies/" + name,
              .body = document,
              .content_type = "application/yaml"};
    if (!if_match.empty()) sent.headers.add("If-Match", std::string(if_match));
    return send(std::move(sent));
  }
};

TEST_F(GateApi, PoliciesAreDocumentsWithVersions) {
  const std::string path = here + "/policies/dogs";
  EXPECT_EQ(get(path).status, 404);
  const http::Response first = put("dogs", "destination: main\n", "0");
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.headers.get("ETag"), "1");
  EXPECT_NE(first.body.find(R"("changed":true,"author":"admin")"), std::string::npos) << first.body;
  EXPECT_NE(put("dogs", "destination: main\n").body.find(R"("changed":false)"), std::string::npos);
  EXPECT_EQ(put("dogs", R"({"destination": "main", "approvals": {"count": 1}})", "1").status, 200);
  EXPECT_EQ(put("dogs", "destination: main\n", "1").status, 412);
  EXPECT_EQ(put("dogs", "destination: main\n", "one").status, 400);
  EXPECT_NE(get(path).body.find(R"("version":2)"), std::string::npos);
  EXPECT_NE(get(path + "?version=1").body.find(R"("document":"destination: main\n")"),
            std::string::npos);
  EXPECT_EQ(get(path + "?version=9").status, 404);
  EXPECT_NE(get(here + "/policies").body.find(R"("results":1)"), std::string::npos);
  EXPECT_NE(get(path + "/versions").body.find(R"("results":2)"), std::string::npos);
  EXPECT_EQ(send({.method = "DELETE", .path = path}).status, 204);
  EXPECT_EQ(send({.method = "DELETE", .path = path}).status, 404);
  EXPECT_NE(get(path + "?version=3").body.find(R"("removed":true)"), std::string::npos);
}

TEST_F(GateApi, AWrongDocumentIsAnsweredWithItsPlace) {
  const http::Response answer = put("dogs", "destination: main\napprovals: {count: many}\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(
      answer.body.find("policy: 2:20: approvals.count: expected a whole number from 0 to 100"),
      std::string::npos)
      << answer.body;
  EXPECT_NE(answer.body.find("policy_invalid"), std::string::npos) << answer.body;
  EXPECT_EQ(put("dogs", "destination: main\n#" + std::string(70'000, 'x')).status, 400);
  EXPECT_EQ(put("dogs", "").status, 400);
  EXPECT_EQ(put("dogs", "destination: nowhere").status, 404);
  put("dogs", "destination: main");
  EXPECT_EQ(put("cats", "destination: main").status, 409);
}

TEST_F(GateApi, DryRunExplainsAndChangesNothing) {
  engine.branch(repo, "exp-1", "main");
  engine.put(repo, "exp-1", "metrics/m.json", R"({"accuracy": 1.5})");
  engine.commit(repo, "exp-1");
  put("dogs", "destination: main\nmetrics: [{name: accuracy, goal: max, max: 1.0}]\n");
  const std::string before = get(here + "/branches/main").body;
  const http::Response answer =
      post(here + "/policies/dogs:evaluate", R"({"candidates":["exp-*"]})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(
      answer.body.find(R"("code":"above_max","outcome":"fail","reason":"accuracy is 1.5 )"
                       R"((file:metrics/m.json), wanted at most 1","rule":"metrics.accuracy.max")"),
      std::string::npos)
      << answer.body;
  EXPECT_NE(answer.body.find(R"("verdict":"failed")"), std::string::npos);
  EXPECT_EQ(get(here + "/branches/main").body, before);
  EXPECT_EQ(post(here + "/policies/cats:evaluate", R"({"candidates":["exp-*"]})").status, 404);
  EXPECT_EQ(post(here + "/policies/dogs:evaluate", R"({"candidates":[]})").status, 400);
  EXPECT_EQ(post(here + "/policies/dogs:judge", R"({"candidates":["a"]})").status, 404);
}

TEST_F(GateApi, ADraftIsJudgedByAndNotStored) {
  engine.branch(repo, "exp-1", "main");
  engine.put(repo, "exp-1", "metrics/m.json", R"({"accuracy": 0.9})");
  engine.commit(repo, "exp-1");
  put("dogs", "destination: main\n");
  const auto judged_by = [&](const std::string& name, const std::string& document) {
    return post(here + "/policies/" + name + ":evaluate",
                R"({"candidates":["exp-*"],"document":")" + document + "\"}");
  };
  const std::string strict =
      "destination: main\\nmetrics: [{name: accuracy, goal: max, min: 0.95}]\\n";
  const http::Response answer = judged_by("dogs", strict);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find(R"("code":"below_min")"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find(R"("version":0)"), std::string::npos) << answer.body;
  EXPECT_EQ(judged_by("new-one", strict).status, 200);
  EXPECT_NE(judged_by("dogs", "destination: main\\nx: 1").body.find("policy: 2:1"),
            std::string::npos);
  EXPECT_NE(get(here + "/policies/dogs/versions").body.find(R"("results":1)"), std::string::npos);
  EXPECT_EQ(get(here + "/policies/new-one").status, 404);
}

TEST_F(GateApi, Compares) {
  engine.branch(repo, "exp-1", "main");
  engine.put(repo, "exp-1", "metrics/m.json", R"({"accuracy": 0.5})");
  engine.commit(repo, "exp-1");
  const http::Response answer = post(
      here + "/compare",
      R"({"candidates":["exp-*"],"baseline":"main","metrics":[{"name":"accuracy","goal":"max"}]})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(
      answer.body.find(R"("metrics":{"accuracy":{"origin":"file:metrics/m.json","value":0.5}})"),
      std::string::npos)
      << answer.body;
  EXPECT_NE(answer.body.find(R"("rank":1)"), std::string::npos);
  EXPECT_EQ(post(here + "/compare", R"({"candidates":["none-*"]})").status, 404);
  EXPECT_EQ(post(here + "/compare", R"({"candidates":["a"],"params":"x"})").status, 400);
}

}  // namespace
}  // namespace tarn::api
