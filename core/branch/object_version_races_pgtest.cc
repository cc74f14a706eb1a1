// Versions that are made, removed and committed at once, on two servers.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/object_versions.h"
#include "core/branch/protection.h"
#include "core/branch/settings.h"
#include "core/objects/version_listing.h"
#include "core/versioning/merge.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::FaultPoints;
using testing::kMain;
using testing::reason_of;
using testing::TestEngine;
using testing::TextBody;

class ObjectVersionRaces : public testing::RepositoryTest {
 protected:
  void SetUp() override { set_versioning(*engine, repo, Versioning::kEnabled); }

  std::optional<VersionId> put(TestEngine& server, const std::string& key,
                               const std::string& text) {
    const objects::UploadTarget target =
        objects::check_upload(*server, repo, kMain, Key(key), false, {});
    TextBody body(text);
    return objects::put_object(*server, target, body, text.size(), {}, {}).version;
  }
  std::optional<ObjectVersion> drop(TestEngine& server, const std::string& key,
                                    const std::optional<VersionId>& id) {
    return remove_version(*server, repo, kMain, Key(key), id, false);
  }
  std::string text_of(const Entry& entry) {
    std::string out(entry.size_bytes, '\0');
    const auto reader =
        objects::open_object(*engine, get_repository(*engine, repo), entry, {0, entry.size_bytes});
    EXPECT_EQ(reader->read(out), out.size());
    return out;
  }
  std::string at(const std::string& key, const std::optional<VersionId>& id) {
    const auto found = find_version(*engine, repo, kMain, Key(key), id);
    if (!found) return "<none>";
    return found->entry ? text_of(*found->entry) : "-";
  }
  std::string listed() {
    std::string out;
    for (const objects::VersionItem& item :
         objects::list_versions(*engine, repo, kMain, {}).items) {
      out +=
          str_cat(out.empty() ? "" : " ", item.version->entry ? text_of(*item.version->entry) : "-",
                  item.version->id ? "" : "(null)", item.version->latest ? "!" : "");
    }
    return out;
  }

  FaultPoints faults;
  /// The server whose verb is overtaken; `engine` is the other one.
  TestEngine slow{shared_url(), engine.store, &faults};
};

TEST_F(ObjectVersionRaces, BothOfTwoConcurrentWritesAreKept) {
  for (const std::string statement : {"staging_insert_row_if", "object_versions_select_newest"}) {
    std::optional<VersionId> other;
    faults.at_then_go_on({statement}, [&] { other = put(engine, "a", "other"); });
    const auto mine = put(slow, "a", "mine");
    ASSERT_EQ(faults.unreached(), 0u) << statement;
    ASSERT_TRUE(mine && other);
    EXPECT_EQ(at("a", mine), "mine");
    EXPECT_EQ(at("a", other), "other");
    EXPECT_TRUE(listed().starts_with("mine! other")) << listed();
  }
}

TEST_F(ObjectVersionRaces, AWriteOvertakenByACommitIsKept) {
  put(engine, "a", "1");
  for (const std::string statement : {"staging_insert_row_if", "object_versions_record"}) {
    std::thread committer;
    faults.at_then_go_on({statement}, [&] {
      committer = std::thread([&] { engine.commit(repo, "main"); });
      if (statement == "staging_insert_row_if") committer.join();
    });
    put(engine, "b", statement);
    const auto mine = put(slow, "a", statement);
    if (committer.joinable()) committer.join();
    ASSERT_EQ(faults.unreached(), 0u) << statement;
    EXPECT_EQ(at("a", mine), statement);
    EXPECT_EQ(engine.read(repo, "main", "a"), statement);
  }
}

TEST_F(ObjectVersionRaces, WriteThatBeganBeforeVersioningWasEnabledIsAVersion) {
  set_versioning(*engine, repo, Versioning::kSuspended);
  faults.at_then_go_on({"staging_insert_rows"},
                       [&] { set_versioning(*engine, repo, Versioning::kEnabled); });
  const auto mine = put(slow, "a", "1");
  ASSERT_EQ(faults.unreached(), 0u);
  ASSERT_TRUE(mine);
  EXPECT_EQ(at("a", mine), "1");
}

