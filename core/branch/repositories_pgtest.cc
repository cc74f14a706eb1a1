// Repositories and the refs in them over a real database.
#include <thread>

#include <gtest/gtest.h>

#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/versioning/verbs_fixture.h"
#include "tests/support/fault_points.h"

namespace tarn::versioning {
namespace {

using testing::reason_of;
using testing::TestEngine;

TEST_F(Verbs, ANewRepositoryHasOneEmptyCommit) {
  const Commit first = resolve_commit(*engine, repo, "main");
  EXPECT_EQ(first.message, "Repository created");
  EXPECT_TRUE(first.parents.empty());
  EXPECT_TRUE(first.root.empty());
  EXPECT_EQ(first.generation, 1);
  EXPECT_EQ(reason_of([&] { engine.make_repository(repo.str()); }), "already_exists");
}

TEST_F(Verbs, RefsResolveByTheirGrammar) {
  engine.put(repo, "main", "a", "1");
  const Commit one = engine.commit(repo, "main");
  create_tag(*engine, repo, TagName("v1"), "main", false);
  EXPECT_EQ(resolve_commit(*engine, repo, "v1").id, one.id);
  EXPECT_EQ(resolve_commit(*engine, repo, to_text(one.id).substr(0, 12)).id, one.id);
  EXPECT_EQ(resolve_commit(*engine, repo, "main@").id, one.id);
  EXPECT_EQ(resolve_commit(*engine, repo, "main^0").id, one.id);
  EXPECT_EQ(resolve_commit(*engine, repo, "main~1").message, "Repository created");
  EXPECT_EQ(reason_of([&] { resolve_commit(*engine, repo, "main~2"); }), "ref_not_found");
  EXPECT_EQ(reason_of([&] { resolve_commit(*engine, repo, "main^2"); }), "invalid_argument");
  EXPECT_EQ(reason_of([&] { resolve_commit(*engine, repo, "main$"); }), "invalid_argument");
  EXPECT_EQ(reason_of([&] { resolve_commit(*engine, repo, "nope"); }), "ref_not_found");
  EXPECT_EQ(reason_of([&] { create_tag(*engine, repo, TagName("v1"), "v1", false); }),
            "already_exists");
  EXPECT_EQ(reason_of([&] { engine.branch(repo, "v1", "main"); }), "conflict");
}

TEST_F(Verbs, AReadOnlyRepositoryRefusesEveryWriteWithoutForce) {
  RepositoryCreation creation;
  creation.name = RepositoryName("frozen");
  creation.storage_namespace = "local://frozen";
  creation.read_only = true;
  create_repository(*engine, creation);
  const RepositoryName frozen("frozen");
  EXPECT_EQ(reason_of([&] { engine.put(frozen, "main", "a", "1"); }), "read_only_repository");
  EXPECT_EQ(reason_of([&] { engine.branch(frozen, "dev", "main"); }), "read_only_repository");
  EXPECT_EQ(reason_of([&] { engine.commit(frozen, "main"); }), "read_only_repository");
  EXPECT_EQ(reason_of([&] { delete_repository(*engine, frozen, false); }), "read_only_repository");
  delete_repository(*engine, frozen, true);
  EXPECT_EQ(reason_of([&] { get_repository(*engine, frozen); }), "repository_not_found");
}

TEST_F(Verbs, NamespacesAreNeitherReusedNorNested) {
  RepositoryCreation creation;
  creation.name = RepositoryName("second");
  const std::string used = "local://" + repo.str();
  for (const std::string& url : {used, used + "/", used + "/below"}) {
    creation.storage_namespace = url;
    EXPECT_EQ(reason_of([&] { create_repository(*engine, creation); }), "namespace_in_use") << url;
  }
  for (const char* url :
       {"local://../x", "local://a/../b", "local://", "local:///abs", "ftp://x", "local://a//b"}) {
    creation.storage_namespace = url;
    EXPECT_EQ(reason_of([&] { create_repository(*engine, creation); }), "invalid_argument") << url;
  }
  delete_repository(*engine, repo, false);
  creation.name = repo;
  creation.storage_namespace = used;
  EXPECT_EQ(reason_of([&] { create_repository(*engine, creation); }), "namespace_in_use");
  creation.storage_namespace = used + "-again";
  create_repository(*engine, creation);
}

// Both retire the branch's tokens.
TEST_F(Verbs, RepositoryIsDeletedDuringABranchDeletion) {
  testing::FaultPoints faults;
  TestEngine other(shared_url(), engine.store, &faults);
  engine.branch(repo, "dev", "main");
  const auto waits = [&] {
    const db::Rows rows = engine.pool.run(
        {"test_any_waits",
         "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND "
         "wait_event_type = 'Lock')"},
        {}, db::Pool::Retry::kRead);
    return rows.boolean(0, 0);
  };
  std::string said;
  std::jthread deletion;
  faults.at_then_go_on({"commit"}, [&] {
    deletion =
        std::jthread([&] { said = reason_of([&] { delete_repository(*engine, repo, false); }); });
    while (!waits()) std::this_thread::yield();
  });
  delete_branch(*other, repo, BranchName("dev"), false);
  deletion.join();
  EXPECT_EQ(said, "done");
}

}  // namespace
}  // namespace tarn::versioning
