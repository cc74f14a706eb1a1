// Refs over REST: branches, commits, merges, diffs, dumps and pull requests.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "server/api/api_fixture.h"
#include "server/api/json/commit.h"

namespace tarn::api {
namespace {

TEST_F(ApiTest, MakesABranchWithABareIdAsTheAnswer) {
  const http::Response made = post(here + "/branches", R"({"name":"dev","source":"main"})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.body.size(), 64u);
  EXPECT_EQ(made.headers.get("Content-Type"), "text/plain; charset=utf-8");
  expect_reason(post(here + "/branches", R"({"name":"dev","source":"main"})"), 409,
                "already_exists");
  expect_reason(post(here + "/branches", R"({"name":"x","source":"nope"})"), 404, "ref_not_found");
}

TEST_F(ApiTest, DeletesABranchOnlyAsItIsExpected) {
  engine.branch(repo, "dev", "main");
  const std::string head = to_text(resolve_commit(*engine, repo, "dev").id);
  const std::string dev = here + "/branches/dev";
  const auto remove = [&](const std::string& query) {
    return send({.method = "DELETE", .path = dev + query});
  };
  const http::Response short_id = remove("?expect=" + head.substr(0, 12));
  expect_reason(short_id, 400, "invalid_argument");
  EXPECT_NE(short_id.body.find(R"(\"expect\")"), std::string::npos) << short_id.body;
  EXPECT_EQ(remove("?expect=").status, 400) << "an unset variable deletes nothing";
  EXPECT_EQ(remove("?unused=perhaps").status, 400);
  engine.put(repo, "dev", "a", "1");
  expect_reason(remove("?unused=true&expect=" + head), 412, "branch_in_use");
  engine.commit(repo, "dev");
  const std::string now = to_text(resolve_commit(*engine, repo, "dev").id);
  const http::Response moved = remove("?expect=" + head);
  expect_reason(moved, 412, "branch_moved");
  for (const std::string& commit : {now, head}) {
    EXPECT_NE(moved.body.find(commit), std::string::npos) << moved.body;
  }
  EXPECT_EQ(get(dev).status, 200);
  EXPECT_EQ(remove("?unused=true&expect=" + now).status, 204);
  EXPECT_EQ(get(dev).status, 404);
}

TEST_F(ApiTest, MissingRefHasTheMessageThatClientsExpect) {
  expect_message(get(here + "/commits/nope"), 404, "commit not found");
  expect_message(get(here + "/commits/a%20b"), 404, "commit not found");
  expect_message(get("/repositories/absent/commits/main"), 404, "repository not found");
  expect_message(get(here + "/refs/nope/commits"), 404, "ref: not found");
  expect_message(get(here + "/refs/nope/objects?path=a"), 404, "not found");
}

TEST_F(ApiTest, ShowsAMergeConflictWithItsPaths) {
  upload("a.txt", "one");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "a.txt", "dev's");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "a.txt", "main's");
  engine.commit(repo, "main");
  const http::Response response = send({.method = "POST", .path = here + "/refs/dev/merge/main"});
  EXPECT_EQ(response.status, 409);
  EXPECT_TRUE(response.body.starts_with("{\"reference\":\"\",")) << response.body;
  EXPECT_NE(response.body.find(R"("conflicts":{"count":1,"paths":["a.txt"],"all":"/api/v1)" + here +
                               "/refs/dev/merge/main/conflicts\"}"),
            std::string::npos)
      << response.body;
}

TEST_F(ApiTest, ListsConflictsAndMergesByPattern) {
  for (const char* key : {"a.txt", "b.txt"}) upload(key, "one");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  for (const char* key : {"a.txt", "b.txt"}) engine.put(repo, "dev", key, "dev's");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "a.txt", "main's");
  engine.remove(repo, "main", "b.txt");
  engine.commit(repo, "main");
  const std::string merge = here + "/refs/dev/merge/main";
  const http::Response listed = get(merge + "/conflicts?after=a.txt");
  EXPECT_EQ(listed.status, 200);
  EXPECT_NE(listed.body.find(R"("results":[{"path":"b.txt","base":{"checksum":")"),
            std::string::npos)
      << listed.body;
  EXPECT_NE(listed.body.find(R"("size_bytes":5},"destination":null}]})"), std::string::npos)
      << listed.body;
  EXPECT_EQ(get(here + "/refs/nope/merge/main/conflicts").status, 404);
  EXPECT_EQ(get(here + "/refs/dev/merge/a.b/conflicts").status, 400);
  for (const char* body :
       {R"({"resolutions":[{"glob":"[a","take":"dest"}]})",
        R"({"resolutions":[{"glob":"a","take":"both"}]})", R"({"resolutions":[{"take":"dest"}]})",
        R"({"paths":[]})", R"({"paths":["{a"]})", R"({"paths":"a"})"}) {
    EXPECT_EQ(post(merge, body).status, 400) << body;
  }
  EXPECT_NE(post(merge, R"({"resolutions":[{"glob":"[a","take":"dest"}]})")
                .body.find("/resolutions/0/glob"),
            std::string::npos);
  EXPECT_EQ(post(merge, R"({"resolutions":[{"glob":"a*","take":"dest"},
                                           {"glob":"*","take":"source"}]})")
                .status,
            200);
  EXPECT_EQ(engine.read(repo, "main", "a.txt") + engine.read(repo, "main", "b.txt"), "main'sdev's");
}

