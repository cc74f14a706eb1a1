// Tests of the changes that a read-only repository refuses unless forced, and that a database which
// does not own the store refuses.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/branch/aliases.h"
#include "core/branch/store_owner.h"
#include "core/imports/import.h"
#include "core/imports/refs_dump.h"
#include "core/versioning/checkout.h"
#include "core/versioning/commit.h"
#include "core/versioning/merge.h"
#include "core/versioning/move.h"
#include "core/versioning/pull_comments.h"
#include "core/versioning/pull_requests.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::reason_of;

/// A repository that another server sees once it may not be written any more.
class RefusedWrites : public testing::RepositoryTest {
 protected:
  RefusedWrites() {
    engine.put(repo, "main", "a", "1");
    engine.commit(repo, "main");
    engine.branch(repo, "dev", "main");
    create_tag(*engine, repo, TagName("v1"), "main", false);
    pull = versioning::create_pull_request(*engine, repo, creation());
  }
  versioning::PullRequestCreation creation() {
    return {.title = "t",
            .description = "",
            .author = "ann",
            .source = dev,
            .destination = BranchName("main")};
  }

  /// Each verb that writes, without force; the reason that each is refused with must be `reason`.
  void expect_refused(std::string_view reason);

  const BranchName dev{"dev"};
  PullRequest pull;
  testing::TestEngine other{shared_url(), engine.store};
  Engine& e = *other;
};

/// Repositories are read-only from the beginning; this one is filled first.
class ReadOnly : public RefusedWrites {
 protected:
  ReadOnly() {
    engine.pool.run({"test_freeze", "UPDATE repositories SET read_only = true WHERE name = $1"},
                    {repo.str()}, db::Pool::Retry::kWrite);
    repo = {get_repository(*other, repo)};
  }
};

void RefusedWrites::expect_refused(std::string_view reason) {
  versioning::MoveRequest move;
  move.source = "a";
  move.destination = "b";
  versioning::CommitRequest commit;
  commit.allow_empty = true;
  versioning::MergeRequest merge;
  merge.allow_empty = true;
  versioning::RevertRequest revert;
  revert.ref = "main";
  versioning::CherryPickRequest pick;
  pick.ref = "main";
  const Commit head = resolve_commit(e, repo, "main");
  const std::string dump = imports::dump_refs(e, repo);
  const Key key("a");
  const std::vector<std::function<void()>> verbs = {
      [&] { other.put(repo, "dev", "a", "2"); },
      [&] { objects::delete_object(e, repo, dev, key, false); },
      [&] { objects::delete_objects(e, repo, dev, std::vector<Key>{key}, false); },
      [&] {
        objects::copy_object(e, {repo, "main", key}, repo, dev, Key("c"), {}, false);
      },
      [&] {
        objects::update_user_metadata(e, repo, dev, key, {{"k", "v"}}, false);
      },
      [&] { versioning::move_objects(e, repo, dev, move); },
      [&] {
        versioning::checkout_paths(e, repo, dev, {.ref = "main", .paths = PathScope({"**"})});
      },
      [&] { versioning::reset_object(e, repo, dev, key, false); },
      [&] { versioning::reset_prefix(e, repo, dev, "a", false); },
      [&] { versioning::reset_branch(e, repo, dev, false); },
      [&] { versioning::hard_reset_branch(e, repo, dev, "main", false); },
      [&] { versioning::commit_branch(e, repo, dev, commit); },
      [&] { versioning::record_commit(e, repo, head, false); },
      [&] { versioning::merge_into(e, repo, "main", dev, merge); },
      [&] { versioning::revert_branch(e, repo, dev, revert); },
      [&] { versioning::cherry_pick(e, repo, dev, pick); },
      [&] { imports::start_import(e, repo, dev, {}); },
      [&] { imports::restore_refs(e, repo, dump, false, "ann"); },
      [&] { imports::start_restore(e, repo, dump, false, "ann"); },
      [&] { other.branch(repo, "new", "main"); },
      [&] { delete_branch(e, repo, dev, false); },
      [&] { create_tag(e, repo, TagName("v2"), "main", false); },
      [&] { delete_tag(e, repo, TagName("v1"), false); },
      [&] { set_alias(e, repo, {.name = AliasName("a"), .actor = "ann"}, "main"); },
      [&] { remove_alias(e, repo, {.name = AliasName("a"), .actor = "ann"}); },
      [&] { versioning::create_pull_request(e, repo, creation()); },
      [&] { versioning::update_pull_request(e, repo, pull.id, {.title = "other"}); },
      [&] { versioning::merge_pull_request(e, repo, pull, merge); },
      [&] { versioning::approve_pull_request(e, repo, pull.id, "ben", CommitId{}); },
      [&] { versioning::withdraw_approval(e, repo, pull.id, "ben"); },
      [&] {
        versioning::review_pull_request(e, repo, pull.id, "ben", ReviewVerdict::kChangesRequested,
                                        CommitId{});
      },
      [&] { versioning::withdraw_review(e, repo, pull.id, "ben"); },
      [&] { versioning::ask_reviewers(e, repo, pull.id, {"ben"}, "ann"); },
      [&] { versioning::create_pull_comment(e, repo, pull.id, {.author = "ben", .body = "text"}); },
      [&] { versioning::edit_pull_comment(e, repo, pull.id, 1, "ben", "text"); },
      [&] { versioning::delete_pull_comment(e, repo, pull.id, 1, "ben"); },
      [&] { versioning::resolve_pull_thread(e, repo, pull.id, 1, "ben", true); },
  };
  for (size_t i = 0; i < verbs.size(); ++i) {
    EXPECT_EQ(reason_of(verbs[i]), reason) << "verb " << i;
  }
  EXPECT_EQ(other.keys(repo, "dev"), "a");
  EXPECT_EQ(resolve_commit(e, repo, "dev").id, head.id);
}

