// Pull requests and approvals over a real database.
#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/branch/pull_request_store.h"
#include "core/branch/settings.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/writer.h"
#include "core/versioning/pull_requests.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {
namespace {

using testing::kDev;
using testing::kMain;
using testing::reason_of;
using testing::TestEngine;

class Pulls : public testing::RepositoryTest {
 protected:
  Pulls() {
    for (const char* user : {"ann", "ben", "cid"}) add_user(user);
    engine.branch(repo, "dev", "main");
    change("dev", "a");
  }

  void add_user(std::string_view user) {
    constexpr db::Query kInsertUser{
        "test_insert_user",
        "INSERT INTO users (name, created_ms) VALUES ($1, 0) ON CONFLICT DO NOTHING"};
    engine.pool.run(kInsertUser, {user}, db::Pool::Retry::kWrite);
  }
  void remove_user(std::string_view user) {
    constexpr db::Query kDeleteUser{"test_delete_user", "DELETE FROM users WHERE name = $1"};
    engine.pool.run(kDeleteUser, {user}, db::Pool::Retry::kWrite);
  }
  void change(const std::string& branch, const std::string& key, const std::string& text = "1") {
    engine.put(repo, branch, key, text);
    engine.commit(repo, branch);
  }
  std::string open(const BranchName& source = kDev, const BranchName& destination = kMain) {
    return create_pull_request(*engine, repo,
                               {.title = "Title",
                                .description = "Why",
                                .author = "ann",
                                .source = source,
                                .destination = destination})
        .id;
  }
  PullRequest get(const std::string& id) { return get_pull_request(*engine, repo, id); }
  std::string merge(const std::string& id) {
    return reason_of([&] { merge_pull_request(*engine, repo, get(id), {}); });
  }
  std::string merge_directly(const std::string& source) {
    return reason_of([&] { merge_into(*engine, repo, source, kMain, {}); });
  }
  std::string approve(const std::string& id, std::string_view user,
                      const std::optional<CommitId>& reviewed = std::nullopt) {
    return reason_of([&] {
      approve_pull_request(*engine, repo, id, user, reviewed ? *reviewed : head(get(id).source));
    });
  }
  std::string request_changes(const std::string& id, std::string_view user) {
    return reason_of([&] {
      review_pull_request(*engine, repo, id, user, ReviewVerdict::kChangesRequested,
                          head(get(id).source));
    });
  }
  std::string withdraw(const std::string& id, std::string_view user) {
    return reason_of([&] { withdraw_review(*engine, repo, id, user); });
  }
  std::string ask(const std::string& id, const std::vector<std::string>& users) {
    return reason_of([&] { ask_reviewers(*engine, repo, id, users, "ann"); });
  }
  /// The reviewers as "ben asked approved outdated", joined with "; ".
  std::string reviewers(const std::string& id, const PageStart& start = {}) {
    std::string out;
    const auto page = list_reviewers(*engine, repo, id, start);
    for (const Reviewer& reviewer : page.items) {
      out += (out.empty() ? "" : "; ") + reviewer.user;
      if (!reviewer.asked_by.empty()) out += " asked by " + reviewer.asked_by;
      if (!reviewer.review) continue;
      out += " " + std::string(name_of(reviewer.review->verdict));
      if (reviewer.review->outdated) out += " outdated";
    }
    return out + (page.has_more ? "; ..." : "");
  }
  std::string set_status(const std::string& id, PullRequestStatus status) {
    return reason_of([&] { update_pull_request(*engine, repo, id, {.status = status}); });
  }
  CommitId head(const BranchName& branch) { return branch::get_branch(*engine, repo, branch).head; }
  void want_approvals(uint32_t count) {
    branch::set_branch_rules(*engine, repo, {{.pattern = Glob("ma*"), .approvals = count}}, {});
  }
  /// The ids of a listing, and whether more follow.
  std::vector<std::string> ids(PullRequestFilter filter, const PageStart& start = {}) {
    std::vector<std::string> out;
    const auto page = list_pull_requests(*engine, repo, filter, start);
    for (const PullRequest& pull : page.items) out.push_back(pull.id);
    if (page.has_more) out.push_back("...");
    return out;
  }
};

TEST_F(Pulls, AreCreatedReadAndChanged) {
  const std::string id = open();
  PullRequest pull = get(id);
  EXPECT_EQ(pull.title, "Title");
  EXPECT_EQ(pull.description, "Why");
  EXPECT_EQ(pull.author, "ann");
  EXPECT_EQ(pull.source, kDev);
  EXPECT_EQ(pull.destination, kMain);
  EXPECT_EQ(pull.status, PullRequestStatus::kOpen);
  EXPECT_FALSE(pull.closed || pull.merged_commit);

  update_pull_request(*engine, repo, id, {.title = "Other"});
  update_pull_request(*engine, repo, id, {});
  EXPECT_EQ(get(id).title, "Other");
  EXPECT_EQ(get(id).description, "Why");
  EXPECT_EQ(set_status(id, PullRequestStatus::kClosed), "done");
  pull = get(id);
  EXPECT_EQ(pull.status, PullRequestStatus::kClosed);
  EXPECT_TRUE(pull.closed);
  EXPECT_EQ(set_status(id, PullRequestStatus::kClosed), "done");
  EXPECT_EQ(get(id).closed, pull.closed) << "closing again does not move the date";
  EXPECT_EQ(set_status(id, PullRequestStatus::kOpen), "done");
  EXPECT_FALSE(get(id).closed);

  const std::string absent = make_pull_request_id(engine.clock.now());
  EXPECT_EQ(reason_of([&] { get(absent); }), "pull_request_not_found");
  EXPECT_EQ(set_status(absent, PullRequestStatus::kOpen), "pull_request_not_found");
}

TEST_F(Pulls, AreNumberedInTheirRepository) {
  const std::string first = open();
  const std::string second = open();
  EXPECT_EQ(get(first).number, 1);
  EXPECT_EQ(get(second).number, 2);
  const auto id_of = [&](std::string_view text) {
    return find_pull_request_id(*engine, repo, text);
  };
  EXPECT_EQ(id_of("#2"), second);
  EXPECT_EQ(id_of("1"), first);
  EXPECT_EQ(id_of(second), second);
  EXPECT_EQ(reason_of([&] { id_of("3"); }), "pull_request_not_found");
  EXPECT_EQ(reason_of([&] { id_of("two"); }), "invalid_argument");

  const auto other = engine.make_repository("other");
  engine.branch(other, "dev", "main");
  const PullRequest elsewhere = create_pull_request(
      *engine, other, {.title = "t", .author = "ann", .source = kDev, .destination = kMain});
  EXPECT_EQ(elsewhere.number, 1);
  EXPECT_EQ(id_of("1"), first);
}

TEST_F(Pulls, NumbersOfConcurrentOnesDiffer) {
  constexpr int kMakers = 4;
  constexpr int kEach = 10;
  std::array<std::vector<std::string>, kMakers> outcomes;
  {
    std::vector<std::jthread> makers;
    for (auto& mine : outcomes) {
      makers.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) mine.push_back(reason_of([&] { open(); }));
      });
    }
  }
  for (const auto& mine : outcomes) {
    EXPECT_EQ(std::count(mine.begin(), mine.end(), "done"), kEach);
  }
  std::vector<int32_t> numbers;
  for (const PullRequest& pull :
       list_pull_requests(*engine, repo, PullRequestFilter::kAll, {}).items) {
    numbers.push_back(pull.number);
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<int32_t> expected(kMakers * kEach);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(numbers, expected);
}