TEST_F(ObjectVersionRaces, WriteThatEndsAfterVersioningWasSuspendedIsNoVersion) {
  faults.at_then_go_on({"staging_insert_row_if"},
                       [&] { set_versioning(*engine, repo, Versioning::kSuspended); });
  EXPECT_FALSE(put(slow, "a", "1"));
  ASSERT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(listed(), "1(null)!");
}

TEST_F(ObjectVersionRaces, AVersionAndItsStagedEntryAreOneTransaction) {
  put(engine, "a", "1");
  for (const std::string statement : {"staging_insert_row_if", "object_versions_record"}) {
    faults.lose_answer(statement);
    EXPECT_THROW(put(slow, "a", "2"), Error) << statement;
    ASSERT_EQ(faults.unreached(), 0u);
    EXPECT_EQ(listed(), "1!") << statement;
    EXPECT_EQ(engine.read(repo, "main", "a"), "1");
  }
}

TEST_F(ObjectVersionRaces, ARemovalOvertakenByAWriteLeavesTheWrite) {
  put(engine, "a", "1");
  const auto second = put(engine, "a", "2");
  faults.at_then_go_on({"staging_insert_row_if"}, [&] { put(engine, "a", "3"); });
  ASSERT_TRUE(drop(slow, "a", second));
  ASSERT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(listed(), "3! 1");
  EXPECT_EQ(engine.read(repo, "main", "a"), "3");
}

TEST_F(ObjectVersionRaces, RemovalNeverRestoresARemovedVersion) {
  put(engine, "a", "1");
  const auto second = put(engine, "a", "2");
  const auto third = put(engine, "a", "3");
  // The latest is removed while the one before it goes.
  faults.at_then_go_on({"staging_insert_row_if"}, [&] { drop(engine, "a", second); });
  ASSERT_TRUE(drop(slow, "a", third));
  ASSERT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(listed(), "1!");
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");
}

TEST_F(ObjectVersionRaces, RemovalOfAVersionThatBecameTheLatestRestoresTheOneBefore) {
  put(engine, "a", "1");
  const auto second = put(engine, "a", "2");
  const auto third = put(engine, "a", "3");
  faults.at_then_go_on({"object_versions_remove_under_settings"},
                       [&] { drop(engine, "a", third); });
  ASSERT_TRUE(drop(slow, "a", second));
  ASSERT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(listed(), "1!");
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");
}

// The branch is read before the newest version, so the state that was read has been removed since.
TEST_F(ObjectVersionRaces, RemovalThatReadAVersionRemovedSinceRestoresTheOneBefore) {
  put(engine, "a", "1");
  const auto second = put(engine, "a", "2");
  const auto third = put(engine, "a", "3");
  faults.at_then_go_on({"object_versions_select_newest"}, [&] { drop(engine, "a", third); });
  ASSERT_TRUE(drop(slow, "a", second));
  ASSERT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(listed(), "1!");
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");
}

TEST_F(ObjectVersionRaces, TheNewestVersionBelowAMergedObjectIsRemoved) {
  const auto first = put(engine, "a", "1");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "a", "merged");
  engine.commit(repo, "dev");
  versioning::MergeRequest request;
  request.committer = "tester";
  versioning::merge_into(*engine, repo, "dev", kMain, request);
  ASSERT_EQ(listed(), "merged(null)! 1");
  ASSERT_TRUE(drop(engine, "a", first));
  EXPECT_EQ(listed(), "merged(null)!");
  EXPECT_EQ(engine.read(repo, "main", "a"), "merged");
}

TEST_F(ObjectVersionRaces, OneOfTwoConcurrentRemovalsSucceeds) {
  put(engine, "a", "1");
  const auto second = put(engine, "a", "2");
  faults.at_then_go_on({"staging_insert_row_if"}, [&] { EXPECT_TRUE(drop(engine, "a", second)); });
  EXPECT_FALSE(drop(slow, "a", second));
  EXPECT_EQ(listed(), "1!");
}

