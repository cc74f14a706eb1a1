// Evaluations over REST: what each permission opens, and the work of a runner.
#include <gtest/gtest.h>

#include "core/base/reasons.h"
#include "core/promotion/promotion_run.h"
#include "server/api/api_fixture.h"
#include "tests/support/role_matrix.h"

namespace tarn::api {
namespace {

using testing::arn_of;
using testing::Statements;

class EvaluationApi : public ApiTest {
 protected:
  testing::TestRepository holdout = engine.make_repository("holdout-" + repo.str());
  std::string jobs = "/evaluation-jobs/";
  const std::string ann = "ann-" + repo.str();  ///< also the name of her policy
  auth::NewKey key;
  const std::string runs = "repository/" + repo.str();

  void SetUp() override {
    for (const char* path :
         {"digits/predict.py", "digits/score.py", "digits/inputs/1", "digits/labels"})
      engine.put(holdout, "main", path, path);
    engine.commit(holdout, "main");
    service.directory.users.create({ann, engine.clock.now(), {}, {}});
    key = *service.directory.credentials.create(ann, engine.clock.now());
    service.directory.policies.create({ann, engine.clock.now(), {testing::allowing_everything()}});
    service.directory.policies.attach_to_user(ann, ann);
    engine.branch(repo, "exp-1", "main");
    engine.put(repo, "exp-1", "model", "bytes");
    engine.commit(repo, "exp-1");
  }

  std::string document(const std::string& more = "") {
    return R"({"destination": "main", "evaluations": [{"name": "digits", "data": "tarn://)" +
           data_name() + R"(/main/digits/",
"predict": "predict.py", "score": "score.py", "reads": ["model"], "digits": 2)" +
           more + R"(}],
"metrics": [{"name": "accuracy", "goal": "max", "min": 0.5, "from": "evaluation:digits"}]})";
  }
  std::string data_name() const { return "holdout-" + repo.str(); }
  /// The permissions of ann: pairs of an action and a resource; "!" before an action denies it.
  void let(const std::vector<std::pair<std::string, std::string>>& permissions) {
    Statements statements;
    for (const auto& [action, resource] : permissions) {
      const bool denies = action.starts_with("!");
      statements.push_back(
          {denies ? auth::Statement::Effect::kDeny : auth::Statement::Effect::kAllow,
           {action.substr(denies ? 1 : 0)},
           {arn_of(resource)},
           {}});
    }
    engine.pool.run({"test_let", "UPDATE policies SET body = $1 WHERE name = $2"},
                    {db::Bytes{auth::encode_statements(statements)}, ann}, db::Pool::Retry::kWrite);
    service.authenticator.forget();
  }
  http::Response as_ann(Sent sent, const std::string& token = "") {
    sent.signed_in = false;
    sent.headers.add("Authorization", basic(key.id, key.secret));
    if (!token.empty()) sent.headers.add("X-Tarn-Lease", token);
    return send(std::move(sent));
  }
  http::Response set_policy_as_ann() {
    return as_ann({.method = "PUT",
                   .path = here + "/policies/p",
                   .body = document(),
                   .content_type = "application/yaml"});
  }
  void begin_promotion() {
    send({.method = "PUT",
          .path = here + "/policies/p",
          .body = document(),
          .content_type = "application/yaml"});
    EXPECT_EQ(
        post(here + "/promotions", R"({"candidates": ["exp-1"], "destination": "main"})").status,
        202);
    work();
  }
  void work() {
    while (promotion::run_one_promotion(*engine, {})) {
    }
  }
  http::Response lease() {
    return as_ann({.method = "POST", .path = jobs + "lease", .body = "{}"});
  }
  static std::string member(const std::string& body, const std::string& name) {
    const size_t at = body.find("\"" + name + "\":\"");
    EXPECT_NE(at, std::string::npos) << body;
    const size_t begin = at + name.size() + 4;
    return body.substr(begin, body.find('"', begin) - begin);
  }
  static std::string bytes_of(http::Response& response) {
    std::string out;
    char piece[4096];
    while (const size_t got = response.source->read(piece)) out.append(piece, got);
    return out;
  }
};