TEST_F(Pulls, AreRefusedWithoutTwoBranchesOrATitle) {
  EXPECT_EQ(reason_of([&] { open(kDev, kDev); }), "invalid_argument");
  EXPECT_EQ(reason_of([&] { open(BranchName("absent"), kMain); }), "branch_not_found");
  EXPECT_EQ(reason_of([&] { open(kDev, BranchName("absent")); }), "branch_not_found");
  const std::string id = open();
  const auto retitle = [&](std::string title) {
    return reason_of([&] { update_pull_request(*engine, repo, id, {.title = std::move(title)}); });
  };
  EXPECT_EQ(retitle(""), "invalid_argument");
  EXPECT_EQ(retitle(std::string(kPullTitleBytesMax, 'x')), "done");
  EXPECT_EQ(retitle(std::string(kPullTitleBytesMax + 1, 'x')), "invalid_argument");
  EXPECT_EQ(reason_of([&] {
              update_pull_request(*engine, repo, id,
                                  {.description = std::string(kPullDescriptionBytesMax + 1, 'x')});
            }),
            "invalid_argument");
}

TEST_F(Pulls, AreListedNewestFirstInPages) {
  std::vector<std::string> made;
  for (int i = 0; i < 4; ++i) {
    made.insert(made.begin(), open());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // ids differ in their time
  }
  using Ids = std::vector<std::string>;
  using enum PullRequestFilter;
  EXPECT_EQ(ids(kAll), made);
  EXPECT_EQ(ids(kAll, {.after = made[0], .limit = 2}), (Ids{made[1], made[2], "..."}));
  EXPECT_EQ(ids(kAll, {.prefix = made[3]}), Ids{made[3]});
  set_status(made[1], PullRequestStatus::kClosed);
  EXPECT_EQ(merge(made[2]), "done");
  EXPECT_EQ(ids(kOpen), (Ids{made[0], made[3]}));
  EXPECT_EQ(ids(kOpen, {.limit = 1}), (Ids{made[0], "..."}));
  EXPECT_EQ(ids(kNotOpen), (Ids{made[1], made[2]})) << "merged ones are closed";
}

