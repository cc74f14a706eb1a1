// Repositories and their settings over REST: rules, read-only and bare ones, metadata.
#include <optional>

#include <gtest/gtest.h>

#include "core/base/reasons.h"
#include "server/api/api_fixture.h"

namespace tarn::api {
namespace {

TEST_F(ApiTest, ChangesBranchRulesUnderTheirEtag) {
  const std::string path = here + "/settings/branch_protection";
  const auto put = [&](std::optional<std::string> if_match, const std::string& body) {
    Sent sent{.method = "PUT", .path = path, .body = body};
    if (if_match) sent.headers.add("If-Match", *if_match);
    return send(std::move(sent));
  };
  const std::string rules = R"([{"pattern":"main"}])";
  http::Response seen = get(path);
  EXPECT_EQ(seen.body, "[]\n");
  ASSERT_NE(seen.headers.find("ETag"), nullptr);
  EXPECT_EQ(seen.headers.get("ETag"), "");
  expect_reason(put("xx", rules), 412, "precondition_failed");
  EXPECT_EQ(put("", rules).status, 204) << "nothing was set";
  expect_reason(put("", rules), 412, "precondition_failed");
  seen = get(path);
  EXPECT_EQ(seen.body, rules + "\n");
  const std::string etag(seen.headers.get("ETag"));
  EXPECT_EQ(etag.size(), 64u);
  const std::string full = R"([{"approvals":2,"blocked_actions":["delete"],"pattern":"main"}])";
  EXPECT_EQ(put(etag, full).status, 204);
  expect_reason(put(etag, "[]"), 412, "precondition_failed");
  EXPECT_EQ(put(std::nullopt, rules).status, 204);
  EXPECT_EQ(get(path).body, full + "\n") << "what the second did not name stays";
  expect_message(put(std::nullopt, R"([{"pattern":"a"},{"pattern":"["}])"), 400,
                 "request body: /1/pattern: '[' without ']' at byte 0");
  EXPECT_EQ(get(path).body, full + "\n");
}

TEST_F(ApiTest, AddsAndRemovesOneRuleForOldClients) {
  const std::string path = here + "/branch_protection";
  const auto remove = [&] {
    return send({.method = "DELETE", .path = path, .body = R"({"pattern":"main"})"}).status;
  };
  EXPECT_EQ(get(path + "/set_allowed").status, 204);
  EXPECT_EQ(post(path, R"({"pattern":"main"})").status, 204);
  EXPECT_EQ(get(path).body, "[{\"pattern\":\"main\"}]\n");
  EXPECT_EQ(upload("a", "1").status, 403);
  EXPECT_EQ(remove(), 204);
  EXPECT_EQ(remove(), 404);
  EXPECT_EQ(upload("a", "1").status, 201);
}

TEST_F(ApiTest, RefusesWritesToAProtectedBranchInTheWordsClientsKnow) {
  upload("a", "1");
  engine.commit(repo, "main");
  upload("b", "1");
  const std::string main = here + "/branches/main";
  EXPECT_EQ(send({.method = "PUT",
                  .path = here + "/settings/branch_protection",
                  .body = R"([{"pattern":"m*"}])"})
                .status,
            204);
  constexpr std::string_view kProtected = reason::kProtectedBranch;
  expect_reason(upload("a", "2"), 403, kProtected);
  expect_reason(send({.method = "DELETE", .path = main + "/objects?path=a"}), 403, kProtected);
  expect_reason(post(main + "/objects/copy?dest_path=c", R"({"src_path":"a"})"), 403, kProtected);
  expect_reason(send({.method = "PUT",
                      .path = main + "/objects/stat/user_metadata?path=a",
                      .body = R"({"set":{"k":"v"}})"}),
                403, kProtected);
  expect_reason(send({.method = "PUT", .path = main, .body = R"({"type":"reset"})"}), 403,
                kProtected);
  const http::Response errors = post(main + "/objects/delete", R"({"paths":["a","b"]})");
  for (const char* refused : {R"("path":"a","status_code":403)", R"("path":"b","status_code":403)"})
    EXPECT_NE(errors.body.find(refused), std::string::npos) << errors.body;
  expect_reason(post(main + "/commits", R"({"message":"m"})"), 403, kProtected);
  expect_reason(send({.method = "PUT", .path = main + "/hard_reset?ref=main"}), 403, kProtected);
  EXPECT_EQ(engine.keys(repo, "main"), "a b");
}

TEST_F(ApiTest, TagRulesAreReplacedAsAWholeAndEnforced) {
  const std::string path = here + "/settings/tag_protection";
  const auto put = [&](const std::string& body) {
    return send({.method = "PUT", .path = path, .body = body}).status;
  };
  EXPECT_EQ(get(path).body, "[]\n");
  EXPECT_EQ(put(R"([{"pattern":"v*","delete":false}])"), 204);
  EXPECT_EQ(get(path).body, R"([{"create":true,"delete":false,"pattern":"v*"}])"
                            "\n");
  EXPECT_EQ(post(here + "/tags", R"({"id":"v1","ref":"main"})").status, 201);
  const http::Response refused = send({.method = "DELETE", .path = here + "/tags/v1"});
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.headers.get("X-Tarn-Error"), "protected_tag");
  EXPECT_EQ(put("[]"), 204);
  EXPECT_EQ(send({.method = "DELETE", .path = here + "/tags/v1"}).status, 204);
}

TEST_F(ApiTest, KeepsCollectionRulesUnderBothPaths) {
  const std::string rules =
      R"({"branches":[{"branch_id":"main","retention_days":9}],"default_retention_days":7})";
  const std::string paths[] = {here + "/settings/gc_rules", here + "/gc/rules"};
  EXPECT_EQ(get(here + "/gc/rules/set_allowed").status, 204);
  for (const std::string& path : paths) {
    expect_reason(get(path), 404, "not_found");
    const bool legacy = path == paths[1];
    EXPECT_EQ(send({.method = legacy ? "POST" : "PUT", .path = path, .body = rules}).status, 204);
    for (const std::string& other : paths) EXPECT_EQ(get(other).body, rules + "\n");
    EXPECT_EQ(send({.method = "DELETE", .path = path}).status, 204);
  }
}

TEST_F(ApiTest, ProtectsTheSampleDataAlsoInAReadOnlyRepository) {
  for (const std::string read_only : {"false", "true"}) {
    const std::string name = fresh_name();
    EXPECT_EQ(
        post("/repositories", R"({"name":")" + name + R"(","storage_namespace":"local://)" + name +
                                  R"(","sample_data":true,"read_only":)" + read_only + "}")
            .status,
        201);
    EXPECT_EQ(get("/repositories/" + name + "/settings/branch_protection").body,
              "[{\"pattern\":\"main\"}]\n");
  }
}

TEST_F(ApiTest, ChangesNothingInAReadOnlyRepositoryUnlessForced) {
  const std::string frozen = "/repositories/" + fresh_name();
  EXPECT_EQ(post("/repositories", R"({"name":")" + frozen.substr(14) +
                                      R"(","storage_namespace":"local://)" + frozen.substr(14) +
                                      R"(","read_only":true})")
                .status,
            201);
  EXPECT_NE(get(frozen).body.find("\"read_only\":true"), std::string::npos);
  const std::string main = frozen + "/branches/main";
  struct Mutation {
    std::string method;
    std::string path;
    std::string body{};  ///< with force where it is a member
    enum class Force { kNone, kMember, kParameter } force = Force::kNone;
  };
  using enum Mutation::Force;
  const std::string rules = R"([{"pattern":"x"}])";
  const Mutation mutations[] = {
      {"POST", frozen + "/metadata", R"({"metadata":{"a":"b"}})"},
      {"DELETE", frozen + "/metadata", R"({"keys":["a"]})"},
      {"PUT", frozen + "/settings/branch_protection", rules},
      {"PUT", frozen + "/settings/tag_protection", rules},
      {"PUT", frozen + "/settings/gc_rules", R"({"default_retention_days":7,"branches":[]})"},
      {"DELETE", frozen + "/settings/gc_rules"},
      {"POST", frozen + "/branch_protection", R"({"pattern":"x"})"},
      {"DELETE", frozen + "/branch_protection", R"({"pattern":"x"})"},
      {"POST", frozen + "/gc/rules", R"({"default_retention_days":7,"branches":[]})"},
      {"DELETE", frozen + "/gc/rules"},
      {"PUT", main + "/objects/stat/user_metadata?path=a", R"({"set":{}})"},
      {"POST", frozen + "/branches", R"({"name":"dev","source":"main"})", kMember},
      {"POST", frozen + "/tags", R"({"id":"v1","ref":"main"})", kMember},
      {"DELETE", frozen + "/tags/v1", "", kParameter},
      {"POST", main + "/objects?path=a", "", kParameter},
      {"POST", main + "/objects/copy?dest_path=b", R"({"src_path":"a"})", kMember},
      {"DELETE", main + "/objects?path=b", "", kParameter},
      {"PUT", main, R"({"type":"object","path":"b"})", kMember},
      {"POST", main + "/commits", R"({"message":"m"})", kMember},
      {"POST", main + "/revert", R"({"ref":"main","parent_number":1})", kMember},
      {"POST", main + "/cherry-pick", R"({"ref":"main~1"})", kMember},
      {"POST", frozen + "/refs/main/merge/dev", "{}", kMember},
      {"PUT", frozen + "/branches/dev/hard_reset?ref=main~1", "", kParameter},
      {"POST", main + "/import", R"({"paths":[],"commit":{"message":"m"}})", kMember},
      {"DELETE", frozen + "/branches/dev", "", kParameter},
      {"DELETE", frozen, "", kParameter},
  };
  for (const Mutation& mutation : mutations) {
    const auto run = [&](const std::string& path, const std::string& body) {
      return send({.method = mutation.method, .path = path, .body = body});
    };
    expect_reason(run(mutation.path, mutation.body), 403, "read_only_repository");
    if (mutation.force == kNone) continue;
    std::string path = mutation.path;
    std::string body = mutation.body;
    if (mutation.force == kParameter) {
      path += path.find('?') == std::string::npos ? "?force=true" : "&force=true";
    } else {
      body.insert(1, body == "{}" ? "\"force\":true" : "\"force\":true,");
    }
    const http::Response forced = run(path, body);
    EXPECT_LT(forced.status, 300) << mutation.method << " " << path << ": " << forced.body;
  }
  EXPECT_EQ(get(frozen).status, 404);
}

