// Tests of authors and approvals: users cannot approve their own work, whatever committer name it
// carries.
#include <gtest/gtest.h>

#include "core/base/acting_user.h"
#include "core/branch/authors.h"
#include "core/branch/hooks.h"
#include "core/branch/object_versions.h"
#include "core/imports/import.h"
#include "core/imports/refs_dump.h"
#include "core/meta/commits.h"
#include "core/meta/object_versions.h"
#include "core/meta/staging.h"
#include "core/objects/multipart.h"
#include "core/objects/objects.h"
#include "core/promotion/promotions_fixture.h"
#include "core/versioning/checkout.h"
#include "core/versioning/pull_requests.h"
#include "core/versioning/reset.h"
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
    const ActingUser acting(user, {}, {});
    return train(branch, accuracy);
  }
  /// A commit on top of main that shows `committer`, with the tree and the metrics of the branch's
  /// head, but without the branch in its history.
  CommitId record_as(const std::string& user, const std::string& branch, std::string committer) {
    const ActingUser acting(user, {}, {});
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
    return (*engine).commits.makers(repository.id, std::span(&commit, 1))[commit].user;
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

TEST_F(Authors, RollbackHasThemThoughPromotionsNeedNoApproval) {
  apply_policy(std::string(promotion::kPolicy) + "rollback: {approvals: 1}\n");
  const auto promoted = [&](const std::string& user, const std::string& branch,
                            const std::string& accuracy) {
    engine.branch(repo, branch, "main");
    commit_as(user, branch, accuracy);
    return promote({branch}).id;
  };
  promoted("bob", "exp-1", "0.8");
  const std::string rival = promoted("mallory", "exp-2", "0.9");
  const std::string back = promotion::roll_back_promotion(*engine, repo, rival, {"ci"}, "").id;
  work();
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
    const ActingUser acting("mallory", {}, {});
    engine.commit(repo, "side");
  }
  commit_as("bob", "exp-1");
  {
    const ActingUser acting("bob", {}, {});
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
    const ActingUser acting("bob", {}, {});
    cherry_pick(*engine, repo, BranchName("exp-2"), {"bob", "exp-1", {}, {}, false});
  }
  commit_as("bob", "exp-2", "0.85");
  EXPECT_EQ(promoted_with("bob", "exp-2"), kWaiting);
  EXPECT_EQ(promoted_with("mallory", "exp-2"), kWaiting) << "whose work it is";
  EXPECT_EQ(promoted_with("olga", "exp-2"), "promoted");
}