TEST_F(Pulls, AreMergedByOneCommitThatNamesThem) {
  const CommitId before = head(kMain);
  const CommitId source = head(kDev);
  const std::string id = open();
  MergeRequest request;
  request.committer = "ben";
  const Commit made = merge_pull_request(*engine, repo, get(id), request);
  EXPECT_EQ(made.id, head(kMain));
  EXPECT_EQ(made.parents, (std::vector<CommitId>{before, source}));
  EXPECT_EQ(made.committer, "ben");
  EXPECT_EQ(made.message, "Merge pull request 'Title'\n\nWhy");
  EXPECT_EQ(made.metadata.at(".tarn.pull_request"), id);
  const PullRequest pull = get(id);
  EXPECT_EQ(pull.status, PullRequestStatus::kMerged);
  EXPECT_EQ(pull.merged_commit, made.id);
  EXPECT_EQ(pull.merged_source, source);
  EXPECT_EQ(pull.closed, made.created);
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");

  EXPECT_EQ(merge(id), "pull_request_not_open");
  EXPECT_EQ(set_status(id, PullRequestStatus::kOpen), "pull_request_merged");
  EXPECT_EQ(set_status(id, PullRequestStatus::kClosed), "pull_request_merged");
  update_pull_request(*engine, repo, id, {.title = "Still"});
  EXPECT_EQ(get(id).title, "Still");
}

TEST_F(Pulls, StayOpenWhenTheyCannotBeMerged) {
  const std::string id = open();
  set_status(id, PullRequestStatus::kClosed);
  EXPECT_EQ(merge(id), "pull_request_not_open");
  set_status(id, PullRequestStatus::kOpen);
  change("main", "a", "2");
  EXPECT_EQ(merge(id), "merge_conflict");
  EXPECT_EQ(get(id).status, PullRequestStatus::kOpen);
  engine.put(repo, "main", "b", "staged");
  EXPECT_EQ(merge(id), "dirty_branch");
  engine.commit(repo, "main");

  engine.branch(repo, "same", "main");
  EXPECT_EQ(merge(open(BranchName("same"), kMain)), "no_changes");
  const std::string orphan = open(BranchName("same"), kMain);
  branch::delete_branch(*engine, repo, BranchName("same"), false);
  EXPECT_EQ(merge(orphan), "ref_not_found");
  EXPECT_EQ(get(orphan).status, PullRequestStatus::kOpen);
}