TEST_F(ApiTest, CommitsAGivenTree) {
  upload("a.txt", "one");
  const Commit first = engine.commit(repo, "main");
  upload("b.txt", "two");
  engine.commit(repo, "main");
  const std::string commits = here + "/branches/main/commits";
  const std::string tree = json::metarange_id(first.root);
  const http::Response made = post(commits + "?source_metarange=" + tree, R"({"message":"back"})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_NE(made.body.find("\"meta_range_id\":\"" + tree + "\""), std::string::npos) << made.body;
  EXPECT_EQ(engine.keys(repo, "main"), "a.txt");
  EXPECT_EQ(post(commits + "?source_metarange=x", R"({"message":"m"})").status, 400);
  EXPECT_EQ(
      post(commits + "?source_metarange=" + std::string(64, 'a'), R"({"message":"m"})").status,
      404);
}

TEST_F(ApiTest, DumpsAndRestoresRefs) {
  upload("a.txt", "one");
  engine.commit(repo, "main");
  const http::Response dumped = send({.method = "PUT", .path = here + "/refs/dump"});
  EXPECT_EQ(dumped.status, 201);
  const std::string name = fresh_name();
  EXPECT_EQ(post("/repositories?bare=true",
                 R"({"name":")" + name + R"(","storage_namespace":"local://)" + name + "\"}")
                .status,
            201);
  const auto restore = [&](const std::string& repository, const std::string& body) {
    return send({.method = "PUT",
                 .path = "/repositories/" + repository + "/refs/restore",
                 .body = body})
        .status;
  };
  EXPECT_EQ(restore(repo.str(), dumped.body), 400) << "it is not bare";
  std::string mixed = dumped.body;
  char& digit = mixed[mixed.find("tags-") + 5];  // of the repository's id
  digit = digit == '9' ? '8' : '9';
  EXPECT_EQ(restore(name, mixed), 400);
  EXPECT_EQ(restore(name, R"({"commits_meta_range_id":"commits-1-a","tags_meta_range_id":"tags-1-a",
                              "branches_meta_range_id":"branches-1-a"})"),
            404);
  EXPECT_EQ(restore(name, dumped.body), 200);
  EXPECT_EQ(engine.read(RepositoryName(name), "main", "a.txt"), "one");
  EXPECT_EQ(get(here + "/dump?task_id=x").status, 404);
}

TEST_F(ApiTest, RecordsACommitUnderItsOwnIdOnly) {
  upload("a.txt", "one");
  const Commit head = engine.commit(repo, "main");
  Commit given;
  given.parents = {head.id};
  given.root = head.root;
  given.message = "m";
  given.committer = "c";
  given.created = from_millis(1'700'000'000'000);
  given.generation = head.generation + 1;
  given.id = compute_commit_id(given);
  const auto body = [&](const std::string& id, int64_t generation) {
    return R"({"version":1,"committer":"c","message":"m","creation_date":1700000000,"commit_id":")" +
           id + R"(","metarange_id":")" + json::metarange_id(head.root) + R"(","parents":[")" +
           to_text(head.id) + R"("],"generation":)" + std::to_string(generation) + "}";
  };
  const std::string commits = here + "/commits";
  EXPECT_EQ(post(commits, body(std::string(64, 'a'), given.generation)).status, 400);
  EXPECT_EQ(post(commits, body(to_text(given.id), 7)).status, 400);
  EXPECT_EQ(post(commits, body("short", given.generation)).status, 400);
  EXPECT_EQ(post(commits, body(to_text(given.id), given.generation)).status, 204);
  EXPECT_EQ(post(commits, body(to_text(given.id), given.generation)).status, 409);
  EXPECT_EQ(engine.read(repo, to_text(given.id), "a.txt"), "one");
}

