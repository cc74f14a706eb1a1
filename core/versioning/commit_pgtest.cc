// Commits over a real database.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/branch/stage.h"
#include "core/meta/staging.h"
#include "core/versioning/commit.h"
#include "core/versioning/reset.h"
#include "core/versioning/verbs_fixture.h"

namespace tarn::versioning {
namespace {

using testing::reason_of;

TEST_F(Verbs, CommittingMovesStagedChangesIntoHistory) {
  engine.put(repo, "main", "a", "1");
  engine.put(repo, "main", "b", "2");
  const Commit first = engine.commit(repo, "main", "first");
  engine.remove(repo, "main", "a");
  engine.put(repo, "main", "c", "3");
  const Commit second = engine.commit(repo, "main", "second");
  EXPECT_EQ(engine.keys(repo, "main"), "b c");
  EXPECT_EQ(engine.keys(repo, to_text(first.id)), "a b");
  EXPECT_EQ(engine.keys(repo, "main~1"), "a b");
  EXPECT_EQ(second.parents, std::vector<CommitId>{first.id});
  EXPECT_EQ(uncommitted("main"), "");
}

TEST_F(Verbs, CommitWithoutEffectIsRefused) {
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "main"); }), "no_changes");
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  engine.put(repo, "main", "a", "1");  // the same content at a new address
  EXPECT_EQ(uncommitted("main"), "");
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "main"); }), "no_changes");
}

class ExpectedCommits : public Verbs {
 protected:
  ExpectedCommits() {
    engine.put(repo, "main", "data", "1");
    base = engine.commit(repo, "main").id;
    engine.put(repo, "main", "out/model", "good");
    engine.put(repo, "main", "out/curve", "0 1");
  }
  /// "done", or the reason of the refusal.
  std::string commit(const CommitExpectation& expected) {
    CommitRequest request;
    request.message = "m";
    request.expected = expected;
    return reason_of([&] { commit_branch(*engine, repo, BranchName("main"), request); });
  }

  const branch::ExpectedObjects kUploaded{{"out/curve", sha256("0 1")},
                                          {"out/model", sha256("good")}};
  CommitId base;
};

TEST_F(ExpectedCommits, WhatWasUploadedIsCommitted) {
  branch::ExpectedObjects all = kUploaded;
  all["data"] = sha256("1");  // unchanged
  EXPECT_EQ(commit({.head = base, .objects = all, .only = true}), "done");
  EXPECT_EQ(uncommitted("main"), "");
}

TEST_F(ExpectedCommits, BytesOfAnotherAreRefused) {
  engine.put(repo, "main", "out/model", "evil");
  EXPECT_EQ(commit({.objects = kUploaded}), "not_what_was_expected");
  engine.remove(repo, "main", "out/model");
  EXPECT_EQ(commit({.objects = kUploaded}), "not_what_was_expected");
  EXPECT_EQ(engine.head(repo, "main"), base);
  EXPECT_EQ(uncommitted("main"), "+out/curve") << "nothing staged is lost";
  engine.put(repo, "main", "out/model", "good");
  EXPECT_EQ(commit({.objects = kUploaded}), "done");
}

TEST_F(ExpectedCommits, AnObjectThatNobodyNamedIsRefused) {
  const CommitExpectation expected{.objects = kUploaded, .only = true};
  engine.put(repo, "main", "metrics/eval.json", "{}");
  EXPECT_EQ(commit(expected), "not_what_was_expected");
  engine.remove(repo, "main", "metrics/eval.json");
  engine.remove(repo, "main", "data");
  EXPECT_EQ(commit(expected), "not_what_was_expected");
  reset_prefix(*engine, repo, BranchName("main"), "data", false);
  engine.put(repo, "main", "data", "1");  // the same content is no change
  EXPECT_EQ(commit(expected), "done");
}

TEST_F(ExpectedCommits, ACommitOfAnotherIsNoticed) {
  engine.put(repo, "main", "metrics/eval.json", "{}");
  engine.commit(repo, "main", "of another");
  // Nothing is left to commit, and what is expected is there.
  EXPECT_EQ(commit({.objects = kUploaded, .only = true}), "no_changes");
  EXPECT_EQ(commit({.head = base, .objects = kUploaded, .only = true}), "branch_moved");
  EXPECT_EQ(commit({.objects = {{"out/model", sha256("evil")}}}), "not_what_was_expected");
}

TEST_F(ExpectedCommits, ADigestThatAClientStatesIsNone) {
  branch::change_entry(*engine, repo, BranchName("main"), Key("out/model"), false,
                       [](Entry& entry) { entry.extras.set(ExtraTag::kContentDigest, ""); });
  EXPECT_EQ(commit({.objects = kUploaded}), "digest_unknown");
}