// The mark and the commit are one transaction. Verified by mutation: with the mark in a separate
// statement after publishing, the commit was made, and the pull request stayed closed.
TEST_F(Pulls, NothingIsPublishedForOneThatIsClosedMeanwhile) {
  const std::string id = open();
  const CommitId before = head(kMain);
  const Branch branch = branch::get_branch(*engine, repo, kMain);
  meta::Publication publication;
  publication.repository = branch::get_repository(*engine, repo).id;
  publication.branch = branch.id;
  const Commit source = branch::resolve_commit(*engine, repo, "dev");
  publication.within = [&](db::Connection& connection) {
    mark_merged(connection, publication.repository, id, publication.commit, source.id);
  };
  publication.commit = source;
  publication.commit.parents = {before};
  publication.commit.message = "never";
  publication.commit.id = compute_commit_id(publication.commit);
  branch::Engine& parts = *engine;
  const auto acquired = parts.branches.acquire(branch.id, 1, std::chrono::seconds(30), false);
  set_status(id, PullRequestStatus::kClosed);
  const auto publish = [&] {
    return reason_of([&] {
      EXPECT_EQ(parts.branches.publish(parts.writer.id(), acquired.lease, publication),
                meta::PublishOutcome::kDone);
    });
  };
  EXPECT_EQ(publish(), "pull_request_not_open");
  EXPECT_EQ(head(kMain), before);
  EXPECT_EQ(parts.commits.find(publication.repository, publication.commit.id), std::nullopt);
  set_status(id, PullRequestStatus::kOpen);
  EXPECT_EQ(publish(), "done");
  EXPECT_EQ(head(kMain), publication.commit.id);
  EXPECT_EQ(get(id).merged_commit, publication.commit.id);
}

TEST_F(Pulls, ConcurrentMergesMergeOnce) {
  TestEngine other(shared_url(), engine.store);
  constexpr int kMergers = 4;
  for (int round = 0; round < 5; ++round) {
    change("dev", "k" + std::to_string(round));
    const PullRequest pull = get(open());
    std::atomic<int> merged{0};
    std::array<std::string, kMergers> outcomes;
    {
      std::vector<std::jthread> mergers;
      for (int i = 0; i < kMergers; ++i) {
        mergers.emplace_back([&, i] {
          TestEngine& mine = i % 2 == 0 ? engine : other;
          outcomes[static_cast<size_t>(i)] =
              reason_of([&] { merge_pull_request(*mine, repo, pull, {}), ++merged; });
        });
      }
    }
    EXPECT_EQ(merged, 1);
    for (const std::string& outcome : outcomes) {
      EXPECT_TRUE(outcome == "done" || outcome == "pull_request_not_open") << outcome;
    }
    EXPECT_EQ(get(pull.id).merged_commit, head(kMain));
  }
}

TEST_F(Pulls, NeedTheApprovalsThatARuleOfTheDestinationWants) {
  want_approvals(2);
  const std::string id = open();
  const auto expect_refused = [&] {
    EXPECT_EQ(merge(id), "approval_required");
    EXPECT_EQ(merge_directly("dev"), "approval_required");
  };
  expect_refused();
  EXPECT_EQ(approve(id, "ann"), "own_pull_request");
  EXPECT_EQ(approve(id, "nobody"), "not_found");
  EXPECT_EQ(approve(id, "ben"), "done");
  EXPECT_EQ(approve(id, "ben"), "done") << "which counts once";
  expect_refused();
  EXPECT_EQ(approve(id, "cid"), "done");
  EXPECT_EQ(merge(id), "done");
}