// Verified by mutation: taking the check out of each verb in turn.
TEST_F(ReadOnly, EveryVerbThatWritesIsRefused) {
  expect_refused("read_only_repository");
  EXPECT_EQ(reason_of([&] { delete_repository(e, repo, false); }), "read_only_repository");
}

// The store names another database, of which this one may be a copy.
TEST_F(RefusedWrites, EveryVerbThatWritesIsRefusedInTheStoreOfAnotherDatabase) {
  name_store_owner(engine.stores, repo.storage_namespace, "another-database");
  expect_refused("owned_by_another_database");
  EXPECT_EQ(reason_of([&] { delete_repository(e, repo, false); }), "done")
      << "only collections remove from the store";
}

// An upload, a merge with hooks: both end after the store was taken over.
TEST_F(RefusedWrites, ANewOwnerIsNoticedBeforeAnEffect) {
  const objects::UploadTarget target = objects::check_upload(e, repo, dev, Key("late"), false, {});
  name_store_owner(engine.stores, repo.storage_namespace, "another-database");
  EXPECT_TRUE(e.owners.refusal_to_collect(repo).has_value());
  testing::TextBody body("late");
  EXPECT_EQ(reason_of([&] {
              objects::put_object(e, target, body, 4, {"text/plain", {}, {}}, {});
            }),
            "owned_by_another_database");
  Condition absent;
  absent.if_absent = true;
  testing::TextBody conditional("late");
  EXPECT_EQ(reason_of([&] { objects::put_object(e, target, conditional, 4, {}, absent); }),
            "owned_by_another_database");
  EXPECT_EQ(other.keys(repo, "dev"), "a");
}

TEST_F(ReadOnly, ForcedVerbsSucceed) {
  versioning::CommitRequest commit;
  commit.allow_empty = true;
  commit.force = true;
  versioning::MoveRequest move;
  move.source = "a";
  move.destination = "b";
  move.force = true;
  EXPECT_EQ(versioning::move_objects(e, repo, dev, move), 1u);
  versioning::commit_branch(e, repo, dev, commit);
  EXPECT_EQ(other.keys(repo, "dev@"), "b");
  versioning::checkout_paths(e, repo, dev,
                             {.ref = "main", .paths = PathScope({"**"}), .force = true});
  EXPECT_EQ(other.keys(repo, "dev"), "a");
  delete_tag(e, repo, TagName("v1"), true);
  delete_branch(e, repo, dev, true);
  delete_repository(e, repo, true);
}

}  // namespace
}  // namespace tarn::branch
