#include <utility>

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/branch/branch_hold.h"
#include "core/branch/hooks.h"
#include "core/branch/repositories.h"
#include "core/gc/collection.h"
#include "core/gc/collection_fixture.h"
#include "core/gc/holds.h"
#include "core/meta/references.h"
#include "core/meta/staged_batch.h"
#include "core/meta/writer.h"
#include "core/objects/multipart.h"
#include "core/objects/uploads.h"
#include "core/quotas/quotas.h"
#include "core/versioning/move.h"
#include "core/versioning/reset.h"

namespace tarn::gc {
namespace {

using testing::TestEngine;

class Collection : public CollectionTest {};

TEST_F(Collection, RemovesWhatWasOverwrittenAndNothingElse) {
  engine.put(repo, "main", "a", "first");
  engine.put(repo, "main", "a", "second");
  engine.put(repo, "main", "b", "kept");
  engine.commit(repo, "main");
  engine.put(repo, "main", "c", "staged");
  ASSERT_EQ(stored(repo), 4u);
  const CollectionRun first = collect(repo);
  EXPECT_EQ(first.counts.found_objects, 1);
  EXPECT_EQ(first.counts.live_objects, 3);
  EXPECT_EQ(first.counts.removed_objects, 0);
  EXPECT_EQ(stored(repo), 4u);
  const CollectionRun second = collect(repo);
  EXPECT_EQ(second.counts.removed_objects, 1);
  EXPECT_EQ(second.counts.removed_bytes, 5);
  EXPECT_EQ(stored(repo), 3u);
  EXPECT_EQ(engine.read(repo, "main", "a"), "second");
  EXPECT_EQ(engine.read(repo, "main", "b"), "kept");
  EXPECT_EQ(engine.read(repo, "main", "c"), "staged");
  EXPECT_EQ(collect(repo).counts.removed_objects, 0);
}

// Upload, delete and recount do not free what is stored; its removal does.
TEST_F(Collection, QuotasCountAnObjectUntilItHasLeftTheStore) {
  const auto [whole, ann] = overwrite_under_quotas();
  EXPECT_EQ(collect(repo).counts.found_objects, 1);
  EXPECT_EQ(used(whole), 11u);
  EXPECT_EQ(used(ann), 11u);
  EXPECT_EQ(collect(repo).counts.removed_bytes, 5);
  EXPECT_EQ(used(whole), 6u);
  EXPECT_EQ(used(ann), 6u);
  collect(repo);
  EXPECT_EQ(used(whole), 6u) << "once";
}

TEST_F(Collection, HistoryStaysReadable) {
  engine.put(repo, "main", "a", "one");
  const Commit one = engine.commit(repo, "main");
  engine.put(repo, "main", "a", "two");
  engine.commit(repo, "main");
  engine.remove(repo, "main", "a");
  engine.commit(repo, "main");
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
  EXPECT_EQ(engine.read(repo, to_text(one.id), "a"), "one");
}

TEST_F(Collection, WaitsForTheGrace) {
  engine.put(repo, "main", "a", "first");
  engine.put(repo, "main", "a", "second");
  options.grace = std::chrono::hours{1};
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
  EXPECT_EQ(collect(repo).counts.waiting_objects, 1);
  run_sql("UPDATE gc_candidates SET found_at = found_at - interval '61 minutes'");
  EXPECT_EQ(collect(repo).counts.removed_objects, 1);
}

TEST_F(Collection, OfADeletedBranchCommitsNodesAndObjectsGo) {
  engine.put(repo, "main", "kept", "kept");
  engine.commit(repo, "main");
  engine.branch(repo, "exp", "main");
  for (int i = 0; i < 300; ++i) engine.put(repo, "exp", str_cat("data/", i), "gone");
  const Commit commit = engine.commit(repo, "exp");
  const int64_t nodes = count("SELECT count(*) FROM nodes");
  branch::delete_branch(*engine, repo, BranchName("exp"), false);
  const CollectionCounts counts = collect_all(repo);
  EXPECT_EQ(counts.removed_commits, 1);
  EXPECT_EQ(counts.removed_objects, 300);
  EXPECT_GT(counts.removed_nodes, 0);
  EXPECT_EQ(count("SELECT count(*) FROM nodes"), nodes - counts.removed_nodes);
  EXPECT_EQ(count("SELECT count(*) FROM nodes"), 1);
  EXPECT_EQ(stored(repo), 1u);
  EXPECT_EQ(engine.read(repo, "main", "kept"), "kept");
  EXPECT_EQ(engine.read(repo, to_text(commit.id), "data/1"), "<absent>");
}

TEST_F(Collection, CommitsThatNothingLeadsToStayForATime) {
  engine.branch(repo, "exp", "main");
  engine.put(repo, "exp", "a", "bytes");
  const Commit commit = engine.commit(repo, "exp");
  branch::delete_branch(*engine, repo, BranchName("exp"), false);
  options.unreachable_kept = std::chrono::hours{24};
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
  EXPECT_EQ(engine.read(repo, to_text(commit.id), "a"), "bytes");
  run_sql("UPDATE commits SET stored_at = stored_at - interval '25 hours'");
  EXPECT_EQ(collect_all(repo).removed_objects, 1);
}

TEST_F(Collection, PartsGoWithTheirListAndStayWithACopy) {
  put_in_parts(repo, "big");
  put_in_parts(repo, "other");
  copy(repo, "main", "big", repo, "copy");
  engine.remove(repo, "main", "big");
  engine.remove(repo, "main", "other");
  const CollectionCounts counts = collect_all(repo);
  EXPECT_EQ(counts.removed_part_lists, 1);
  EXPECT_EQ(counts.removed_objects, 2);
  EXPECT_EQ(engine.read(repo, "main", "copy").size(), (5u << 20) + 4);
  EXPECT_EQ(count("SELECT count(*) FROM part_lists"), 1);
}

TEST_F(Collection, PartsOfOpenUploadsAndHandedOutAddressesStay) {
  const objects::MultipartUpload upload = begin(repo, "open");
  const std::string etag = part(upload, 1, "part");
  const objects::HandedOutAddress address =
      objects::hand_out_address(*engine, repo, BranchName("main"), Key("linked"), "tester");
  engine.send(address.text, "linked bytes");
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
  objects::complete_multipart(*engine, upload, completion_of({{1, etag, {}}}));
  const objects::UploadTarget target =
      objects::check_upload(*engine, repo, BranchName("main"), Key("linked"), false, {});
  objects::link_address(*engine, target, address.text, "tester", {12, "", {}}, {}, {});
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
  EXPECT_EQ(engine.read(repo, "main", "open"), "part");
  EXPECT_EQ(engine.read(repo, "main", "linked"), "linked bytes");
  objects::abort_multipart(*engine, begin(repo, "empty"));
  const objects::MultipartUpload given_up = begin(repo, "given_up");
  part(given_up, 1, "lost");
  objects::abort_multipart(*engine, given_up);
  EXPECT_EQ(collect_all(repo).removed_objects, 1);
}

TEST_F(Collection, OtherRepositoriesKeepWhatTheyRead) {
  testing::TestRepository reader = engine.make_repository("reader");
  engine.put(repo, "main", "staged", "staged there");
  engine.put(repo, "main", "committed", "committed there");
  put_in_parts(repo, "parts");
  copy(repo, "main", "committed", reader, "committed");
  copy(repo, "main", "parts", reader, "parts");
  engine.commit(reader, "main");
  copy(repo, "main", "staged", reader, "staged");
  for (const char* key : {"staged", "committed", "parts"}) engine.remove(repo, "main", key);
  const CollectionCounts counts = collect_all(repo);
  EXPECT_EQ(counts.removed_objects, 0);
  EXPECT_EQ(counts.removed_part_lists, 1) << "the list of the owner's; the reader has its own";
  EXPECT_EQ(engine.read(reader, "main", "staged"), "staged there");
  EXPECT_EQ(engine.read(reader, "main", "committed"), "committed there");
  EXPECT_EQ(engine.read(reader, "main", "parts").size(), (5u << 20) + 4);
  collect_all(reader);
  EXPECT_EQ(engine.read(reader, "main", "staged"), "staged there");
  engine.remove(reader, "main", "staged");
  EXPECT_EQ(collect_all(repo).removed_objects, 1);
}

TEST_F(Collection, SealedTokensAndOpenBatchesAreRoots) {
  engine.put(repo, "main", "a", "sealed");
  {
    const Branch branch = branch::get_branch(*engine, repo, BranchName("main"));
    branch::BranchHold hold(*engine, branch, /*rotate=*/true, {});
    ASSERT_FALSE(hold.lease().sealed.empty());
    EXPECT_EQ(collect_all(repo).removed_objects, 0);
  }
  EXPECT_EQ(engine.read(repo, "main", "a"), "sealed");
  const auto found = objects::find_object(*engine, repo, "main", Key("a"));
  engine.remove(repo, "main", "a");
  {
    // The rows of a batch that is being filled; its operation would keep collections from starting.
    meta::StagedBatch batch(engine.pool, (*engine).writer, repo.id);
    batch.add({"b", found->entry});
    batch.delete_range({"x", "y"});
    const int64_t token = count("SELECT max(token) FROM retired_tokens");
    run_sql(str_cat("INSERT INTO staging (token, key, kind, val) SELECT ", token,
                    ", 'b', 0, val FROM staging WHERE kind = 0 LIMIT 1;"
                    "DELETE FROM staging WHERE key = 'a'"));
    EXPECT_EQ(collect_all(repo).removed_objects, 0);
  }
}

TEST_F(Collection, AServerThatHasARemovedCommitCachedMakesNothingOfIt) {
  engine.branch(repo, "exp", "main");
  engine.put(repo, "exp", "a", "bytes");
  const std::string id = to_text(engine.commit(repo, "exp").id);
  TestEngine other(database.url(), engine.store);
  EXPECT_EQ(other.read(repo, id, "a"), "bytes");
  branch::delete_branch(*engine, repo, BranchName("exp"), false);
  other.parts().heartbeat();
  EXPECT_EQ(collect(repo).counts.removed_commits, 1);
  const Branch before = branch::get_branch(*engine, repo, BranchName("main"));
  const auto reason = [&](auto&& verb) { return testing::reason_of(verb); };
  EXPECT_EQ(
      reason([&] { versioning::hard_reset_branch(*other, repo, BranchName("main"), id, false); }),
      "commit_not_found");
  EXPECT_NE(reason([&] { other.branch(repo, "again", id); }), "done");
  EXPECT_NE(reason([&] { add_hold(*other, repo, {.ref = id, .reason = "r", .actor = "t"}); }),
            "done");
  EXPECT_EQ(branch::get_branch(*engine, repo, BranchName("main")).head, before.head);
  other.parts().heartbeat();
  EXPECT_EQ(other.read(repo, id, "a"), "<absent>") << "a heartbeat later it is forgotten";
}

TEST_F(Collection, RefusesToRemoveMoreThanItsShare) {
  for (int i = 0; i < 150; ++i) engine.put(repo, "main", str_cat("k", i), "x");
  for (int i = 0; i < 110; ++i) engine.remove(repo, "main", str_cat("k", i));
  options.share_max = 10;
  collect(repo);
  const CollectionRun refused = collect(repo);
  EXPECT_EQ(refused.state, "refused");
  EXPECT_EQ(refused.counts.due_objects, 110);
  EXPECT_EQ(refused.counts.removed_objects, 0);
  EXPECT_NE(refused.error.find("--yes-delete"), std::string::npos) << refused.error;
  EXPECT_EQ(stored(repo), 150u);
  EXPECT_EQ(collect(repo, /*share=*/75).counts.removed_objects, 110);
  EXPECT_EQ(collect(repo).state, "done");
}

TEST_F(Collection, FilesOfOthersAreCountedAndStay) {
  const auto write = [&](const std::string& key) {
    const blob::Located at = engine.stores.locate(repo.storage_namespace + "/" + key);
    const auto writer = at.store->create(at.key, 1);
    writer->write("x");
    ASSERT_TRUE(writer->finish());
  };
  write("data/readme.txt");
  write("data/00000000000000000000/short");
  write("elsewhere/file");
  settle();
  EXPECT_EQ(collect(repo).counts.strangers, 2);
  collect_all(repo);
  EXPECT_EQ(engine.store->list("lake/", "", 1000).items.size(), 9u)
      << "these, _tarn/repository and a record of each collection";
}

// A bare repository may be created where the repository of another installation has its objects.
// Verified by mutation: without the look at the marker, the objects of the other one go.
TEST_F(Collection, NothingIsRemovedFromTheNamespaceOfAnotherInstallation) {
  engine.put(repo, "main", "a", "theirs");
  engine.commit(repo, "main");
  testing::TestDatabase another;
  TestEngine elsewhere{another.url(), engine.store};
  const testing::TestRepository copy{branch::create_repository(
      *elsewhere,
      {.name = RepositoryName("lake"), .storage_namespace = "local://copy", .bare = true})};
  // Earlier versions created a bare repository anywhere.
  elsewhere.pool.run({"test_move", "UPDATE repositories SET storage_namespace = 'local://lake'"},
                     {}, db::Pool::Retry::kWrite);
  TestEngine restarted{another.url(), engine.store};
  std::vector<CollectionRun> runs;
  for (int i = 0; i < 3; ++i) {
    request_collection(*restarted, copy, "tester", 100);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    for (TestEngine* server : {&elsewhere, &restarted}) server->parts().heartbeat();
    ASSERT_TRUE(run_one_collection(*restarted, options, {}));
    runs.push_back(list_collections(*restarted, copy, 1).at(0));
  }
  EXPECT_EQ(engine.read(repo, "main", "a"), "theirs");
  EXPECT_EQ(stored(repo), 1u);
  EXPECT_EQ(runs[2].state, "refused");
  EXPECT_NE(runs[2].error.find("_tarn/repository"), std::string::npos) << runs[2].error;
  EXPECT_EQ(runs[2].counts.removed_objects, 0);
}

TEST_F(Collection, OfADeletedRepositoryEverythingGoesButWhatOthersRead) {
  testing::TestRepository reader = engine.make_repository("reader");
  engine.put(repo, "main", "shared", "shared");
  engine.put(repo, "main", "own", "own");
  put_in_parts(repo, "parts");
  engine.commit(repo, "main");
  copy(repo, "main", "shared", reader, "shared");
  branch::delete_repository(*engine, repo, false);
  const CollectionCounts counts = collect_all(repo);
  EXPECT_EQ(counts.removed_objects, 3);
  EXPECT_EQ(count(str_cat("SELECT count(*) FROM nodes WHERE repo_id = ", int(repo.id))), 0);
  EXPECT_EQ(count(str_cat("SELECT count(*) FROM commits WHERE repo_id = ", int(repo.id))), 0);
  EXPECT_EQ(count(str_cat("SELECT count(*) FROM part_lists WHERE repo_id = ", int(repo.id))), 0);
  EXPECT_EQ(engine.read(reader, "main", "shared"), "shared");
  EXPECT_EQ(count("SELECT count(*) FROM gc_repositories WHERE emptied"), 0);
  const std::string claims =
      str_cat("SELECT count(*) FROM store_claims WHERE repo_id = ", static_cast<int>(repo.id));
  EXPECT_GT(count(claims), 0);
  engine.remove(reader, "main", "shared");
  for (int i = 0; i < 4; ++i) {
    request_collection(*engine, repo, "tester", 0);
    settle();
    run_one_collection(*engine, options, {});
  }
  EXPECT_EQ(stored(repo), 0u);
  EXPECT_EQ(count("SELECT count(*) FROM gc_repositories WHERE emptied"), 1);
  EXPECT_EQ(count(claims), 0);
}

TEST_F(Collection, ReadingsOfMetricFilesGoWhenNoCommitNamesThem) {
  const Commit commit = commit_one("a");
  const std::string values = str_cat(static_cast<int>(repo.id), ", decode('", to_text(commit.id),
                                     "', 'hex'), 'loss', '', 2, 'm.csv', 1, 0, '\\x01'");
  run_sql(str_cat("INSERT INTO metric_files (repo_id, file_id, body, stored_at) SELECT ",
                  static_cast<int>(repo.id),
                  ", f, '', clock_timestamp() - age FROM (VALUES ('\\x01'::bytea, interval '8 d'), "
                  "('\\x02', '8 d'), ('\\x03', '6 d')) AS v(f, age);"
                  "INSERT INTO series (repo_id, file_id, name, split, piece, body) "
                  "SELECT repo_id, file_id, 'loss', '', 0, '' FROM metric_files;"
                  "INSERT INTO metrics (repo_id, commit_id, name, split, origin, source, value, "
                  "measured_ms, file_id) VALUES (",
                  values, ")"));
  const auto left = [&](const char* table) {
    return count(str_cat("SELECT sum(get_byte(file_id, 0))::bigint FROM ", table));
  };
  collect(repo);
  EXPECT_EQ(left("metric_files"), 1 + 3) << "one is named, one may be soon";
  EXPECT_EQ(left("series"), 1 + 3);
  versioning::hard_reset_branch(*engine, repo, BranchName("main"), to_text(commit.parents.at(0)),
                                true);
  collect(repo);
  EXPECT_EQ(left("metric_files"), 3) << "its commit is gone";
  EXPECT_EQ(left("series"), 3);
}

TEST_F(Collection, RowsOfServersThatDiedGo) {
  run_sql(
      "INSERT INTO writers (writer_id, nid_floor, address_floor_ms, expires_at) VALUES "
      "(-1, 0, 0, clock_timestamp() - interval '25 h'), (-2, 0, 0, clock_timestamp() - interval "
      "'23 h')");
  collect(repo);
  EXPECT_EQ(count("SELECT count(*) FROM writers WHERE writer_id < 0"), 1);
}

TEST_F(Collection, AHoldOfAPathKeepsTheObjectsBelowItAlone) {
  engine.branch(repo, "exp", "main");
  for (const char* key : {"a/1", "a/2", "ab", "b/1"}) engine.put(repo, "exp", key, key);
  engine.commit(repo, "exp");
  const auto hold = [&](const std::string& path) {
    return add_hold(*engine, repo, {.ref = "exp", .path = path, .reason = "audit", .actor = "t"});
  };
  EXPECT_EQ(testing::reason_of([&] { hold("none/"); }), "object_not_found");
  const Hold held = hold("a/");
  branch::delete_branch(*engine, repo, BranchName("exp"), false);
  EXPECT_EQ(collect_all(repo).removed_objects, 2);
  EXPECT_EQ(engine.keys(repo, to_text(held.commit)), "a/1 a/2");
  EXPECT_EQ(engine.read(repo, to_text(held.commit), "a/2"), "a/2");
  EXPECT_EQ(list_holds(*engine, repo, "", 10).items.at(0).path, "a/");
  remove_hold(*engine, repo, held.id, "t");
  EXPECT_EQ(collect_all(repo).removed_objects, 2);
  EXPECT_EQ(count("SELECT count(*) FROM nodes"), 0);
}

TEST_F(Collection, NamesWhatTheStoreRefusesAndTriesItAgain) {
  const Entry locked = engine.put(repo, "main", "a", "locked");
  engine.put(repo, "main", "a", "first");
  engine.put(repo, "main", "a", "second");
  const std::string path = relative_path(std::get<OwnAddress>(locked.address));
  bool refuses = true;
  engine.store->on_remove([&](std::string_view key) {
    if (refuses && key.ends_with(path)) {
      throw Error(ErrorCode::kPermissionDenied, "it is under a lock");
    }
  });
  collect(repo);
  for (int i = 0; i < 2; ++i) {
    const CollectionRun run = collect(repo);
    EXPECT_EQ(run.state, "done");
    EXPECT_EQ(run.counts.removed_objects, i == 0 ? 1 : 0);
    EXPECT_EQ(run.counts.failed_objects, 1);
    ASSERT_EQ(run.failures.size(), 1u);
    EXPECT_EQ(run.failures[0], path + ": it is under a lock");
    EXPECT_EQ(stored(repo), 2u);
  }
  refuses = false;
  EXPECT_EQ(collect(repo).counts.removed_objects, 1);
  EXPECT_EQ(stored(repo), 1u);
  EXPECT_EQ(engine.read(repo, "main", "a"), "second");
}

TEST_F(Collection, FailsWhenTheStoreIsAwayAndTheNextOneGoesOn) {
  for (int i = 0; i < 20; ++i) engine.put(repo, "main", "a", str_cat("text ", i));
  int removals = 0;
  engine.store->on_remove([&](std::string_view) {
    if (++removals == 7) throw Error(ErrorCode::kUnavailable, "the store is away");
  });
  collect(repo);
  const CollectionRun failed = collect(repo);
  EXPECT_EQ(failed.state, "failed");
  EXPECT_EQ(failed.error, "the store is away");
  EXPECT_EQ(collect(repo).state, "done");
  EXPECT_EQ(stored(repo), 1u);
  EXPECT_EQ(engine.read(repo, "main", "a"), "text 19");
}

}  // namespace
}  // namespace tarn::gc