TEST_F(Pulls, AnApprovedHeadMayBeMergedDirectly) {
  want_approvals(1);
  const std::string id = open();
  engine.branch(repo, "other", "main");
  change("other", "o");
  EXPECT_EQ(approve(id, "ben"), "done");
  EXPECT_EQ(merge_directly("other"), "approval_required") << "it is dev that was approved";
  EXPECT_EQ(merge_directly("dev~1"), "approval_required");
  EXPECT_EQ(merge_directly("dev"), "done");
  EXPECT_EQ(get(id).status, PullRequestStatus::kOpen);
  EXPECT_EQ(merge(id), "no_changes");
}

TEST_F(Pulls, ApprovalsOfOnePullRequestDoNotCountForAnother) {
  engine.branch(repo, "release", "main");
  want_approvals(1);
  const std::string id = open(kDev, BranchName("release"));
  EXPECT_EQ(approve(id, "ben"), "done");
  EXPECT_EQ(merge_directly("dev"), "approval_required") << "approved into release only";
  // Two with one approval each are not one with two.
  want_approvals(2);
  EXPECT_EQ(approve(open(), "ben"), "done");
  EXPECT_EQ(approve(open(), "cid"), "done");
  EXPECT_EQ(merge_directly("dev"), "approval_required");
}

// Verified by mutation: leaving the comparison with the source's head out of the count.
TEST_F(Pulls, ApprovalsAreVoidOnceTheSourceHasMoved) {
  want_approvals(1);
  const std::string id = open();
  const CommitId seen = head(kDev);
  EXPECT_EQ(approve(id, "ben", seen), "done");
  change("dev", "b");
  EXPECT_EQ(merge(id), "approval_required");
  EXPECT_EQ(merge_directly(to_text(seen)), "approval_required") << "not by its id either";
  EXPECT_EQ(approve(id, "ben", seen), "source_moved");
  auto listed = list_approvals(*engine, repo, id, {}).items;
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].commit, seen);
  EXPECT_FALSE(listed[0].valid);

  EXPECT_EQ(approve(id, "ben", head(kDev)), "done");
  listed = list_approvals(*engine, repo, id, {}).items;
  ASSERT_EQ(listed.size(), 1u) << "the later one replaces the earlier";
  EXPECT_TRUE(listed[0].valid);
  EXPECT_EQ(merge(id), "done");
}

TEST_F(Pulls, ApprovalsEndWithTheirUserOrWhenWithdrawn) {
  want_approvals(1);
  const std::string id = open();
  add_user("leaver");
  EXPECT_EQ(approve(id, "leaver"), "done");
  remove_user("leaver");
  EXPECT_EQ(merge(id), "approval_required");
  add_user("leaver");
  EXPECT_EQ(merge(id), "approval_required") << "a user of the same name is another";
  EXPECT_EQ(approve(id, "ben"), "done");
  withdraw_approval(*engine, repo, id, "ben");
  EXPECT_EQ(merge(id), "approval_required");
  EXPECT_EQ(reason_of([&] { withdraw_approval(*engine, repo, id, "ben"); }), "approval_not_found");
  EXPECT_EQ(approve(id, "cid"), "done");
  set_status(id, PullRequestStatus::kClosed);
  EXPECT_EQ(approve(id, "ben"), "pull_request_not_open");
  EXPECT_EQ(merge_directly("dev"), "approval_required") << "of a closed one none counts";
}

TEST_F(Pulls, ApprovalsAreListedInPages) {
  const std::string id = open();
  for (const char* user : {"cid", "ben"}) EXPECT_EQ(approve(id, user), "done");
  const auto users = [&](const PageStart& start) {
    std::string out;
    const auto page = list_approvals(*engine, repo, id, start);
    for (const Approval& approval : page.items) out += approval.user + " ";
    return out + (page.has_more ? "..." : "");
  };
  EXPECT_EQ(users({}), "ben cid ");
  EXPECT_EQ(users({.limit = 1}), "ben ...");
  EXPECT_EQ(users({.after = "ben"}), "cid ");
  EXPECT_EQ(users({.prefix = "c"}), "cid ");
}