TEST_F(Authors, SquashHasTheAuthorsOfWhatItBrings) {
  const auto squash = [&](const std::string& source, const std::string& destination) {
    const ActingUser acting("bob", {}, {});
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
    const ActingUser acting("mallory", {}, {});
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
  const ActingUser acting("olga", {}, {});
  imports::restore_refs(*engine, copy, dump, false, "olga");
  EXPECT_EQ(maker(copy, branch::get_branch(*engine, copy, BranchName("exp-2")).head), "mallory");
}

/// The users who count as authors of a branch, where "carol" commits what others staged.
class StagedWork : public Authors {
 protected:
  void SetUp() override {
    Authors::SetUp();
    engine.branch(repo, "exp", "main");
    engine.branch(repo, "side", "main");
  }
  void put_as(const std::string& user, const std::string& branch, const std::string& key,
              const std::string& text = "x") {
    const ActingUser acting(user, {}, {});
    engine.put(repo, branch, key, text);
  }
  CommitId commit_as_carol(const std::string& branch = "exp") {
    const ActingUser acting("carol", {}, {});
    return engine.commit(repo, branch).id;
  }
  void copy_as(const std::string& user, const std::string& ref, const std::string& key) {
    const ActingUser acting(user, {}, {});
    objects::copy_object(*engine, {repo, ref, Key(key)}, repo, BranchName("exp"), Key("copy"), {},
                         false);
  }
  void checkout_as(const std::string& user, const std::string& ref, const std::string& glob) {
    const ActingUser acting(user, {}, {});
    const CheckoutRequest request{.ref = ref, .paths = PathScope(std::vector<std::string>{glob})};
    checkout_paths(*engine, repository(), BranchName("exp"), request);
  }
  Repository repository() { return branch::get_repository(*engine, repo); }
  /// Authors of the branch beside "carol" and the names that its commits show.
  std::set<std::string> authors(const std::string& branch = "exp") {
    const RepositoryId id = repository().id;
    std::set<std::string> out =
        branch::authors_of(*engine, id, (*engine).commits.get(id, head(branch)),
                           (*engine).commits.get(id, head("main")));
    EXPECT_EQ(out.erase("carol"), 1U);
    for (const char* committer : {"dana", "tester"}) out.erase(committer);
    return out;
  }
  using Names = std::set<std::string>;
};

TEST_F(StagedWork, CountsForNobodyWhoApprovesIt) {
  put_as("mallory", "exp", "model");
  {
    const ActingUser acting("carol", {}, {});
    train("exp", "0.9");
  }
  EXPECT_EQ(promoted_with("mallory", "exp"), kWaiting);
  EXPECT_EQ(promoted_with("olga", "exp"), "promoted");
}

TEST_F(StagedWork, HasItsStagerAlsoAfterAnotherWroteAndAfterAFold) {
  put_as("mallory", "exp", "a");
  put_as("bob", "exp", "a");
  for (int i = 0; i < 12; ++i) {
    // Each checkout seals what is staged; at eight sealed tokens they are folded.
    put_as("ci", "side", "s" + std::to_string(i));
    checkout_as("carol", "side", "s*");
  }
  commit_as_carol();
  EXPECT_EQ(authors(), (Names{"mallory", "bob", "ci"}));
}

TEST_F(StagedWork, ResetWorkIsNobodys) {
  put_as("mallory", "exp", "a");
  reset_branch(*engine, repository(), BranchName("exp"), false);
  put_as("bob", "exp", "a");
  commit_as_carol();
  EXPECT_EQ(authors(), Names{"bob"});
}

TEST_F(StagedWork, BatchOfSeveralUsersHasEach) {
  std::vector<std::jthread> users;
  Names names;
  for (int i = 0; i < 16; ++i) {
    names.insert("user" + std::to_string(i));
    users.emplace_back([this, i] {
      for (int k = 0; k < 5; ++k) {
        put_as("user" + std::to_string(i), "exp", std::to_string(i) + "/" + std::to_string(k));
      }
    });
  }
  users.clear();
  commit_as_carol();
  EXPECT_EQ(authors(), names);
}

TEST_F(StagedWork, CopyHasTheAuthorsOfItsSource) {
  put_as("mallory", "side", "model");
  copy_as("bob", "side", "model");
  commit_as_carol();
  EXPECT_EQ(authors(), (Names{"bob", "mallory"})) << "staged at the source";
  put_as("olga", "side", "model", "another");
  const CommitId committed = commit_as_carol("side");
  copy_as("bob", "side", "model");
  commit_as_carol();
  EXPECT_EQ(authors(), (Names{"bob", "mallory", "olga"})) << "committed at the source";
  engine.branch(repo, "exp2", "main");
  {
    const ActingUser acting("bob", {}, {});
    objects::copy_object(*engine, {repo, to_text(committed), Key("model")}, repo,
                         BranchName("exp2"), Key("copy"), {}, false);
  }
  commit_as_carol("exp2");
  EXPECT_EQ(authors("exp2"), (Names{"bob", "mallory", "olga"})) << "by the commit's id";
}

TEST_F(StagedWork, CopyFromAResetBranchHasTheAuthorsOfItsSource) {
  put_as("mallory", "side", "model");
  const auto source = objects::get_object(*engine, repo, "side", Key("model"));
  const auto held = objects::hold_sources(*engine);
  reset_branch(*engine, repository(), BranchName("side"), false);
  {
    const ActingUser acting("bob", {}, {});
    objects::copy_object(*engine, source, repo, BranchName("exp"), Key("copy"), {}, false);
  }
  commit_as_carol();
  EXPECT_EQ(authors(), (Names{"bob", "mallory"}));
}

TEST_F(StagedWork, CheckoutHasTheAuthorsOfItsSource) {
  put_as("mallory", "side", "a");
  commit_as_carol("side");
  put_as("olga", "side", "b");
  checkout_as("bob", "side", "*");
  commit_as_carol();
  EXPECT_EQ(authors(), (Names{"bob", "mallory", "olga"}));
}

TEST_F(StagedWork, RestoredVersionHasItsMaker) {
  branch::set_versioning(*engine, repository(), Versioning::kEnabled);
  put_as("mallory", "exp", "model", "evil");
  reset_branch(*engine, repository(), BranchName("exp"), false);
  put_as("bob", "exp", "model", "good");
  const BranchId id = branch::get_branch(*engine, repository(), BranchName("exp")).id;
  const VersionId good = (*engine).versions.newest(id, Key("model"), 1).at(0).version;
  {
    const ActingUser acting("bob", {}, {});
    branch::remove_version(*engine, repo, BranchName("exp"), Key("model"), good, false, {});
  }
  ASSERT_EQ(engine.read(repo, "exp", "model"), "evil");
  commit_as_carol();
  EXPECT_EQ(authors(), (Names{"bob", "mallory"}));
}

TEST_F(StagedWork, MultipartUploadHasWhoBeganItAndWhoSentParts) {
  const objects::UploadTarget target =
      objects::check_upload(*engine, repo, BranchName("exp"), Key("model"), false, {});
  const auto upload =
      objects::create_multipart(*engine, target, {"mallory", {"text/plain", {}, {}}, "", ""});
  std::string etag;
  {
    const ActingUser acting("bob", {}, {});
    testing::TextBody body("x");
    etag = objects::put_part(*engine, upload, 1, body, 1).etag;
  }
  {
    const ActingUser acting("carol", {}, {});
    objects::complete_multipart(*engine, upload, {{{1, etag, {}}}, {}, {}, {}});
  }
  commit_as_carol();
  EXPECT_EQ(authors(), (Names{"mallory", "bob"}));
}

TEST_F(StagedWork, PartCopyHasTheAuthorsOfItsSource) {
  put_as("mallory", "side", "model");
  const objects::UploadTarget target =
      objects::check_upload(*engine, repo, BranchName("exp"), Key("model"), false, {});
  const auto upload =
      objects::create_multipart(*engine, target, {"carol", {"text/plain", {}, {}}, "", ""});
  {
    const ActingUser acting("carol", {}, {});
    const auto source = objects::get_object(*engine, repo, "side", Key("model"));
    const std::string etag = objects::copy_part(*engine, upload, 1, source, {0, 1}).etag;
    objects::complete_multipart(*engine, upload, {{{1, etag, {}}}, {}, {}, {}});
  }
  commit_as_carol();
  EXPECT_EQ(authors(), Names{"mallory"});
}

TEST_F(StagedWork, IsKeptBySquashAndPickAndDumps) {
  put_as("mallory", "side", "a");
  const CommitId picked = commit_as_carol("side");
  {
    const ActingUser acting("bob", {}, {});
    MergeRequest request;
    request.squash = true;
    merge_into(*engine, repo, "side", BranchName("exp"), request);
  }
  put_as("carol", "exp", "more");
  commit_as_carol();
  EXPECT_EQ(authors(), (Names{"bob", "mallory"}));
  engine.branch(repo, "exp2", "main");
  {
    const ActingUser acting("bob", {}, {});
    cherry_pick(*engine, repo, BranchName("exp2"), {"bob", to_text(picked), {}, {}, false});
  }
  EXPECT_EQ(authors("exp2"), (Names{"bob", "mallory"}));
  const auto copy = testing::make_bare_repository(engine, "copy");
  imports::restore_refs(*engine, copy, imports::dump_refs(*engine, repo), false, "olga");
  const CommitId restored = branch::get_branch(*engine, copy, BranchName("exp2")).head;
  EXPECT_EQ((*engine).commits.makers(copy.id, std::span(&restored, 1))[restored].others,
            (std::vector<std::string>{"carol", "mallory", "tester"}));
}

TEST_F(StagedWork, SameCommitOfTwoBranchesHasTheMakersOfBoth) {
  put_as("mallory", "exp", "a");
  const Entry entry = objects::get_object(*engine, repo, "exp", Key("a")).entry;
  {
    const ActingUser acting("olga", {}, {});
    const Branch side = branch::get_branch(*engine, repository(), BranchName("side"));
    (*engine).staging.stage(side.id, Key("a"), entry, side.settings_version);
  }
  const auto commit_as = [&](const std::string& user, const std::string& branch) {
    const ActingUser acting(user, {}, {});
    CommitRequest request;
    request.committer = "dana";
    request.message = "m";
    request.date = from_millis(1'700'000'000'000);
    return commit_branch(*engine, repository(), BranchName(branch), request).id;
  };
  EXPECT_EQ(commit_as("carol", "exp"), commit_as("bob", "side"));
  EXPECT_EQ(authors(), (Names{"bob", "mallory", "olga"}));
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