TEST_F(EvaluationApi, APolicyMeasuresWithDataThatItsAuthorMayReadAlone) {
  const std::pair<std::string, std::string> set{"branches:SetGatePolicy", runs};
  const std::string data = "repository/" + data_name() + "/object/";
  const auto as = [&](std::vector<std::pair<std::string, std::string>> more) {
    more.push_back(set);
    more.emplace_back("branches:GetGatePolicy", runs);
    more.emplace_back("fs:ReadRun", runs);
    more.emplace_back("fs:ListBranches", runs);
    let(more);
    const int set_status = set_policy_as_ann().status;
    const http::Response judged = as_ann(
        {.method = "POST",
         .path = here + "/policies/p:evaluate",
         .body =
             R"({"candidates": ["exp-1"], "document": "destination: main\nevaluations: [{name: digits, data: 'tarn://)" +
             data_name() + R"(/main/digits', score: score.py, reads: [model]}]"})"});
    EXPECT_EQ(judged.status, set_status) << judged.body;
    return set_status;
  };
  EXPECT_EQ(as({}), 401);
  EXPECT_EQ(as({{"fs:ReadObject", data + "other/*"}}), 401);
  EXPECT_EQ(as({{"fs:ReadObject", data + "digits/inputs/*"}}), 401);
  EXPECT_EQ(as({{"fs:ReadObject", data + "*"}, {"!fs:ReadObject", data + "digits/labels"}}), 401);
  EXPECT_EQ(as({{"fs:ReadObject", data + "digits/*"}}), 200);
}

TEST_F(EvaluationApi, AGateIsMeasuredForThoseWhoMayPromote) {
  send({.method = "PUT",
        .path = here + "/policies/p",
        .body = document(),
        .content_type = "application/yaml"});
  std::vector<std::pair<std::string, std::string>> judges{
      {"branches:GetGatePolicy", runs}, {"fs:ReadRun", runs}, {"fs:ListBranches", runs}};
  const auto check = [&](const std::string& body) {
    return as_ann({.method = "POST", .path = here + "/policies/p:evaluate", .body = body});
  };
  const auto queued = [&] {
    return engine.pool
        .run({"test_queued", "SELECT count(*) FROM evaluations WHERE repo_id = $1"},
             {static_cast<int32_t>(repo.id)}, db::Pool::Retry::kRead)
        .integer(0, 0);
  };
  let(judges);
  EXPECT_EQ(check(R"({"candidates": ["exp-1"]})").status, 200);
  EXPECT_EQ(check(R"({"candidates": ["exp-1"], "measure": true})").status, 401);
  EXPECT_EQ(queued(), 0);
  judges.emplace_back("fs:Promote", runs + "/branch/other");
  let(judges);
  EXPECT_EQ(check(R"({"candidates": ["exp-1"], "measure": true})").status, 401);
  judges.emplace_back("fs:Promote", runs + "/branch/main");
  let(judges);
  const http::Response asked = check(R"({"candidates": ["exp-1"], "measure": true})");
  EXPECT_EQ(asked.status, 200);
  EXPECT_NE(asked.body.find("evaluation_pending"), std::string::npos) << asked.body;
  EXPECT_EQ(queued(), 1);
}

TEST_F(EvaluationApi, ARunnerNeedsOnePermissionAndReadsByItsLeaseAlone) {
  begin_promotion();
  let({{"fs:RunEvaluation", "repository/other"}});
  EXPECT_EQ(lease().status, 204);
  let({{"fs:RunEvaluation", runs}});
  const http::Response leased = lease();
  ASSERT_EQ(leased.status, 200) << leased.body;
  const std::string id = member(leased.body, "id");
  const std::string token = member(leased.body, "token");
  EXPECT_EQ(lease().status, 204) << "it is taken";
  EXPECT_EQ(
      as_ann({.path = "/repositories/" + data_name() + "/refs/main/objects?path=digits/labels"})
          .status,
      401);
  EXPECT_EQ(as_ann({.path = here + "/refs/exp-1/objects?path=model"}).status, 401);
  http::Response inputs = as_ann({.path = jobs + id + "/files/inputs"}, token);
  ASSERT_EQ(inputs.status, 200) << inputs.body;
  const std::string tar = bytes_of(inputs);
  EXPECT_NE(tar.find("digits/inputs/1"), std::string::npos) << "its content";
  EXPECT_EQ(tar.find("labels"), std::string::npos);
  EXPECT_EQ(as_ann({.path = jobs + id + "/files/everything"}, token).status, 400);
  for (const std::string& other : {std::string(""), std::string(32, '0'), std::string("token")}) {
    for (const char* verb : {"/renew", "/release"}) {
      expect_reason(as_ann({.method = "POST", .path = jobs + id + verb}, other), 409,
                    reason::kLeaseLost);
    }
    for (const char* part : {"inputs", "data", "program", "candidate"})
      expect_reason(as_ann({.path = jobs + id + "/files/" + part}, other), 409, reason::kLeaseLost);
    expect_reason(as_ann({.method = "POST",
                          .path = jobs + id + "/result",
                          .body = R"({"id": "1", "values": {"accuracy": 1}})",
                          .content_type = "application/x-ndjson"},
                         other),
                  409, reason::kLeaseLost);
    expect_reason(as_ann({.method = "POST",
                          .path = jobs + id + "/failure",
                          .body = R"({"phase": "score", "code": "timeout"})"},
                         other),
                  409, reason::kLeaseLost);
  }
  let({{"fs:ReadRepository", runs}});
  EXPECT_EQ(as_ann({.method = "POST", .path = jobs + id + "/renew"}, token).status, 401)
      << "the right was taken away";
  EXPECT_EQ(as_ann({.path = jobs + id + "/files/data"}, token).status, 401);
  let({{"fs:RunEvaluation", runs}});
  EXPECT_EQ(as_ann({.method = "POST", .path = jobs + id + "/renew"}, token).status, 204);
  expect_reason(as_ann({.method = "POST",
                        .path = jobs + id + "/result",
                        .body = "no",
                        .content_type = "application/x-ndjson"},
                       token),
                400, reason::kEvaluationInvalid);
  EXPECT_EQ(
      as_ann({.method = "POST",
              .path = jobs + id + "/result",
              .body = "{\"id\": \"1\", \"values\": {\"accuracy\": 1}}\n{\"id\": \"2\", \"values\": "
                      "{\"accuracy\": 0}}\n{\"id\": \"3\", \"values\": {\"accuracy\": 1}}",
              .content_type = "application/x-ndjson"},
             token)
          .status,
      204);
  work();
  EXPECT_NE(get(here + "/promotions").body.find(R"("state":"promoted")"), std::string::npos);
}

TEST_F(EvaluationApi, ExamplesAndOutputAreForReadersOfTheData) {
  begin_promotion();
  const std::pair<std::string, std::string> run{"fs:RunEvaluation", runs};
  let({run});
  const http::Response leased = lease();
  ASSERT_EQ(leased.status, 200) << leased.body;
  const std::string id = member(leased.body, "id");
  const std::string token = member(leased.body, "token");
  ASSERT_EQ(as_ann({.method = "POST",
                    .path = jobs + id + "/failure",
                    .body = R"({"phase": "score", "code": "program_failed", "detail": "label 7"})"},
                   token)
                .status,
            204);
  const std::string path = here + "/evaluations/" + id;
  const std::pair<std::string, std::string> read{"fs:ReadPromotion", runs};
  let({read});
  const http::Response shown = as_ann({.path = path});
  EXPECT_NE(shown.body.find("program_failed"), std::string::npos) << shown.body;
  EXPECT_EQ(shown.body.find("label 7"), std::string::npos) << shown.body;
  EXPECT_EQ(as_ann({.method = "POST", .path = path + ":retry"}).status, 401);
  EXPECT_NE(get(path).body.find("label 7"), std::string::npos);
  EXPECT_EQ(send({.method = "POST", .path = path + ":retry"}).status, 204);
  expect_reason(send({.method = "POST", .path = path + ":retry"}), 409,
                reason::kEvaluationNotFailed);
  let({run});
  const http::Response again = lease();
  ASSERT_EQ(again.status, 200);
  ASSERT_EQ(
      as_ann({.method = "POST",
              .path = jobs + id + "/result",
              .body = "{\"id\": \"1\", \"values\": {\"accuracy\": 1}}\n{\"id\": \"2\", \"values\": "
                      "{\"accuracy\": 0}}\n{\"id\": \"3\", \"values\": {\"accuracy\": 1}}",
              .content_type = "application/x-ndjson"},
             member(again.body, "token"))
          .status,
      204);
  let({read});
  EXPECT_NE(as_ann({.path = path}).body.find(R"("value":0.67)"), std::string::npos)
      << as_ann({.path = path}).body;
  EXPECT_EQ(as_ann({.path = path + "/examples?metric=accuracy"}).status, 401);
  EXPECT_EQ(get(path).body.find(R"("value":0.67)"), std::string::npos) << "every digit";
  http::Response examples = get(path + "/examples?metric=accuracy");
  ASSERT_EQ(examples.status, 200);
  EXPECT_EQ(bytes_of(examples),
            "{\"id\":\"1\",\"value\":1}\n{\"id\":\"2\",\"value\":0}\n{\"id\":\"3\",\"value\":1}\n");
  expect_reason(get(path + "/examples?metric=other"), 404, reason::kEvaluationNotFound);
  expect_reason(get(here + "/evaluations/" + std::string(64, '0')), 404,
                reason::kEvaluationNotFound);
  expect_reason(get("/repositories/" + data_name() + "/evaluations/" + id), 404,
                reason::kEvaluationNotFound);
  EXPECT_NE(get(here + "/evaluations").body.find(id), std::string::npos);
}

}  // namespace
}  // namespace tarn::api