TEST_F(Pulls, HighestApprovalCountOfMatchingRulesApplies) {
  branch::set_branch_rules(*engine, repo,
                           {{.pattern = Glob("*"), .approvals = 1},
                            {.pattern = Glob("main"), .approvals = 2},
                            {.pattern = Glob("dev"), .approvals = 3},
                            {.pattern = Glob("m*")}},
                           {});
  const std::string id = open();
  try {
    merge_pull_request(*engine, repo, get(id), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), "approval_required");
    for (const std::string& named : {std::string("2 of 2"), to_text(head(kDev))}) {
      EXPECT_NE(error.message().find(named), std::string::npos) << error.message();
    }
  }
  EXPECT_EQ(approve(id, "ben"), "done");
  EXPECT_EQ(approve(id, "cid"), "done");
  EXPECT_EQ(merge(id), "done");
}

TEST_F(Pulls, RequestedChangesStopAMergeUntilTheReviewerTakesThemBack) {
  want_approvals(1);
  const std::string id = open();
  EXPECT_EQ(approve(id, "ben"), "done");
  EXPECT_EQ(request_changes(id, "cid"), "done");
  EXPECT_EQ(merge(id), "changes_requested");
  EXPECT_EQ(merge_directly("dev"), "changes_requested");
  const std::string twin = open();
  EXPECT_EQ(approve(twin, "ben"), "done");
  EXPECT_EQ(merge(twin), "changes_requested") << "another request for the same branches";
  change("dev", "b");
  EXPECT_EQ(reviewers(id), "ben approved outdated; cid changes_requested outdated");
  EXPECT_EQ(approve(id, "ben"), "done");
  EXPECT_EQ(merge(id), "changes_requested") << "though the source has moved";
  EXPECT_EQ(reason_of([&] { withdraw_approval(*engine, repo, id, "cid"); }), "approval_not_found");
  EXPECT_EQ(withdraw(id, "cid"), "done");
  EXPECT_EQ(withdraw(id, "cid"), "review_not_found");
  EXPECT_EQ(merge(id), "done");
  EXPECT_EQ(reviewers(id), "ben approved") << "of the commit that was merged";
}

TEST_F(Pulls, AReviewReplacesTheOneBefore) {
  want_approvals(1);
  const std::string id = open();
  EXPECT_EQ(request_changes(id, "ben"), "done");
  EXPECT_EQ(approve(id, "ben"), "done");
  EXPECT_EQ(request_changes(id, "ben"), "done");
  EXPECT_EQ(merge(id), "changes_requested");
  EXPECT_EQ(list_approvals(*engine, repo, id, {}).items.size(), 0u);
  EXPECT_EQ(approve(id, "ben"), "done");
  EXPECT_EQ(merge(id), "done");
  EXPECT_EQ(request_changes(id, "ben"), "pull_request_not_open");
}

TEST_F(Pulls, RequestedChangesCountWhereARuleWantsApprovals) {
  const std::string id = open();
  EXPECT_EQ(request_changes(id, "ann"), "own_pull_request");
  EXPECT_EQ(request_changes(id, "nobody"), "not_found");
  EXPECT_EQ(request_changes(id, "ben"), "done");
  EXPECT_EQ(merge(id), "done") << "no rule wants approvals";
}

TEST_F(Pulls, RequestedChangesEndWithTheirUserOrTheirPullRequest) {
  want_approvals(1);
  add_user("leaver");
  const std::string id = open();
  EXPECT_EQ(approve(id, "ben"), "done");
  EXPECT_EQ(request_changes(id, "leaver"), "done");
  EXPECT_EQ(merge(id), "changes_requested");
  remove_user("leaver");
  EXPECT_EQ(request_changes(id, "cid"), "done");
  set_status(id, PullRequestStatus::kClosed);
  const std::string next = open();
  EXPECT_EQ(approve(next, "ben"), "done");
  EXPECT_EQ(merge(next), "done");
}