TEST_F(ObjectVersionRaces, ConcurrentlySetRuleApplies) {
  const auto first = put(engine, "a", "1");
  const auto second = put(engine, "a", "2");
  const std::map<std::string, std::optional<VersionId>> removals = {
      {"staging_insert_row_if", second}, {"object_versions_remove_under_settings", first}};
  for (const auto& [statement, version] : removals) {
    faults.at_then_go_on({statement}, [&] {
      set_branch_rules(
          *engine, repo,
          {{.pattern = Glob("main"), .blocked_actions = std::set{BranchAction::kStage}}}, {});
    });
    EXPECT_EQ(reason_of([&, id = version] { drop(slow, "a", id); }), "protected_branch")
        << statement;
    ASSERT_EQ(faults.unreached(), 0u);
    set_branch_rules(*engine, repo, {}, {});
  }
  EXPECT_EQ(listed(), "2! 1");
}

TEST_F(ObjectVersionRaces, ListingIsASnapshot) {
  put(engine, "a", "1");
  // Between what the branch shows and what was kept.
  faults.at_then_go_on({"object_versions_select_page"}, [&] { put(engine, "a", "2"); });
  const auto page = objects::list_versions(*slow, repo, kMain, {});
  ASSERT_EQ(faults.unreached(), 0u);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_TRUE(page.items[0].version->latest && page.items[0].version->id);
  EXPECT_EQ(listed(), "2! 1");
}

TEST_F(ObjectVersionRaces, WritersCommittersAndRemoversAgree) {
  constexpr int kWriters = 4;
  constexpr int kWrites = 15;
  std::map<std::string, std::string> acknowledged[kWriters];
  std::atomic<bool> stop{false};
  std::thread committer([&] {
    while (!stop) reason_of([&] { engine.commit(repo, "main"); });
  });
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      TestEngine& server = writer % 2 == 0 ? engine : slow;
      for (int i = 0; i < kWrites; ++i) {
        const std::string text = str_cat(writer, ".", i);
        const auto id = put(server, "a", text);
        ASSERT_TRUE(id);
        acknowledged[writer][to_text(*id)] = text;
        if (i % 5 != 4) continue;
        EXPECT_TRUE(drop(server, "a", id));
        acknowledged[writer].erase(to_text(*id));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  stop = true;
  committer.join();
  std::map<std::string, std::string> expected;
  for (const auto& of_one : acknowledged) expected.insert(of_one.begin(), of_one.end());
  const auto items = objects::list_versions(*engine, repo, kMain, {}).items;
  std::map<std::string, std::string> kept;
  std::string latest;
  for (const objects::VersionItem& item : items) {
    ASSERT_TRUE(item.version->id && item.version->entry);
    kept[to_text(*item.version->id)] = text_of(*item.version->entry);
    if (item.version->latest) latest += text_of(*item.version->entry);
  }
  EXPECT_EQ(kept, expected);
  EXPECT_EQ(items.size(), expected.size());
  EXPECT_EQ(engine.read(repo, "main", "a"), latest);
}

TEST_F(ObjectVersionRaces, WriteWithoutVersioningRunsNoAdditionalStatement) {
  const auto plain = engine.make_repository(fresh_name());
  set_branch_rules(*engine, plain, {}, {});  // its settings have a version
  const auto write = [&] {
    const objects::UploadTarget target =
        objects::check_upload(*slow, plain, kMain, Key("a"), false, {});
    TextBody body("1");
    objects::put_object(*slow, target, body, 1, {}, {});
  };
  write();
  faults.record();
  write();
  EXPECT_EQ(faults.recorded(),
            (std::vector<std::string>{"staging_lookup_key", "staging_insert_rows"}));
  faults.record();
  objects::delete_object(*slow, plain, kMain, Key("a"), false);
  EXPECT_EQ(faults.recorded(), (std::vector<std::string>{"staging_lookup_key", "staging_lookup_key",
                                                         "staging_insert_rows"}));
}

}  // namespace
}  // namespace tarn::branch
