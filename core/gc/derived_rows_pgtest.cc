// Rows and files that are made of tree nodes on request, while a collection removes the nodes.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/gc/collection_fixture.h"
#include "core/meta/staging.h"
#include "core/objects/range_summaries.h"
#include "core/objects/search.h"
#include "core/versioning/metadata_files.h"
#include "tests/support/fault_points.h"

namespace tarn::gc {
namespace {

using testing::FaultPoints;
using testing::reason_of;
using testing::TestEngine;
using versioning::SstableKind;

class DerivedRows : public CollectionTest {
 protected:
  /// A branch of main with `last - first` imported objects, committed. Trees of the same objects
  /// have the same hashes, and nodes of their own.
  TreeRoot commit_objects(const std::string& branch, int first, int last) {
    engine.branch(repo, branch, "main");
    std::vector<meta::StagedRow> rows;
    for (int i = first; i < last; ++i) {
      Entry entry;
      entry.size_bytes = 7;
      entry.mtime = from_millis(1'700'000'000'000);
      entry.etag = std::string(32, 'a');
      entry.address = ExternalAddress{str_cat("s3://lake/", i)};
      rows.push_back({str_cat("part-", 100'000 + i), entry});
    }
    (*engine).staging.stage_many(branch::get_branch(*engine, repo, BranchName(branch)).id,
                                 std::move(rows));
    engine.commit(repo, branch);
    return branch::resolve_commit(*engine, repo, branch).root;
  }

  /// A collection that waits for neither server.
  CollectionRun collect_now() {
    settle();
    slow.parts().heartbeat();
    return collect(repo);
  }

  /// Deletes the branch, and the nodes that it alone has.
  void remove(const std::string& branch) {
    branch::delete_branch(*engine, repo, BranchName(branch), false);
    EXPECT_GT(collect_now().counts.removed_nodes, 0);
  }

  static void search(TestEngine& server, const Repository& repository, const std::string& ref) {
    objects::SearchOptions options;
    options.query.glob = Glob("*-none");
    objects::search_objects(*server, repository.name, ref, options);
    (*server).summaries.flush();
  }

  /// As an old server or a restart forgets its caches: the nodes are read from the database.
  std::string metarange_read_anew(const TreeRoot& root) {
    TestEngine other(database.url(), engine.store);
    return reason_of(
        [&] { versioning::metadata_file(*other, repo, SstableKind::kMetarange, root.hash); });
  }

  int64_t stray_rows() {
    return count(
        "SELECT (SELECT count(*) FROM range_summaries s WHERE NOT EXISTS (SELECT 1 FROM nodes n "
        "WHERE n.nid = s.nid)) + (SELECT count(*) FROM sstables s WHERE NOT EXISTS (SELECT 1 FROM "
        "nodes n WHERE n.nid = s.nid))");
  }
  std::vector<std::string> files() {
    std::vector<std::string> out;
    for (const auto& item : engine.store->list("", "", blob::kListItemsMax).items) {
      if (item.key.find("/_tarn/sstables/") != std::string::npos) out.push_back(item.key);
    }
    return out;
  }

  FaultPoints faults;
  TestEngine slow{database.url(), engine.store, &faults};
};

// A search that began before the nodes were removed stores summaries of them.
TEST_F(DerivedRows, SummariesThatWereStoredDuringARemovalGoWithTheNextOne) {
  commit_objects("exp", 0, 2'000);
  faults.at_then_go_on({"range_summaries_insert_rows"}, [this] { remove("exp"); });
  search(slow, repo, "exp");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_GT(stray_rows(), 0) << "nothing locks the nodes";
  collect_now();
  EXPECT_EQ(stray_rows(), 0);
}

TEST_F(DerivedRows, SummariesOfNodesThatStayStay) {
  commit_objects("exp", 0, 2'000);
  search(engine, repo, "exp");
  const int64_t summaries = count("SELECT count(*) FROM range_summaries");
  ASSERT_GT(summaries, 5);
  collect_now();
  EXPECT_EQ(count("SELECT count(*) FROM range_summaries"), summaries);
}

// The row of a metarange is stored when its nodes have gone. The same objects, committed again,
// have the same id.
TEST_F(DerivedRows, ARowThatWasStoredDuringARemovalHidesNoNodeOfTheSameHash) {
  const TreeRoot first = commit_objects("exp", 0, 100);
  faults.at_then_go_on({"sstables_insert_rows"}, [this] { remove("exp"); });
  EXPECT_NE(reason_of([&] {
              versioning::metadata_file(*slow, repo, SstableKind::kMetarange, first.hash);
            }),
            "done");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(stray_rows(), 1);
  const TreeRoot second = commit_objects("again", 0, 100);
  ASSERT_EQ(second.hash, first.hash);
  ASSERT_NE(second.nid, first.nid);
  EXPECT_EQ(metarange_read_anew(second), "done");
  collect_now();
  EXPECT_EQ(stray_rows(), 0);
  EXPECT_EQ(metarange_read_anew(second), "done");
}

// Two nodes have the hash of a range. The one that was requested first goes, the metarange of the
// other names the range still.
TEST_F(DerivedRows, OfTwoNodesWithOneHashTheOneThatStaysIsFound) {
  const TreeRoot first = commit_objects("first", 0, 2'000);
  const TreeRoot second = commit_objects("second", 0, 2'001);
  for (const TreeRoot& root : {first, second}) {
    versioning::metadata_file(*engine, repo, SstableKind::kMetarange, root.hash);
  }
  // Ranges are the roots, of level 1: that is no range that both trees have.
  ASSERT_NE(first.hash, second.hash);
  const auto child = [this](const TreeRoot& root) {
    const tree::ChildRef at = (*engine).nodes.load(root.nid)->child(0);
    return TreeRoot{at.nid, at.hash};
  };
  const TreeRoot a = child(first), b = child(second);
  ASSERT_EQ(a.hash, b.hash);
  ASSERT_NE(a.nid, b.nid);
  for (const TreeRoot& node : {a, b}) {
    (*engine).sstables.add(repo.id, SstableKind::kRange, {&node, 1});
  }
  versioning::metadata_file(*engine, repo, SstableKind::kRange, a.hash);
  for (const char* branch : {"first", "second"}) {
    EXPECT_EQ(
        reason_of([&] { versioning::metadata_file(*engine, repo, SstableKind::kRange, b.hash); }),
        "done")
        << branch;
    if (std::string(branch) == "first") remove(branch);
  }
  remove("second");
  EXPECT_EQ(
      reason_of([&] { versioning::metadata_file(*engine, repo, SstableKind::kRange, b.hash); }),
      "range_not_found");
  EXPECT_EQ(stray_rows(), 0);
  EXPECT_EQ(files().size(), 0u);
}

// Files that no row names: of requests that wrote one at once, of servers that died, and of nodes
// that were removed meanwhile.
TEST_F(DerivedRows, FilesThatNoRowNamesGoWhenTheyAreOld) {
  const TreeRoot root = commit_objects("exp", 0, 100);
  const versioning::MetadataFile kept =
      versioning::metadata_file(*engine, repo, SstableKind::kMetarange, root.hash);
  faults.at_then_go_on({"sstables_set_file"}, [this, &root] {
    versioning::metadata_file(*engine, repo, SstableKind::kRange, root.hash);
  });
  versioning::metadata_file(*slow, repo, SstableKind::kRange, root.hash);
  EXPECT_EQ(faults.unreached(), 0u);
  ASSERT_EQ(files().size(), 3u);
  collect_now();
  EXPECT_EQ(files().size(), 3u) << "a file that is being written has no row";
  options.unfinished_kept = std::chrono::seconds{0};
  collect_now();
  EXPECT_EQ(files().size(), 2u);
  EXPECT_TRUE(engine.store->stat(kept.at.key));
}

TEST_F(DerivedRows, OfADeletedRepositoryTheFilesGo) {
  const TreeRoot root = commit_objects("exp", 0, 100);
  versioning::metadata_file(*engine, repo, SstableKind::kMetarange, root.hash);
  ASSERT_EQ(files().size(), 1u);
  branch::delete_repository(*engine, repo, true);
  collect_now();
  EXPECT_EQ(files().size(), 0u);
}

}  // namespace
}  // namespace tarn::gc