TEST_F(Pulls, ReviewersAreAskedByName) {
  const std::string id = open();
  EXPECT_EQ(ask(id, {"cid", "ben", "cid"}), "done");
  EXPECT_EQ(reviewers(id), "ben asked by ann; cid asked by ann");
  EXPECT_EQ(reviewers(id, {.limit = 1}), "ben asked by ann; ...");
  EXPECT_EQ(reviewers(id, {.after = "ben"}), "cid asked by ann");
  EXPECT_EQ(approve(id, "cid"), "done");
  EXPECT_EQ(ask(id, {"ben"}), "done");
  EXPECT_EQ(reviewers(id), "ben asked by ann; cid approved") << "a review stays";
  EXPECT_EQ(ask(id, {"ben", "nobody"}), "not_found");
  EXPECT_EQ(ask(id, {"ann"}), "invalid_argument");
  EXPECT_EQ(ask(id, std::vector<std::string>(kPullReviewersMax + 1, "ben")), "invalid_argument");
  EXPECT_EQ(reviewers(id), "ben asked by ann; cid approved") << "nothing of a refused list is kept";
  EXPECT_EQ(ask(id, {}), "done");
  EXPECT_EQ(reviewers(id), "cid approved");
  EXPECT_EQ(ask(make_pull_request_id(engine.clock.now()), {}), "pull_request_not_found");
  set_status(id, PullRequestStatus::kClosed);
  EXPECT_EQ(ask(id, {"ben"}), "pull_request_not_open");
}

TEST_F(Pulls, TheSourceIsDeletedIfThatLosesNothing) {
  const auto remove = [&](const std::string& id) {
    return reason_of([&] { delete_merged_source(*engine, repo, id); });
  };
  const auto merged = [&](const std::string& branch) {
    engine.branch(repo, branch, "main");
    change(branch, branch);
    const std::string id = open(BranchName(branch), kMain);
    EXPECT_EQ(merge(id), "done");
    return id;
  };
  EXPECT_EQ(remove(open()), "pull_request_not_merged");
  const std::string moved = merged("moved");
  change("moved", "more");
  EXPECT_EQ(remove(moved), "branch_moved");
  const std::string dirty = merged("dirty");
  engine.put(repo, "dirty", "staged", "1");
  EXPECT_EQ(remove(dirty), "branch_in_use");
  const std::string asked = merged("asked");
  const std::string next = open(BranchName("asked"), kDev);
  EXPECT_EQ(remove(asked), "branch_in_use");
  set_status(next, PullRequestStatus::kClosed);
  EXPECT_EQ(remove(asked), "done");
  EXPECT_EQ(remove(asked), "branch_not_found");
  EXPECT_EQ(engine.read(repo, "main", "asked"), "1");

  engine.branch(repo, "squashed", "main");
  change("squashed", "s");
  const std::string squashed = open(BranchName("squashed"), kMain);
  const CommitId source = head(BranchName("squashed"));
  MergeRequest request;
  request.squash = true;
  const Commit made = merge_pull_request(*engine, repo, get(squashed), request);
  EXPECT_EQ(made.parents.size(), 1u);
  EXPECT_EQ(get(squashed).merged_source, source) << "which no parent names";
  EXPECT_EQ(remove(squashed), "done");
}

TEST_F(Pulls, GoWithTheirRepository) {
  const std::string id = open();
  EXPECT_EQ(approve(id, "ben"), "done");
  branch::delete_repository(*engine, repo, false);
  EXPECT_EQ(reason_of([&] { get(id); }), "pull_request_not_found");
  constexpr db::Query kCount{"test_count_pulls",
                             "SELECT count(*) FROM pull_requests WHERE pull_id = $1"};
  EXPECT_EQ(engine.pool.run(kCount, {id}, db::Pool::Retry::kRead).integer(0, 0), 0);
}

}  // namespace
}  // namespace tarn::versioning