TEST_F(ApiTest, SummarisesADiff) {
  upload("dir/a", "one");
  engine.commit(repo, "main");
  const http::Response made = get(here + "/refs/main~1/diff/main/summary?type=two_dot&delimiter=/");
  EXPECT_EQ(made.status, 200);
  const std::string totals = R"("added":{"objects":1,"bytes":3},"removed":{"objects":0,"bytes":0},)"
                             R"("changed":{"objects":0,"bytes":0,"bytes_before":0},"conflicts":0)";
  EXPECT_EQ(made.body, "{" + totals + R"(,"prefixes":[{"path":"dir/",)" + totals + "}]}\n");
  EXPECT_EQ(get(here + "/refs/nope/diff/main/summary").status, 404);
  EXPECT_EQ(get(here + "/refs/main/diff/main/summary?type=four_dot").status, 400);
}

TEST_F(ApiTest, MergesPullRequestsAndReportsMissingApprovals) {
  const auto create = [&](const std::string& source, const std::string& destination) {
    return post(here + "/pulls", R"({"title":"t","source_branch":")" + source +
                                     R"(","destination_branch":")" + destination + "\"}");
  };
  engine.branch(repo, "dev", "main");
  expect_reason(create("dev", "dev"), 400, "invalid_argument");
  expect_reason(create("dev", "absent"), 404, "branch_not_found");
  EXPECT_EQ(create("dev", "a b").status, 400);
  const http::Response made = create("dev", "main");
  EXPECT_EQ(made.status, 201);
  const std::string pull = here + "/pulls/" + made.body.substr(made.body.find(':') + 2, 20);
  EXPECT_NE(get(pull).body.find("\"author\":\"admin\""), std::string::npos) << get(pull).body;
  EXPECT_EQ(get(here + "/pulls/1").body, get(pull).body);
  EXPECT_EQ(get(here + "/pulls/%231").body, get(pull).body);
  expect_reason(get(here + "/pulls/2"), 404, "pull_request_not_found");
  EXPECT_EQ(get(here + "/pulls/zz").status, 400);
  expect_reason(get(here + "/pulls/00000000000000000000"), 404, "pull_request_not_found");
  EXPECT_EQ(get(here + "/pulls?status=some").status, 400);

  const auto merge = [&] { return send({.method = "PUT", .path = pull + "/merge"}); };
  expect_reason(merge(), 400, "no_changes");
  engine.put(repo, "dev", "a", "1");
  engine.commit(repo, "dev");
  EXPECT_EQ(send({.method = "PUT",
                  .path = here + "/settings/branch_protection",
                  .body = R"([{"pattern":"main","approvals":1}])"})
                .status,
            204);
  const auto merge_directly = [&] {
    return send({.method = "POST", .path = here + "/refs/dev/merge/main"});
  };
  expect_reason(merge(), 403, "approval_required");
  EXPECT_EQ(merge_directly().headers.get("X-Tarn-Error"), "approval_required");
  EXPECT_EQ(send({.method = "POST",
                  .path = pull + "/approvals",
                  .body = str_cat(R"({"commit_id":")", std::string(64, '0'), "\"}")})
                .headers.get("X-Tarn-Error"),
            "own_pull_request");
  expect_reason(send({.method = "DELETE", .path = pull + "/approvals"}), 404, "approval_not_found");
  EXPECT_EQ(get(pull + "/approvals").status, 200);
  EXPECT_EQ(send({.method = "PATCH", .path = pull, .body = R"({"status":"closed"})"}).status, 204);
  EXPECT_EQ(merge().headers.get("X-Tarn-Error"), "pull_request_not_open");
}

TEST_F(ApiTest, ShowsWhenABranchExpires) {
  const auto create = [&](const std::string& name, const std::string& expires) {
    return post(here + "/branches",
                R"({"name":")" + name + R"(","source":"main","expires":")" + expires + "\"}");
  };
  EXPECT_EQ(create("dev", "72h").status, 201);
  EXPECT_EQ(create("fixed", "2030-01-02T03:04:05Z").status, 201);
  const http::Response past = create("old", "2020-01-02T03:04:05Z");
  expect_reason(past, 400, "invalid_argument");
  EXPECT_NE(past.body.find("2020-01-02T03:04:05.000Z"), std::string::npos) << past.body;
  EXPECT_EQ(create("bad", "soon").status, 400);
  const std::string shown = "\"expires\":\"2030-01-02T03:04:05.000Z\"";
  EXPECT_NE(get(here + "/branches/fixed").body.find(shown), std::string::npos);
  EXPECT_NE(get(here + "/branches/dev").body.find("\"expires\":\"20"), std::string::npos);
  EXPECT_EQ(get(here + "/branches/main").body.find("expires"), std::string::npos);
  const std::string listed = get(here + "/branches").body;
  EXPECT_NE(listed.find(shown), std::string::npos);
  EXPECT_EQ(listed.find("\"old\""), std::string::npos);
}

}  // namespace
}  // namespace tarn::api
