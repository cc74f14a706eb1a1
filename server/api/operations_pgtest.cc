// Requests that continue as background operations, over a real database.
#include <stop_token>

#include <gtest/gtest.h>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/pause.h"
#include "core/jobs/operation_runner.h"
#include "core/jobs/operations.h"
#include "core/meta/branches.h"
#include "core/meta/repositories.h"
#include "server/api/api_fixture.h"
#include "server/api/route.h"

namespace tarn::api {
namespace {

/// Another process holds the branch: a commit waits for it.
class HeldBranch : public ApiTest {
 protected:
  HeldBranch() {
    upload("a", "1");
    const auto branch = (*engine).branches.find(repository_id(), BranchName("main"));
    id = branch->id;
    EXPECT_EQ((*engine).branches.acquire(id, kOther, std::chrono::seconds{60}, false).outcome,
              meta::Branches::Acquired::Outcome::kDone);
  }
  RepositoryId repository_id() { return (*engine).repositories.find(repo)->id; }
  void release() { (*engine).branches.release(id, kOther); }

  http::Response commit(const std::string& preference) {
    Sent sent{
        .method = "POST", .path = here + "/branches/main/commits", .body = R"({"message":"m"})"};
    sent.headers.add("Prefer", preference);
    return send(std::move(sent));
  }
  http::Response wait_for(const http::Response& deferred) {
    Sent sent{.path = location(deferred)};
    sent.headers.add("Prefer", "wait=20");
    return send(std::move(sent));
  }
  static std::string location(const http::Response& deferred) {
    return std::string(deferred.headers.get("Location")).substr(kBasePath.size());
  }
  std::string head() {
    return to_text((*engine).branches.find(repository_id(), BranchName("main"))->head);
  }

