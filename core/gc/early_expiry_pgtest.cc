// Expiry by hand: what it frees, what refuses it, what the record says.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/gc/collection_fixture.h"
#include "core/gc/early_expiry.h"
#include "core/gc/holds.h"
#include "core/versioning/merge.h"

namespace tarn::gc {
namespace {

using testing::message_of;
using testing::reason_of;

class EarlyExpiry : public CollectionTest {
 protected:
  Commit write(const std::string& branch, const std::string& key, const std::string& text) {
    engine.put(repo, branch, key, text);
    return engine.commit(repo, branch, text);
  }

  EarlyExpiryOutcome expire(const CommitId& id, const std::string& why = "request 17") {
    return expire_commit(*engine, repo, {.ref = to_text(id), .reason = why, .actor = "alice"});
  }
};

TEST_F(EarlyExpiry, FreesWhatNothingElseShows) {
  write("main", "kept", "both");
  const Commit personal = write("main", "person", "name and address");
  engine.remove(repo, "main", "person");
  engine.commit(repo, "main");
  const EarlyExpiryOutcome outcome = expire(personal.id);
  EXPECT_EQ(outcome.commit, personal.id);
  EXPECT_EQ(outcome.objects, 2u);
  EXPECT_EQ(outcome.freed_objects, 1u);
  EXPECT_EQ(outcome.freed_bytes, 16u);
  EXPECT_EQ(outcome.shown_by, std::vector<std::string>{"main"});  // "kept"
  const std::string message =
      message_of([&] { engine.read(repo, to_text(personal.id), "person"); });
  EXPECT_NE(message.find("expired early by alice"), std::string::npos) << message;
  EXPECT_EQ(message.find("request 17"), std::string::npos) << message;
  EXPECT_EQ(collect_all(repo).removed_objects, 1);
  EXPECT_EQ(engine.keys(repo, "main"), "kept");
  EXPECT_EQ(engine.keys(repo, "main~2"), "kept");
  EXPECT_EQ(engine.read(repo, "main", "kept"), "both");
  EXPECT_EQ(reason_of([&] { expire(personal.id); }), "expired");

  const Page<Expiry> page = list_expiries(*engine, repo, "", 10);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].commit, personal.id);
  EXPECT_EQ(page.items[0].actor, "alice");
  EXPECT_EQ(page.items[0].reason, "request 17");
  EXPECT_LE(page.items[0].at, engine.clock.now() + std::chrono::seconds{5});
  EXPECT_TRUE(list_expiries(*engine, repo, std::to_string(page.items[0].number), 10).items.empty());
  EXPECT_EQ(reason_of([&] { list_expiries(*engine, repo, "x", 10); }), "invalid_argument");
}

TEST_F(EarlyExpiry, SaysThatHeadsStillShowTheData) {
  const Commit first = write("main", "person", "name");
  write("main", "other", "text");
  engine.branch(repo, "side", "main");
  const EarlyExpiryOutcome outcome = expire(first.id);
  EXPECT_EQ(outcome.freed_objects, 0u);
  EXPECT_EQ(outcome.shown_by, (std::vector<std::string>{"main", "side"}));
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
  EXPECT_EQ(engine.read(repo, "side", "person"), "name");
}

TEST_F(EarlyExpiry, IsRefusedByWhatKeepsTheCommit) {
  const Commit first = write("main", "a", "first");
  const Commit base = write("main", "a", "base");
  const auto refused = [&](const CommitId& id, const std::string& by) {
    const std::string message = message_of([&] { expire(id); });
    EXPECT_NE(message.find(by), std::string::npos) << message;
    EXPECT_EQ(reason_of([&] { expire(id); }), "commit_in_use") << by;
  };
  refused(base.id, "branch \"main\"");
  engine.branch(repo, "side", "main");
  write("side", "b", "side");
  write("main", "a", "next");
  branch::create_tag(*engine, repo, TagName("v1"), to_text(base.id), false);
  refused(base.id, "tag \"v1\"");
  branch::delete_tag(*engine, repo, TagName("v1"), false);
  refused(base.id, "in use by a merge of branch \"main\" and branch \"side\"");
  versioning::MergeRequest merge;
  merge.committer = "t";
  merge.strategy = versioning::MergeStrategy::kSourceWins;
  versioning::merge_into(*engine, repo, "main", BranchName("side"), merge);  // a newer base
  const Hold hold =
      add_hold(*engine, repo, {.ref = to_text(base.id), .reason = "audit", .actor = "t"});
  refused(base.id, str_cat("hold ", hold.id));
  refused(first.id, str_cat("hold ", hold.id));
  remove_hold(*engine, repo, hold.id, "t");
  branch::set_alias(*engine, repo, {.name = AliasName("prod"), .actor = "t"}, to_text(base.id));
  refused(base.id, "alias \"prod\"");
  EXPECT_EQ(engine.read(repo, to_text(base.id), "a"), "base");
  expire(first.id);
}

TEST_F(EarlyExpiry, NeedsAReasonAndData) {
  const Commit first = write("main", "a", "first");
  write("main", "a", "second");
  EXPECT_EQ(reason_of([&] { expire(first.id, ""); }), "invalid_argument");
  EXPECT_EQ(reason_of([&] { expire(first.id, std::string(5000, 'x')); }), "invalid_argument");
  const Commit empty = branch::resolve_commit(*engine, repo, "main~2");
  EXPECT_EQ(reason_of([&] { expire(empty.id); }), "invalid_argument");
  EXPECT_EQ(engine.read(repo, to_text(first.id), "a"), "first");
}

}  // namespace
}  // namespace tarn::gc