TEST_F(Verbs, AGivenTreeIsCommittedAsItIs) {
  engine.put(repo, "main", "a", "1");
  const Commit first = engine.commit(repo, "main");
  engine.put(repo, "main", "b", "2");
  const Commit second = engine.commit(repo, "main");
  CommitRequest request;
  request.message = "back";
  request.source_tree = second.root.hash;
  EXPECT_EQ(reason_of([&] { commit_branch(*engine, repo, BranchName("main"), request); }),
            "no_changes");
  request.source_tree = first.root.hash;
  const Commit back = commit_branch(*engine, repo, BranchName("main"), request);
  EXPECT_EQ(back.root, first.root);
  EXPECT_EQ(back.parents, std::vector<CommitId>{second.id});
  EXPECT_EQ(engine.keys(repo, "main"), "a");

  engine.put(repo, "main", "c", "3");
  EXPECT_EQ(reason_of([&] { commit_branch(*engine, repo, BranchName("main"), request); }),
            "dirty_branch");
  EXPECT_EQ(engine.keys(repo, "main"), "a c");
  reset_branch(*engine, repo, BranchName("main"), false);
  // The tree of another repository is none of this one.
  const auto other = engine.make_repository(fresh_name());
  engine.put(other, "main", "a", "1");
  request.source_tree = engine.commit(other, "main").root.hash;
  EXPECT_EQ(reason_of([&] { commit_branch(*engine, repo, BranchName("main"), request); }),
            "metarange_not_found");
  request.source_tree = Hash128{};
  EXPECT_TRUE(commit_branch(*engine, repo, BranchName("main"), request).root.empty());
  EXPECT_EQ(engine.keys(repo, "main"), "");
}

TEST_F(Verbs, ACommitMayBeGivenItsParents) {
  engine.put(repo, "main", "a", "1");
  const Commit first = engine.commit(repo, "main");
  engine.branch(repo, "side", "main");
  engine.put(repo, "side", "s", "1");
  const Commit side = engine.commit(repo, "side");
  engine.put(repo, "main", "b", "2");
  const Commit second = engine.commit(repo, "main");
  const auto commit = [&](std::vector<std::string> parents) {
    CommitRequest request;
    request.message = "joined";
    request.parents = std::move(parents);
    return commit_branch(*engine, repo, BranchName("main"), request);
  };
  EXPECT_EQ(reason_of([&] { commit({"main"}); }), "no_changes") << "what it would have anyway";
  EXPECT_EQ(reason_of([&] { commit({"main", to_text(second.id)}); }), "invalid_argument");
  EXPECT_EQ(reason_of([&] { commit({"nope"}); }), "ref_not_found");
  EXPECT_EQ(reason_of([&] { commit({"main$"}); }), "invalid_argument");
  EXPECT_EQ(reason_of([&] { commit(std::vector<std::string>(kParentsMax + 1, "main")); }),
            "invalid_argument");
  const Commit joined = commit({"main", "side"});
  EXPECT_EQ(joined.parents, (std::vector<CommitId>{second.id, side.id}));
  EXPECT_EQ(joined.generation, std::max(second.generation, side.generation) + 1);
  engine.put(repo, "main", "c", "3");
  const Commit squashed = commit({to_text(first.id)});
  EXPECT_EQ(squashed.parents, std::vector<CommitId>{first.id});
  EXPECT_EQ(engine.keys(repo, "main@"), "a b c");
  EXPECT_TRUE(commit({}).parents.empty());
}

TEST_F(Verbs, SameContentHasTheSameRootForAnyHistory) {
  engine.branch(repo, "one", "main");
  engine.branch(repo, "two", "main");
  for (int i = 0; i < 300; ++i) engine.put(repo, "one", "k" + std::to_string(i), std::to_string(i));
  engine.commit(repo, "one");
  // Built the other way round, by reference, so that addresses and times are the same.
  for (int i = 299; i >= 0; --i) {
    const Key key("k" + std::to_string(i));
    const Entry entry = objects::get_object(*engine, repo, "one", key).entry;
    const Branch two = branch::get_branch(*engine, repo, BranchName("two"));
    (*engine).staging.stage(two.id, key, entry);
    if (i % 100 == 0) engine.commit(repo, "two");
  }
  EXPECT_EQ(branch::resolve_commit(*engine, repo, "one").root.hash,
            branch::resolve_commit(*engine, repo, "two").root.hash);
  EXPECT_NE(branch::resolve_commit(*engine, repo, "one").root.nid,
            branch::resolve_commit(*engine, repo, "two").root.nid);
}

}  // namespace
}  // namespace tarn::versioning