TEST_F(ApiTest, MakesABareRepositoryWithoutCommitAndBranch) {
  const std::string name = fresh_name();
  const std::string bare = "/repositories/" + name;
  EXPECT_EQ(post("/repositories?bare=true", R"({"name":")" + name +
                                                R"(","storage_namespace":"local://)" + name +
                                                R"(","default_branch":"trunk","sample_data":true})")
                .status,
            201);
  EXPECT_NE(get(bare).body.find("\"default_branch\":\"trunk\""), std::string::npos);
  EXPECT_NE(get(bare + "/branches").body.find("\"results\":[]"), std::string::npos);
  EXPECT_EQ(get(bare + "/branches/trunk").status, 404);
  expect_reason(post(bare + "/branches", R"({"name":"trunk","source":"main"})"), 404,
                "ref_not_found");
  EXPECT_EQ(send({.method = "POST", .path = bare + "/branches/trunk/objects?path=a"}).status, 404);
  EXPECT_EQ(send({.method = "DELETE", .path = bare}).status, 204);
}

TEST_F(ApiTest, MergesAndRemovesRepositoryMetadata) {
  const std::string path = here + "/metadata";
  EXPECT_EQ(get(path).body, "{}\n");
  EXPECT_EQ(post(path, R"({"metadata":{"a":"1","b":"1"}})").status, 204);
  EXPECT_EQ(post(path, R"({"metadata":{"b":"2","c":"3"}})").status, 204);
  EXPECT_EQ(get(path).body, "{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}\n");
  const auto remove = [&](const std::string& keys) {
    return send({.method = "DELETE", .path = path, .body = R"({"keys":[)" + keys + "]}"}).status;
  };
  EXPECT_EQ(remove(R"("a","absent")"), 204);
  EXPECT_EQ(remove(""), 204);
  EXPECT_EQ(get(path).body, "{\"b\":\"2\",\"c\":\"3\"}\n");
  EXPECT_EQ(post("/repositories/absent/metadata", R"({"metadata":{"a":"1"}})").status, 404);
}

TEST_F(ApiTest, TakenNameIsReportedBeforeUnknownStorage) {
  const std::string body = R"("storage_namespace":"local://other","storage_id":"x"})";
  EXPECT_EQ(post("/repositories", R"({"name":")" + repo.str() + "\"," + body).status, 409);
  expect_reason(post("/repositories", R"({"name":"unused-name",)" + body), 400, "invalid_argument");
}

}  // namespace
}  // namespace tarn::api
