// Repositories and the refs in them over a real database.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "core/branch/namespace_marker.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/versioning/verbs_fixture.h"
#include "tests/support/fault_points.h"
#include "tests/support/forwarding_store.h"

namespace tarn::branch {
namespace {

using testing::reason_of;
using testing::TestEngine;
using versioning::Verbs;

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

// Each looks for the other before either is there.
TEST_F(Verbs, OfNestedNamespacesAtOnceOneIsCreated) {
  testing::FaultPoints faults;
  TestEngine other(shared_url(), engine.store, &faults);
  RepositoryCreation inner{.name = RepositoryName(fresh_name()),
                           .storage_namespace = "local://" + repo.str() + "-outer/data"};
  RepositoryCreation outer{.name = RepositoryName(fresh_name()),
                           .storage_namespace = "local://" + repo.str() + "-outer"};
  std::string said;
  faults.at_then_go_on({"repositories_select_overlapping", true},
                       [&] { said = reason_of([&] { create_repository(*engine, inner); }); });
  EXPECT_EQ(reason_of([&] { create_repository(*other, outer); }), "namespace_in_use");
  EXPECT_EQ(said, "done");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.store->stat(repo.str() + "-outer/_tarn/repository"), std::nullopt)
      << "the namespace is free for another";
}

// The lock, without the marker: a database without a look at the store.
TEST_F(Verbs, OfNestedReadOnlyNamespacesAtOnceOneIsCreated) {
  testing::FaultPoints faults;
  TestEngine other(shared_url(), engine.store, &faults);
  RepositoryCreation inner{.name = RepositoryName(fresh_name()),
                           .storage_namespace = "local://" + repo.str() + "-frozen/inner",
                           .read_only = true};
  RepositoryCreation outer{.name = RepositoryName(fresh_name()),
                           .storage_namespace = "local://" + repo.str() + "-frozen",
                           .read_only = true};
  faults.at_then_go_on({"repositories_select_overlapping", true},
                       [&] { create_repository(*engine, inner); });
  EXPECT_EQ(reason_of([&] { create_repository(*other, outer); }), "namespace_in_use");
}

TEST_F(Verbs, ANameThatIsTakenMeanwhileLeavesTheNamespaceFree) {
  testing::FaultPoints faults;
  TestEngine other(shared_url(), engine.store, &faults);
  const std::string name = fresh_name();
  faults.at_then_go_on({"repositories_lock_namespaces"}, [&] { engine.make_repository(name); });
  RepositoryCreation creation{.name = RepositoryName(name),
                              .storage_namespace = "local://" + name + "-free"};
  EXPECT_EQ(reason_of([&] { create_repository(*other, creation); }), "already_exists");
  creation.name = RepositoryName(fresh_name());
  EXPECT_EQ(reason_of([&] { create_repository(*other, creation); }), "done");
}

/// A store that refuses to list, or fails to.
class ListlessStore final : public testing::ForwardingStore {
 public:
  ListlessStore(blob::BlobStore& store, ErrorCode code) : ForwardingStore(store), code_(code) {}
  blob::ListPage list(std::string_view, std::string_view, uint32_t) override {
    throw Error(code_, "listing: not now");
  }
  void walk(std::string_view, std::string_view, const Visit&) override {
    throw Error(code_, "listing: not now");
  }

 private:
  ErrorCode code_;
};

TEST_F(Verbs, AStoreThatMayNotBeListedTakesRepositoriesAndOneThatFailsKeepsNoMarker) {
  TestEngine other(shared_url(), engine.store);
  const std::string name = fresh_name();
  const RepositoryCreation creation{.name = RepositoryName(name),
                                    .storage_namespace = "local://" + name};
  other.stores.set_local_root(
      std::make_unique<ListlessStore>(*engine.store, ErrorCode::kUnavailable));
  EXPECT_EQ(reason_of([&] { create_repository(*other, creation); }), "unavailable");
  EXPECT_EQ(engine.store->stat(name + "/_tarn/repository"), std::nullopt);
  other.stores.set_local_root(
      std::make_unique<ListlessStore>(*engine.store, ErrorCode::kPermissionDenied));
  EXPECT_EQ(reason_of([&] { create_repository(*other, creation); }), "done");
  EXPECT_EQ(reason_of([&] { other.put(RepositoryName(name), "main", "a", "a"); }), "done");
  TestEngine later(shared_url(), engine.store);
  later.stores.set_local_root(
      std::make_unique<ListlessStore>(*engine.store, ErrorCode::kPermissionDenied));
  EXPECT_EQ(reason_of([&] { later.put(RepositoryName(name), "main", "b", "b"); }), "done");
}

// The server died between its marker and the repository.
TEST_F(Verbs, ANamespaceWithoutARepositoryCanBeTakenAgain) {
  Repository gone;
  gone.name = RepositoryName(fresh_name());
  gone.storage_namespace = "local://" + gone.name.str();
  const auto create = [&] {
    return reason_of([&] {
      create_repository(*engine, {.name = RepositoryName(fresh_name()),
                                  .storage_namespace = gone.storage_namespace});
    });
  };
  const std::string owner = (*engine).owners.identity();
  ASSERT_TRUE(mark_namespace(engine.stores, gone, owner));
  EXPECT_EQ(create(), "namespace_in_use") << "it may be created right now";
  const Instant later = engine.clock.now() + 2 * kMarkerAbandonedAfter;
  EXPECT_FALSE(replace_abandoned_marker(engine.stores, gone, "another-database", later));
  const std::string object = gone.name.str() + "/data/a";
  ASSERT_TRUE(engine.store->create(object, 0)->finish());
  EXPECT_FALSE(replace_abandoned_marker(engine.stores, gone, owner, later)) << "it has objects";
  engine.store->remove(object);
  EXPECT_TRUE(replace_abandoned_marker(engine.stores, gone, owner, later));
  EXPECT_TRUE(owns_namespace(engine.stores, gone));
}

// Databases that share a store know nothing of each other.
TEST_F(Verbs, NamespacesOfAnotherInstallationAreNotNestedIn) {
  const testing::TestDatabase database;
  TestEngine elsewhere(database.url(), engine.store);
  const std::string used = "local://" + repo.str();
  int number = 0;
  for (const std::string& url :
       {used, used + "/below", used + "/data", used + "/data/deep", used + "/_tarn"}) {
    RepositoryCreation creation{.name = RepositoryName("second"), .storage_namespace = url};
    EXPECT_EQ(reason_of([&] { create_repository(*elsewhere, creation); }), "namespace_in_use")
        << url;
    creation.bare = true;
    EXPECT_EQ(reason_of([&] { create_repository(*elsewhere, creation); }), "namespace_in_use")
        << url;
  }
  for (const char* inside : {"/data", "/_tarn", "/data/deep"}) {
    const std::string around = "local://" + repo.str() + "-" + std::to_string(number++);
    create_repository(*elsewhere, {.name = RepositoryName("inside-" + std::to_string(number)),
                                   .storage_namespace = around + inside});
    EXPECT_EQ(reason_of([&] {
                create_repository(
                    *engine, {.name = RepositoryName(fresh_name()), .storage_namespace = around});
              }),
              "namespace_in_use")
        << inside;
  }
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
}  // namespace tarn::branch
