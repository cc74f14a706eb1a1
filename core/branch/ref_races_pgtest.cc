// Creations of refs that are overtaken by another creation, or by the deletion of the repository.
#include <future>

#include <gtest/gtest.h>

#include "core/branch/refs.h"
#include "core/versioning/pull_requests.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::FaultPoints;
using testing::reason_of;
using testing::TestEngine;

class RefRaces : public testing::RepositoryTest {
 protected:
  FaultPoints faults;
  /// The server whose creation is overtaken; `engine` is the other one.
  TestEngine slow{shared_url(), engine.store, &faults};

  /// The results of two creations of one name. The second runs while the transaction of the first
  /// is open, after `statement`.
  template <typename First, typename Second>
  std::pair<std::string, std::string> both(const std::string& statement, const First& first,
                                           const Second& second) {
    std::future<std::string> other;
    faults.at_then_go_on({statement, true}, [&] {
      other = std::async(std::launch::async, [&] { return message_of(second); });
      EXPECT_EQ(other.wait_for(std::chrono::milliseconds{300}), std::future_status::timeout);
    });
    const std::string outcome = message_of(first);
    EXPECT_EQ(faults.unreached(), 0u);
    return {outcome, other.get()};
  }
  template <typename Body>
  static std::string message_of(const Body& body) {
    return testing::message_of(body);
  }
};

TEST_F(RefRaces, ABranchAndATagNeverShareAName) {
  // With an expiry the branch is made in a transaction of two statements: the second creation runs
  // between them.
  const Instant later = engine.clock.now() + std::chrono::hours{1};
  const auto make_branch = [&](TestEngine& server, const std::string& name) {
    create_branch(*server, repo, {BranchName(name), "main", false, false, later});
  };
  const auto make_tag = [&](TestEngine& server, const std::string& name) {
    create_tag(*server, repo, TagName(name), "main", false);
  };
  const auto [branch, tag] = both(
      "branches_create_row", [&] { make_branch(slow, "v1"); }, [&] { make_tag(engine, "v1"); });
  EXPECT_EQ(branch, "done");
  EXPECT_EQ(tag, "branch name v1: conflict found");
  EXPECT_THROW(get_tag(*engine, repo, TagName("v1")), Error);
}

TEST_F(RefRaces, NothingIsCreatedInARepositoryDuringItsDeletion) {
  const auto overtaken = [&](const std::string& statement, const auto& verb) {
    const auto doomed = engine.make_repository(fresh_name());
    faults.at_then_go_on({statement}, [&] { delete_repository(*engine, doomed, false); });
    const std::string reason = reason_of([&] { verb(doomed); });
    EXPECT_EQ(faults.unreached(), 0u);
    return reason;
  };
  EXPECT_EQ(overtaken("branches_create_row",
                      [&](const testing::TestRepository& r) { slow.branch(r, "b", "main"); }),
            "repository_not_found");
  EXPECT_EQ(overtaken("tags_insert_row",
                      [&](const testing::TestRepository& r) {
                        create_tag(*slow, r, TagName("t"), "main", false);
                      }),
            "repository_not_found");
  EXPECT_EQ(overtaken("pull_requests_insert_row",
                      [&](const testing::TestRepository& r) {
                        engine.branch(r, "b", "main");
                        versioning::create_pull_request(*slow, r,
                                                        {.title = "t",
                                                         .author = "ann",
                                                         .source = BranchName("b"),
                                                         .destination = BranchName("main")});
                      }),
            "repository_not_found");
  EXPECT_EQ(overtaken("repositories_hold_row",
                      [&](const testing::TestRepository& r) {
                        Commit commit;
                        commit.message = "recorded";
                        commit.generation = 1;
                        commit.id = compute_commit_id(commit);
                        versioning::record_commit(*slow, r, commit, false);
                      }),
            "repository_not_found");
  const db::Query orphans{"test_count_orphans", R"sql(
    SELECT (SELECT count(*) FROM branches b JOIN repositories r USING (repo_id) WHERE r.deleted_ms IS NOT NULL)
         + (SELECT count(*) FROM tags t JOIN repositories r USING (repo_id) WHERE r.deleted_ms IS NOT NULL)
         + (SELECT count(*) FROM pull_requests p JOIN repositories r USING (repo_id)
            WHERE r.deleted_ms IS NOT NULL))sql"};
  EXPECT_EQ(engine.pool.run(orphans, {}, db::Pool::Retry::kRead).integer(0, 0), 0);
}

}  // namespace
}  // namespace tarn::branch
