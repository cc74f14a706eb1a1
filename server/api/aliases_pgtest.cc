// Aliases over REST: their verbs, and refs that begin with '@'.
#include <gtest/gtest.h>

#include "server/api/api_fixture.h"

namespace tarn::api {
namespace {

class AliasApi : public ApiTest {
 protected:
  AliasApi() {
    for (const char* text : {"one", "two"}) {
      engine.put(repo, "main", "a", text);
      commits.push_back(to_text(engine.commit(repo, "main").id));
    }
  }
  http::Response set(const std::string& body, const std::string& name = "champion") {
    return post(here + "/aliases/" + name + ":set", body);
  }
  http::Response remove(const std::string& query = "", const std::string& name = "champion") {
    return send({.method = "DELETE", .path = here + "/aliases/" + name + query});
  }
  static std::string reason(const http::Response& response) {
    return std::to_string(response.status) + " " +
           std::string(response.headers.get("X-Tarn-Error"));
  }

  std::vector<std::string> commits;
};

TEST_F(AliasApi, AreSetReadListedAndRemoved) {
  const http::Response made = set(R"({"to":"main~1","expect":"","reason":"first"})");
  EXPECT_EQ(made.status, 200);
  EXPECT_EQ(made.body, "{\"changed\":true,\"commit_id\":\"" + commits[0] +
                           "\",\"id\":\"champion\",\"version\":1}\n");
  EXPECT_NE(set(R"({"to":"main~1"})").body.find("\"changed\":false"), std::string::npos);
  EXPECT_EQ(set("{\"to\":\"main\",\"expect\":\"" + commits[0] + "\"}").status, 200);
  EXPECT_EQ(get(here + "/aliases/champion").body,
            "{\"commit_id\":\"" + commits[1] + "\",\"id\":\"champion\",\"version\":2}\n");
  const std::string list = get(here + "/aliases?prefix=ch").body;
  EXPECT_NE(list.find("\"id\":\"champion\""), std::string::npos) << list;
  EXPECT_EQ(remove("?expect=" + commits[1] + "&reason=over").status, 204);
  const std::string history = get(here + "/aliases/champion/history?amount=1").body;
  EXPECT_NE(history.find("\"has_more\":true"), std::string::npos) << history;
  EXPECT_NE(history.find("\"next_offset\":\"3\""), std::string::npos) << history;
  EXPECT_NE(history.find("\"reason\":\"over\",\"version\":3}"), std::string::npos) << history;
  EXPECT_NE(history.find("\"actor\":\"admin\""), std::string::npos) << history;
  const std::string rest = get(here + "/aliases/champion/history?after=3").body;
  EXPECT_NE(
      rest.find("\"reason\":\"first\",\"to_commit_id\":\"" + commits[0] + "\",\"version\":1}"),
      std::string::npos)
      << rest;
}

TEST_F(AliasApi, ErrorsNameTheProblem) {
  EXPECT_EQ(reason(get(here + "/aliases/champion")), "404 alias_not_found");
  EXPECT_EQ(reason(get(here + "/aliases/champion/history")), "404 alias_not_found");
  EXPECT_EQ(reason(remove()), "404 alias_not_found");
  EXPECT_EQ(reason(set(R"({"to":"absent"})")), "404 ref_not_found");
  EXPECT_EQ(reason(set("{\"to\":\"main\",\"expect\":\"" + commits[0] + "\"}")),
            "409 destination_moved");
  EXPECT_EQ(set(R"({"to":"main"})").status, 200);
  EXPECT_EQ(reason(set(R"({"to":"main~1","expect":""})")), "409 destination_moved");
  EXPECT_EQ(reason(remove("?expect=" + commits[0])), "409 destination_moved");
  for (const char* body : {R"({})", R"({"to":"main","expect":"main"})", R"({"to":"a b"})",
                           R"({"to":"main$"})", R"({"to":"@champion@"})", "[]"}) {
    EXPECT_EQ(set(body).status, 400) << body;
  }
  EXPECT_EQ(set("{\"to\":\"main\",\"reason\":\"" + std::string(4097, 'r') + "\"}").status, 400);
  EXPECT_EQ(remove("?expect=main").status, 400);
  for (const char* name : {"%40champion", "-x", "a%2Fb", "a%20b", ".a"}) {
    EXPECT_EQ(set(R"({"to":"main"})", name).status, 400) << name;
    EXPECT_EQ(get(here + "/aliases/" + name).status, 400) << name;
  }
  EXPECT_EQ(get(here + "/aliases/champion/history?after=x").status, 400);
}

TEST_F(AliasApi, AliasesAreRefsInPathsAndBodiesButNotBranches) {
  ASSERT_EQ(set(R"({"to":"main~1"})").status, 200);
  const std::string ref = here + "/refs/%40champion";
  EXPECT_NE(get(here + "/commits/%40champion").body.find(commits[0]), std::string::npos);
  EXPECT_EQ(get(ref + "/objects?path=a").status, 200);
  EXPECT_EQ(get(ref + "/objects/stat?path=a").status, 200);
  EXPECT_NE(get(ref + "/objects/ls").body.find("\"path\":\"a\""), std::string::npos);
  EXPECT_NE(get(ref + "~1/commits").body.find("\"has_more\":false"), std::string::npos);
  EXPECT_NE(get(ref + "/diff/main?type=two_dot").body.find("\"path\":\"a\""), std::string::npos);
  EXPECT_EQ(get(here + "/refs/main/diff/%40champion?type=two_dot").status, 200);
  EXPECT_EQ(get(ref + "/merge/main").status, 200);
  EXPECT_EQ(post(here + "/branches", R"({"name":"dev","source":"@champion"})").status, 201);
  EXPECT_EQ(post(here + "/tags", R"({"id":"v1","ref":"@champion~0"})").status, 201);
  EXPECT_EQ(post(here + "/branches/dev/objects/copy?dest_path=b",
                 R"({"src_path":"a","src_ref":"@champion"})")
                .status,
            201);
  engine.commit(repo, "dev");
  EXPECT_EQ(
      send({.method = "PUT", .path = here + "/branches/dev/hard_reset?ref=%40champion~1"}).status,
      204);
  EXPECT_EQ(post(ref + "/merge/dev", "{}").status, 200);
  EXPECT_NE(get(here + "/refs/dev/commits").body.find(commits[0]), std::string::npos);
  EXPECT_EQ(get(here + "/commits/%40absent").status, 404);
  EXPECT_EQ(get(here + "/refs/%40champion%40/objects?path=a").status, 400);
  EXPECT_EQ(get(here + "/refs/%40champion%24/objects/ls").status, 400);
  // Where a branch is meant.
  EXPECT_EQ(get(here + "/branches/%40champion").status, 400);
  EXPECT_EQ(post(here + "/branches/%40champion/commits", R"({"message":"m"})").status, 400);
  EXPECT_EQ(post(here + "/refs/main/merge/%40champion", "{}").status, 400);
  EXPECT_EQ(post(here + "/branches", R"({"name":"@x","source":"main"})").status, 400);
  EXPECT_EQ(post(here + "/tags", R"({"id":"@x","ref":"main"})").status, 400);
}

}  // namespace
}  // namespace tarn::api
