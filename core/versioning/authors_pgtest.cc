// Tests of authors and approvals: users cannot approve their own work, whatever committer name it
// carries.
#include <gtest/gtest.h>

#include "core/branch/hooks.h"
#include "core/imports/import.h"
#include "core/imports/refs_dump.h"
#include "core/meta/commits.h"
#include "core/promotion/promotions_fixture.h"
#include "core/versioning/pull_requests.h"
#include "core/versioning/revert.h"
#include "tests/support/bare_repository.h"

namespace tarn::versioning {
namespace {

using testing::reason_of;

constexpr std::string_view kWaiting = "awaiting_approval approval_required";

class Authors : public promotion::Promotions {
 protected:
  void SetUp() override {
    promotion::Promotions::SetUp();
    apply_policy(std::string(promotion::kPolicy) + "approvals: {count: 1, not_author: true}\n");
    for (const char* user : {"mallory", "bob", "olga", "ci"}) {
      engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ($1, 0)"}, {user},
                      db::Pool::Retry::kWrite);
    }
  }

  CommitId commit_as(const std::string& user, const std::string& branch,
                     const std::string& accuracy = "0.8") {
    const branch::ActingUser acting(user);
    return train(branch, accuracy);
  }
  /// A commit on top of main that shows `committer`, with the tree and the metrics of the branch's
  /// head, but without the branch in its history.
  CommitId record_as(const std::string& user, const std::string& branch, std::string committer) {
    const branch::ActingUser acting(user);
    const RepositoryId id = branch::get_repository(*engine, repo).id;
    const Commit work = (*engine).commits.get(id, head(branch));
    const Commit parent = (*engine).commits.get(id, head("main"));
    Commit forged;
    forged.parents = {parent.id};
    forged.root = work.root;
    forged.generation = parent.generation + 1;
    forged.committer = std::move(committer);
    forged.message = "Train again";
    forged.metadata = work.metadata;
    forged.created = work.created + std::chrono::milliseconds{1};
    forged.id = compute_commit_id(forged);
    record_commit(*engine, repo, forged, false);
    return forged.id;
  }
  /// The state of a promotion of the branch after the user has approved it.
  std::string promoted_with(const std::string& user, const std::string& branch) {
    const promotion::Promotion waiting = promote({branch});
    EXPECT_EQ(outcome(waiting), kWaiting);
    approve_shown(waiting.id, user);
    work();
    const promotion::Promotion after = promotion::get_promotion(*engine, repo, waiting.id);
    end_promotion_if_open(after);
    return outcome(after);
  }
  void end_promotion_if_open(const promotion::Promotion& promotion) {
    if (outcome(promotion) == "promoted") return;
    promotion::end_promotion(*engine, repo, promotion.id, promotion::PromotionState::kCancelled,
                             "ci", "");
  }
  /// "" = not known.
  std::string maker(const Repository& repository, const CommitId& commit) {
    return (*engine).commits.makers(repository.id, std::span(&commit, 1))[commit];
  }
  std::string open_pull(const std::string& author) {
    return create_pull_request(*engine, repo,
                               {.title = "t",
                                .author = author,
                                .source = BranchName("dev"),
                                .destination = BranchName("main")})
        .id;
  }
  std::string approve(const std::string& pull, std::string_view user) {
    return reason_of([&] { approve_pull_request(*engine, repo, pull, user, head("dev")); });
  }
};

TEST_F(Authors, RecordedCommitHasItsRecorderAsAuthor) {
  engine.branch(repo, "exp-1", "main");
  commit_as("mallory", "exp-1");
  const CommitId forged = record_as("mallory", "exp-1", "bob");
  engine.branch(repo, "exp-2", to_text(forged));
  EXPECT_EQ(promoted_with("mallory", "exp-2"), kWaiting);
  EXPECT_EQ(promoted_with("bob", "exp-2"), kWaiting) << "it carries this name";
  EXPECT_EQ(promoted_with("olga", "exp-2"), "promoted");
}

TEST_F(Authors, AreThoseOfEveryCommitThatIsNotInTheDestination) {
  engine.branch(repo, "exp-1", "main");
  commit_as("mallory", "exp-1", "0.7");
  commit_as("bob", "exp-1");
  EXPECT_EQ(promoted_with("mallory", "exp-1"), kWaiting);
  EXPECT_EQ(promoted_with("bob", "exp-1"), kWaiting);
  EXPECT_EQ(promoted_with("olga", "exp-1"), "promoted");
  // The work of these is in the destination by now.
  engine.branch(repo, "exp-2", "main");
  commit_as("olga", "exp-2", "0.9");
  EXPECT_EQ(promoted_with("mallory", "exp-2"), "promoted");
}

TEST_F(Authors, AreThoseOfWhatARollbackTookBackToo) {
  engine.branch(repo, "exp-1", "main");
  commit_as("mallory", "exp-1");
  const promotion::Promotion first = promote({"exp-1"});
  approve_shown(first.id, "olga");
  work();
  const std::string back = promotion::roll_back_promotion(*engine, repo, first.id, {"ci"}, "").id;
  approve_shown(back, "olga");
  work();
  ASSERT_EQ(outcome(promotion::get_promotion(*engine, repo, back)), "promoted");
  // The history of main keeps the commits; the tree of main lost their changes.
  EXPECT_EQ(promoted_with("mallory", "exp-1"), kWaiting);
  EXPECT_EQ(promoted_with("olga", "exp-1"), "promoted");
}

TEST_F(Authors, RollbackHasTheAuthorsOfWhatComesBack) {
  const auto promoted = [&](const std::string& user, const std::string& branch,
                            const std::string& accuracy) {
    engine.branch(repo, branch, "main");
    commit_as(user, branch, accuracy);
    const std::string id = promote({branch}).id;
    approve_shown(id, "olga");
    work();
    return id;
  };
  promoted("bob", "exp-1", "0.8");
  const std::string rival = promoted("mallory", "exp-2", "0.9");
  const std::string back = promotion::roll_back_promotion(*engine, repo, rival, {"ci"}, "").id;
  const auto after = [&](const std::string& user) {
    approve_shown(back, user);
    work();
    return outcome(promotion::get_promotion(*engine, repo, back));
  };
  EXPECT_EQ(after("bob"), kWaiting) << "whose model would be the champion again";
  EXPECT_EQ(after("olga"), "promoted");
}

TEST_F(Authors, AreFoundByUserNotByTheNameThatTheCommitShows) {
  engine.branch(repo, "exp-1", "main");
  commit_as("mallory", "exp-1");
  EXPECT_EQ(promoted_with("mallory", "exp-1"), kWaiting) << "the commit says dana";
  EXPECT_EQ(promoted_with("olga", "exp-1"), "promoted");
}

TEST_F(Authors, MergeHasTheAuthorsOfBothSides) {
  engine.branch(repo, "exp-1", "main");
  engine.branch(repo, "side", "main");
  engine.put(repo, "side", "side", "1");
  {
    const branch::ActingUser acting("mallory");
    engine.commit(repo, "side");
  }
  commit_as("bob", "exp-1");
  {
    const branch::ActingUser acting("bob");
    merge_into(*engine, repo, "side", BranchName("exp-1"), {});
  }
  // A merge has no metrics.
  commit_as("bob", "exp-1", "0.85");
  EXPECT_EQ(promoted_with("mallory", "exp-1"), kWaiting);
  EXPECT_EQ(promoted_with("olga", "exp-1"), "promoted");
}

TEST_F(Authors, PromoterIsAnAuthor) {
  engine.branch(repo, "exp-1", "main");
  commit_as("bob", "exp-1");
  EXPECT_EQ(promoted_with("ci", "exp-1"), kWaiting);
}

TEST_F(Authors, CherryPickHasItsPickerAndItsAuthors) {
  engine.branch(repo, "exp-1", "main");
  engine.branch(repo, "exp-2", "main");
  commit_as("mallory", "exp-1");
  {
    const branch::ActingUser acting("bob");
    cherry_pick(*engine, repo, BranchName("exp-2"), {"bob", "exp-1", {}, {}, false});
  }
  commit_as("bob", "exp-2", "0.85");
  EXPECT_EQ(promoted_with("bob", "exp-2"), kWaiting);
  EXPECT_EQ(promoted_with("mallory", "exp-2"), kWaiting) << "whose work it is";
  EXPECT_EQ(promoted_with("olga", "exp-2"), "promoted");
}

TEST_F(Authors, SquashHasTheAuthorsOfWhatItBrings) {
  const auto squash = [&](const std::string& source, const std::string& destination) {
    const branch::ActingUser acting("bob");
    MergeRequest request;
    request.squash = true;
    merge_into(*engine, repo, source, BranchName(destination), request);
  };
  engine.branch(repo, "side", "main");
  engine.branch(repo, "exp-1", "main");
  commit_as("mallory", "side");
  squash("side", "exp-1");
  commit_as("bob", "exp-1", "0.85");
  EXPECT_EQ(promoted_with("mallory", "exp-1"), kWaiting);
  EXPECT_EQ(promoted_with("bob", "exp-1"), kWaiting);
  // A squash of a squash.
  engine.branch(repo, "exp-2", "main");
  squash("exp-1", "exp-2");
  commit_as("bob", "exp-2", "0.87");
  EXPECT_EQ(promoted_with("mallory", "exp-2"), kWaiting);
  EXPECT_EQ(promoted_with("olga", "exp-2"), "promoted");
}

TEST_F(Authors, ImportHasItsStarterAsAuthor) {
  engine.branch(repo, "exp-1", "main");
  ASSERT_TRUE(engine.store->create("in/a", 0)->finish());
  {
    const branch::ActingUser acting("mallory");
    imports::ImportRequest request;
    request.paths = {{imports::ImportPath::Kind::kPrefix, "local:///lake/in/", "in/"}};
    request.commit.committer = "bob";
    imports::start_import(*engine, repo, BranchName("exp-1"), request);
  }
  while (imports::run_one_import(*engine, {})) {
  }
  EXPECT_EQ(maker(repo, head("exp-1")), "mallory");
  EXPECT_EQ(maker(repo, commit_as("bob", "exp-1")), "bob");
  EXPECT_EQ(maker(repo, head("main")), "") << "by nobody";
  EXPECT_EQ(promoted_with("mallory", "exp-1"), kWaiting);
}

TEST_F(Authors, AreRestoredWithTheirCommits) {
  engine.branch(repo, "exp-1", "main");
  commit_as("mallory", "exp-1");
  const CommitId forged = record_as("mallory", "exp-1", "bob");
  engine.branch(repo, "exp-2", to_text(forged));
  const std::string dump = imports::dump_refs(*engine, repo);
  const auto copy = testing::make_bare_repository(engine, "copy");
  const branch::ActingUser acting("olga");
  imports::restore_refs(*engine, copy, dump, false, "olga");
  EXPECT_EQ(maker(copy, branch::get_branch(*engine, copy, BranchName("exp-2")).head), "mallory");
}

TEST_F(Authors, CannotApproveTheirPullRequest) {
  promotion::remove_gate_policy(*engine, repo, "digits", "owner", {});
  engine.branch(repo, "dev", "main");
  commit_as("bob", "dev");
  const std::string pull = open_pull("bob");
  EXPECT_EQ(approve(pull, "mallory"), "done");
  commit_as("mallory", "dev", "0.9");
  for (const Approval& approval : list_approvals(*engine, repo, pull, {}).items) {
    EXPECT_FALSE(approval.valid) << approval.user;
  }
  EXPECT_EQ(approve(pull, "mallory"), "own_commits");
  EXPECT_EQ(approve(pull, "olga"), "done");
}

TEST_F(Authors, RecorderIsAnAuthorOfAPullRequest) {
  promotion::remove_gate_policy(*engine, repo, "digits", "owner", {});
  engine.branch(repo, "exp-1", "main");
  commit_as("mallory", "exp-1");
  engine.branch(repo, "dev", to_text(record_as("mallory", "exp-1", "bob")));
  const std::string pull = open_pull("bob");
  EXPECT_EQ(approve(pull, "mallory"), "own_commits");
  EXPECT_EQ(approve(pull, "olga"), "done");
}

}  // namespace
}  // namespace tarn::versioning