  static constexpr int64_t kOther = 42;
  BranchId id{};
};

TEST_F(HeldBranch, AsyncRequestContinuesAndKeepsItsAnswer) {
  const http::Response deferred = commit("wait=0");
  EXPECT_EQ(deferred.status, 202);
  EXPECT_EQ(deferred.headers.get("Preference-Applied"), "respond-async");
  EXPECT_NE(deferred.body.find(R"("state":"running")"), std::string::npos) << deferred.body;
  release();
  const http::Response done = wait_for(deferred);
  EXPECT_EQ(done.status, 200);
  EXPECT_NE(done.body.find(R"("state":"done")"), std::string::npos) << done.body;
  EXPECT_NE(done.body.find(R"("status":201,"result":{"committer":"admin")"), std::string::npos)
      << done.body;
  EXPECT_EQ(send({.method = "DELETE", .path = location(deferred)}).status, 409) << "it has ended";
  EXPECT_NE(get("/operations").body.find(R"("operation":"commit")"), std::string::npos);
}

TEST_F(HeldBranch, AnAnswerWithinTheWaitIsTheUsualOne) {
  release();
  const std::string before = get("/operations").body;
  const http::Response done = commit("respond-async, wait=30");
  EXPECT_EQ(done.status, 201);
  EXPECT_EQ(done.headers.get("Preference-Applied"), "wait=30");
  const http::Response failed = commit("wait=30");
  EXPECT_EQ(failed.status, 400) << "nothing to commit, told as ever";
  EXPECT_EQ(get("/operations").body, before) << "nobody has to poll what was answered";
}

TEST_F(HeldBranch, ACancelledOperationChangesNothing) {
  const std::string before = head();
  const http::Response deferred = commit("wait=0");
  ASSERT_EQ(deferred.status, 202);
  const http::Response asked = send({.method = "DELETE", .path = location(deferred)});
  EXPECT_EQ(asked.status, 202);
  EXPECT_NE(asked.body.find(R"("state":"cancelling")"), std::string::npos) << asked.body;
  const http::Response ended = wait_for(deferred);
  EXPECT_NE(ended.body.find(R"("state":"cancelled")"), std::string::npos) << ended.body;
  EXPECT_NE(ended.body.find(R"("code":"operation_cancelled")"), std::string::npos) << ended.body;
  release();
  EXPECT_EQ(head(), before);
  EXPECT_EQ(commit("wait=30").status, 201) << "what was staged is still there";
}

TEST_F(HeldBranch, AFailureIsKeptAsItWouldHaveBeenAnswered) {
  release();
  Sent merge{.method = "POST", .path = here + "/refs/main/merge/no-such", .body = "{}"};
  merge.headers.add("Prefer", "respond-async");
  http::Response answer = send(std::move(merge));
  if (answer.status == 202) {
    answer = wait_for(answer);
    EXPECT_NE(answer.body.find(R"("state":"failed")"), std::string::npos) << answer.body;
    EXPECT_NE(answer.body.find(R"("status":404)"), std::string::npos) << answer.body;
  } else {
    EXPECT_EQ(answer.status, 404);
  }
}

TEST_F(ApiTest, OperationsAreVisibleToTheirOwnerOnly) {
  jobs::Operations rows{engine.pool, engine.clock};
  const std::string id = rows.start("commit", "/x", "somebody", std::chrono::seconds{60});
  EXPECT_EQ(get("/operations/" + id).status, 404);
  EXPECT_EQ(send({.method = "DELETE", .path = "/operations/" + id}).status, 404);
  EXPECT_EQ(get("/operations").body.find(id), std::string::npos);
}

// Verified by mutation: with the owner's name alone: the second user read what the first had been
// answered.
TEST_F(ApiTest, OperationsAreNotThoseOfALaterUserOfTheSameName) {
  jobs::Operations rows{engine.pool, engine.clock};
  auth::Users& users = service.directory.users;
  users.create({"eve", engine.clock.now(), {}, {}});
  const std::string id = rows.start("commit", "/x", "eve", std::chrono::seconds{60});
  EXPECT_TRUE(rows.find("eve", id));
  EXPECT_EQ(rows.list("eve", "", 10).items.size(), 1u);
  users.remove("eve");
  EXPECT_FALSE(rows.find("eve", id));
  users.create({"eve", engine.clock.now(), {}, {}});
  EXPECT_FALSE(rows.find("eve", id));
  EXPECT_TRUE(rows.list("eve", "", 10).items.empty());
  EXPECT_FALSE(rows.request_cancel("eve", id));
}

// A user who can only read fills the database with stored answers no more.
TEST_F(ApiTest, TheKeptResultsOfAUserAreBoundedInBytesAndNumber) {
  jobs::Operations rows{engine.pool, engine.clock};
  const auto end = [&](std::string_view owner, size_t bytes) {
    const std::string id = rows.start("listObjects", "/x", owner, std::chrono::seconds{60});
    rows.finish(id, OperationState::kDone, 200, std::string(bytes, 'x'));
    return id;
  };
  service.directory.users.create({"ann", engine.clock.now(), {}, {}});
  const std::string others = end("ann", 1000);
  const std::string running = rows.start("commit", "/x", "admin", std::chrono::seconds{60});
  std::string newest;
  for (int i = 0; i < 40; ++i) newest = end("admin", 1 << 20);
  size_t bytes = 0;
  std::string after;
  for (bool more = true; more;) {
    const Page<Operation> page = rows.list("admin", after, 1000);
    for (const Operation& one : page.items) bytes += one.body.size();
    more = page.has_more;
    after = page.next;
  }
  EXPECT_LE(bytes, jobs::kOperationBytesKeptMax);
  EXPECT_GE(bytes, jobs::kOperationBytesKeptMax - (1 << 20));
  EXPECT_TRUE(rows.find("admin", newest));
  EXPECT_TRUE(rows.find("admin", running)) << "what runs is kept";
  EXPECT_TRUE(rows.find("ann", others)) << "another's results";
  newest = end("admin", jobs::kOperationBytesKeptMax + 1);
  EXPECT_TRUE(rows.find("admin", newest)) << "the newest in any case";
  for (uint32_t i = 0; i < jobs::kOperationsKeptMax + 10; ++i) end("admin", 1);
  const Page<Operation> kept = rows.list("admin", "", 1000);
  EXPECT_EQ(kept.items.size(), jobs::kOperationsKeptMax);
  EXPECT_TRUE(kept.has_more) << "the one that runs";
}

TEST_F(ApiTest, AnOperationWhoseServerDiedShowsAsLost) {
  jobs::Operations rows{engine.pool, engine.clock};
  const std::string id = rows.start("commit", "/x", "admin", std::chrono::seconds{-1});
  const http::Response found = get("/operations/" + id);
  EXPECT_NE(found.body.find(R"("state":"lost")"), std::string::npos) << found.body;
  EXPECT_NE(found.body.find(R"("code":"operation_lost")"), std::string::npos) << found.body;
  EXPECT_EQ(send({.method = "DELETE", .path = "/operations/" + id}).status, 409);
}

TEST_F(ApiTest, TheNumberOfRunningOperationsIsBounded) {
  std::stop_source all_may_end;
  jobs::OperationWork forever{
      .name = "test",
      .target = "/x",
      .owner = "",
      .run =
          [end = all_may_end.get_token()] {
            while (!end.stop_requested()) throw_if_cancelled(), pause(end, std::chrono::seconds{1});
          },
      .result = [](const std::exception_ptr&) { return jobs::OperationResult{}; }};
  const auto refused = [&](const std::string& owner) {
    try {
      forever.owner = owner;
      service.operations.run(forever, {});
      return false;
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), "too_many_operations");
      return true;
    }
  };
  size_t running = 0;
  for (const char* owner : {"ann", "bob", "cas", "dan"}) {
    for (size_t i = 0; i < jobs::kOperationsPerOwnerMax; ++i, ++running) {
      EXPECT_FALSE(refused(owner)) << "another's do not keep " << owner << "'s from running";
    }
    EXPECT_TRUE(refused(owner)) << "one too many of " << owner;
  }
  EXPECT_EQ(running, jobs::kOperationsRunningMax);
  EXPECT_TRUE(refused("eve")) << "one too many in all";
  all_may_end.request_stop();
  for (int i = 0; i < 100; ++i) {
    try {
      service.operations.run(forever, {});
      return;
    } catch (const Error&) {
      pause({}, std::chrono::milliseconds{20});
    }
  }
  FAIL() << "ended operations make room";
}

}  // namespace
}  // namespace tarn::api
