// Tests of webhook events of verbs that move several things at once, and of runs.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/base/acting_user.h"
#include "core/branch/aliases.h"
#include "core/branch/hooks.h"
#include "core/branch/repositories.h"
#include "core/events/outbox.h"
#include "core/events/webhooks.h"
#include "core/imports/refs_dump.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/promotion_run.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/promotions.h"
#include "core/promotion/review.h"
#include "core/promotion/rollback.h"
#include "core/runs/runs.h"
#include "core/versioning/pull_comments.h"
#include "core/versioning/pull_requests.h"
#include "tests/support/bare_repository.h"
#include "tests/support/repository_test.h"

namespace tarn::events {
namespace {

/// A separate database, because the tests read all its events.
class WebhookEvents : public ::testing::Test {
 protected:
  void listen(const Repository& to, std::vector<std::string> events,
              WebhookFormat format = WebhookFormat::kStandard) {
    put_webhook(*engine, std::string(32, 'k'), to,
                {.name = "deploy",
                 .url = "https://x.example/hook",
                 .events = std::move(events),
                 .format = format,
                 .created_by = "ann"},
                {});
  }
  /// One value of each event's data, the oldest event first, after its type; "" = absent.
  std::vector<std::string> told(std::string_view key) {
    constexpr db::Query kTold{"test_told_value", R"sql(
      SELECT e.type || ' ' || coalesce(coalesce(d.body, e.body)::jsonb->'data'->>$1, '')
      FROM webhook_deliveries d JOIN events e USING (event_id) ORDER BY d.event_id)sql"};
    const db::Rows rows = engine.pool.run(kTold, {key}, db::Pool::Retry::kRead);
    std::vector<std::string> out;
    for (size_t row = 0; row < rows.size(); ++row) out.emplace_back(rows.text(row, 0));
    return out;
  }
  std::string head(const Repository& of, const std::string& branch) {
    return to_text(branch::get_branch(*engine, of, BranchName(branch)).head);
  }
  std::string record(const std::string& ref, const std::string& experiment) {
    return runs::record_run(*engine, repo,
                            {.experiment = experiment,
                             .commit = engine.head(repo, ref),
                             .branch = ref,
                             .owner = "ann"})
        .run.id;
  }

  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
};

TEST_F(WebhookEvents, OfMlflowNameTheRunOfTheVersion) {
  listen(repo, {"tag.created"}, WebhookFormat::kMlflow);
  const std::string elsewhere = record("main", "before");
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  const std::string run = record("main", "digits");
  const auto tag = [&](const std::string& name, const std::string& ref) {
    branch::create_tag(*engine, repo, TagName(name), ref, /*force=*/false);
  };
  tag("v1", "main");
  engine.put(repo, "main", "a", "2");
  engine.commit(repo, "main");
  tag("v2", "main");
  tag("v0", "main~2");
  EXPECT_EQ(told("run_id"), (std::vector<std::string>{"tag.created " + run, "tag.created ",
                                                      "tag.created " + elsewhere}));
}

TEST_F(WebhookEvents, MergedPullRequestHasAnEvent) {
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "a", "1");
  engine.commit(repo, "dev");
  constexpr db::Query kUser{"test_insert_user",
                            "INSERT INTO users (name, created_ms) VALUES ('ann', 0)"};
  engine.pool.run(kUser, {}, db::Pool::Retry::kWrite);
  const std::string before = head(repo, "main");
  const PullRequest pull = versioning::create_pull_request(*engine, repo,
                                                           {.title = "t",
                                                            .description = "",
                                                            .author = "ann",
                                                            .source = BranchName("dev"),
                                                            .destination = BranchName("main")});
  listen(repo, {"*"});
  versioning::merge_pull_request(*engine, repo, pull, {});
  EXPECT_EQ(told("name"), std::vector<std::string>{"branch.updated main"});
  EXPECT_EQ(told("old_commit"), std::vector<std::string>{"branch.updated " + before});
  EXPECT_EQ(told("new_commit"), std::vector<std::string>{"branch.updated " + head(repo, "main")});
}

TEST_F(WebhookEvents, ReviewsAndCommentsOfPullRequestsHaveEvents) {
  engine.branch(repo, "dev", "main");
  engine.pool.run(
      {"test_insert_user", "INSERT INTO users (name, created_ms) VALUES ('ann', 0), ('ben', 0)"},
      {}, db::Pool::Retry::kWrite);
  const std::string pull = versioning::create_pull_request(*engine, repo,
                                                           {.title = "t",
                                                            .author = "ann",
                                                            .source = BranchName("dev"),
                                                            .destination = BranchName("main")})
                               .id;
  listen(repo, {"pull_request.*"});
  const CommitId head = branch::get_branch(*engine, repo, BranchName("dev")).head;
  for (int i = 0; i < 2; ++i) {
    versioning::ask_reviewers(*engine, repo, pull, {"ben"}, "ann");
    versioning::review_pull_request(*engine, repo, pull, "ben", ReviewVerdict::kChangesRequested,
                                    head);
  }
  versioning::create_pull_comment(*engine, repo, pull,
                                  {.author = "ben",
                                   .body = "@ann: see x@y.z, (@max.m), @ann. And secret",
                                   .path = "a/b",
                                   .line = 3,
                                   .commit = head});
  versioning::edit_pull_comment(*engine, repo, pull, 1, "ben", "@cid");
  versioning::resolve_pull_thread(*engine, repo, pull, 1, "ann", true);
  versioning::withdraw_review(*engine, repo, pull, "ben");
  using Told = std::vector<std::string>;
  EXPECT_EQ(told("actor"), (Told{"pull_request.review_requested ann", "pull_request.reviewed ben",
                                 "pull_request.commented ben"}))
      << "once each: the same again is no event";
  EXPECT_EQ(told("reviewer")[0], "pull_request.review_requested ben");
  EXPECT_EQ(told("verdict")[1], "pull_request.reviewed changes_requested");
  EXPECT_EQ(told("commit")[1], "pull_request.reviewed " + to_text(head));
  for (const std::string& number : told("number")) EXPECT_TRUE(number.ends_with(" 1")) << number;
  EXPECT_EQ(told("mentions")[2], "pull_request.commented [\"ann\", \"max.m\"]");
  EXPECT_EQ(told("path")[2], "pull_request.commented a/b");
  EXPECT_EQ(told("line")[2], "pull_request.commented 3");
  const db::Rows leaks =
      engine.pool.run({"test_find_text", "SELECT count(*) FROM events WHERE body LIKE '%secret%'"},
                      {}, db::Pool::Retry::kRead);
  EXPECT_EQ(leaks.integer(0, 0), 0) << "a receiver need not be allowed to read comments";
}

TEST_F(WebhookEvents, MentionsAreBoundedInAnyText) {
  const auto mentions = [&](const std::string& text) {
    return std::string(
        engine.pool
            .run({"test_mentions", "SELECT array_to_string(mentioned_users($1), ' ')"}, {text},
                 db::Pool::Retry::kRead)
            .text(0, 0));
  };
  EXPECT_EQ(mentions("@ann@example.com, @b_c-d."), "ann@example.com b_c-d");
  EXPECT_EQ(mentions("me@example.com /@x @ @- @@ann"), "");
  EXPECT_EQ(mentions("@b @a @b"), "b a") << "each once, in the order of the text";
  std::string many;
  for (int i = 0; i < 2000; ++i) many += " @u" + std::to_string(i);
  EXPECT_EQ(mentions(many).find("u20"), std::string::npos);
  EXPECT_EQ(mentions(std::string(kPullCommentBytesMax, '@')), "");
  EXPECT_EQ(mentions("@" + std::string(kPullCommentBytesMax - 1, 'a')).size(), 128u);
}

TEST_F(WebhookEvents, RestoreHasAnEventForEachRef) {
  engine.branch(repo, "dev", "main");
  branch::create_tag(*engine, repo, TagName("v1"), "main", /*force=*/false);
  branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "ann"}, "main");
  const std::string dump = imports::dump_refs(*engine, repo);
  const auto copy = testing::make_bare_repository(engine, "copy");
  listen(copy, {"*"});
  imports::restore_refs(*engine, copy, dump, /*force=*/false, "ann");
  std::vector<std::string> names = told("name");
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"alias.moved_by_hand champion", "alias.set champion",
                                             "branch.created dev", "branch.created main",
                                             "tag.created v1"}));
  for (const std::string& commit : told("new_commit")) {
    EXPECT_EQ(commit.substr(commit.find(' ') + 1), head(copy, "main"));
  }
}

TEST_F(WebhookEvents, OfPoliciesSayWhatAnAdministratorChanged) {
  listen(repo, {"policy.*", "alias.moved_by_hand"});
  const auto set = [&](const std::string& more) {
    promotion::set_gate_policy(
        *engine, repo, "digits",
        {.document = "name: digits\ndestination: main\n" + more, .author = "owner"});
  };
  set("");
  set("");
  set("require_up_to_date: true\n");
  promotion::remove_gate_policy(*engine, repo, "digits", "other", {});
  branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "ann"}, "main");
  EXPECT_EQ(told("version"),
            (std::vector<std::string>{"policy.set 1", "policy.set 2", "policy.removed 3",
                                      "alias.moved_by_hand 1"}));
  EXPECT_EQ(told("actor"),
            (std::vector<std::string>{"policy.set owner", "policy.set owner",
                                      "policy.removed other", "alias.moved_by_hand ann"}));
  EXPECT_EQ(told("destination")[2], "policy.removed main");
}

TEST_F(WebhookEvents, OfAPolicyTellThatAChangeIsProposed) {
  listen(repo, {"policy.*"});
  const auto set = [&](const std::string& more, const std::string& user) {
    promotion::set_gate_policy(
        *engine, repo, "digits",
        {.document = "destination: main\nconfirm_changes: true\n" + more, .author = user});
  };
  set("", "owner");
  set("require_up_to_date: true\n", "mallory");
  set("require_up_to_date: true\n", "mallory");
  set("require_up_to_date: true\n", "owner");
  EXPECT_EQ(told("actor"), (std::vector<std::string>{"policy.set owner", "policy.proposed mallory",
                                                     "policy.set owner"}));
}

TEST_F(WebhookEvents, OfTheDeletionOutliveTheRepository) {
  Outbox outbox(engine.pool);
  const std::chrono::seconds week{7 * 24 * 3600};
  for (const std::chrono::seconds grace : {week, std::chrono::seconds{0}}) {
    const auto gone = engine.make_repository("gone" + std::to_string(grace.count()));
    listen(gone, {"*"});
    engine.branch(gone, "dev", "main");
    {
      const ActingUser mallory("mallory", {}, {});
      branch::delete_repository(*engine, gone.name, {.force = false, .grace = grace});
    }
    const auto claimed = outbox.claim(10, 10, std::chrono::seconds{60});
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed[0].type, "repository.deleted");
    EXPECT_NE(claimed[0].body.find("mallory"), std::string::npos) << claimed[0].body;
    EXPECT_EQ(claimed[0].url, "https://x.example/hook");
    EXPECT_TRUE(outbox.end(claimed[0], {.status = 200}, engine.clock.now()));
    const auto swept = [&] {
      outbox.sweep(week, week, 100, engine.clock.now());
      return engine.pool
          .run({"test_count_leaving", "SELECT count(*) FROM leaving_webhooks"}, {},
               db::Pool::Retry::kRead)
          .integer(0, 0);
    };
    EXPECT_EQ(swept(), 0);
  }
  branch::restore_repository(*engine, {.name = RepositoryName("gone604800"), .grace = week});
  branch::delete_repository(*engine, RepositoryName("gone604800"), {.grace = week});
  EXPECT_EQ(outbox.claim(10, 10, std::chrono::seconds{60}).size(), 1u) << "told once more";
}

TEST_F(WebhookEvents, OfADeletionThatIsTakenBackAreStillDelivered) {
  listen(repo, {"*"});
  branch::delete_repository(*engine, repo.name, {.grace = std::chrono::seconds{3600}});
  branch::restore_repository(*engine, {.name = repo.name, .grace = std::chrono::seconds{3600}});
  Outbox outbox(engine.pool);
  EXPECT_EQ(outbox.claim(10, 10, std::chrono::seconds{60}).size(), 1u);
}

TEST_F(WebhookEvents, OfMlflowNameTheRunThatWonAPromotion) {
  promotion::set_gate_policy(
      *engine, repo, "digits",
      {.document = "name: digits\ndestination: main\nalias: champion\nmetrics:\n"
                   "  - {name: accuracy, goal: max, min: 0.6, primary: true}\n"
                   "after: {tag: \"model-{short}\"}\n",
       .author = "owner"});
  engine.branch(repo, "exp-1", "main");
  engine.put(repo, "exp-1", "model", "weights");
  versioning::CommitRequest trained;
  trained.message = "Train";
  trained.metadata = {{"metric.accuracy", "0.9"}};
  versioning::commit_branch(*engine, repo, BranchName("exp-1"), trained);
  const std::string run = record("exp-1", "digits");
  listen(repo, {"tag.created"}, WebhookFormat::kMlflow);

  promotion::PromotionRequest request;
  request.candidates = {"exp-1"};
  request.destination = BranchName("main");
  const std::string id =
      promotion::create_promotion(*engine, repo,
                                  {.request = request, .actor = "ci", .idempotency_key = ""})
          .promotion.id;
  while (promotion::run_one_promotion(*engine, {})) {
  }
  const promotion::Promotion done = promotion::get_promotion(*engine, repo, id);
  ASSERT_TRUE(done.result) << done.message;
  EXPECT_EQ(told("version"), std::vector<std::string>{"tag.created " + to_text(*done.result)});
  EXPECT_EQ(told("run_id"), std::vector<std::string>{"tag.created " + run});
}

TEST_F(WebhookEvents, OfPromotionsSayEachTimeWhatTheyWaitForAndShowTheReview) {
  engine.pool.run({"test_users", "INSERT INTO users (name, created_ms) VALUES ('olga', 0)"}, {},
                  db::Pool::Retry::kWrite);
  promotion::set_gate_policy(
      *engine, repo, "digits",
      {.document = "name: digits\ndestination: main\nalias: champion\nmetrics:\n"
                   "  - {name: accuracy, goal: max, min: 0.6, primary: true}\n"
                   "approvals: {count: 1}\n"
                   "stages: [{alias: canary, soak: 1h}, {alias: champion}]\n",
       .author = "owner"});
  engine.branch(repo, "exp-1", "main");
  engine.put(repo, "exp-1", "model", "weights");
  versioning::CommitRequest trained;
  trained.message = "Train";
  trained.metadata = {{"metric.accuracy", "0.9"}};
  versioning::commit_branch(*engine, repo, BranchName("exp-1"), trained);
  listen(repo, {"promotion.*"});
  promotion::PromotionRequest request;
  request.candidates = {"exp-1"};
  request.destination = BranchName("main");
  const std::string id =
      promotion::create_promotion(*engine, repo,
                                  {.request = request, .actor = "ci", .idempotency_key = ""})
          .promotion.id;
  const auto work = [&] {
    while (promotion::run_one_promotion(*engine, {})) {
    }
  };
  const auto approve = [&](const std::string& which) {
    const std::string review = promotion::get_promotion(*engine, repo, which).review;
    promotion::approve_promotion(*engine, repo, which, {"olga"}, "",
                                 promotion::review_digest(review));
    work();
  };
  work();
  EXPECT_EQ(told("review_digest").back(),
            "promotion.waiting " +
                promotion::review_digest(promotion::get_promotion(*engine, repo, id).review));
  EXPECT_NE(told("review").back().find(R"("candidate": "0.9")"), std::string::npos);
  approve(id);
  engine.pool.run(
      {"test_age_stages", "UPDATE promotion_stages SET entered_ms = entered_ms - 3600000"}, {},
      db::Pool::Retry::kWrite);
  promotion::PromotionStore(engine.pool, (*engine).clock).wake(repo.id, id);
  work();
  const std::string back = promotion::roll_back_promotion(*engine, repo, id, {"ci"}, "").id;
  work();
  approve(back);
  EXPECT_EQ(told("code"), (std::vector<std::string>{
                              "promotion.created ", "promotion.waiting approval_required",
                              "promotion.waiting stage_entered", "promotion.waiting stage_soaking",
                              "promotion.promoted ", "promotion.waiting approval_required",
                              "promotion.rolled_back "}));
  EXPECT_EQ(told("rollback_id").back(), "promotion.rolled_back " + back);
}

TEST_F(WebhookEvents, OfAChampionThatExpiresComeOnce) {
  const auto apply = [&](const std::string& time) {
    promotion::set_gate_policy(
        *engine, repo, "digits",
        {.document = "name: digits\ndestination: main\nalias: champion\nremeasure: [bench]\n"
                     "champion: {expires: " +
                     time + "}\n",
         .author = "owner"});
  };
  apply("90d");
  engine.branch(repo, "exp-1", "main");
  engine.put(repo, "exp-1", "model", "weights");
  engine.commit(repo, "exp-1");
  promotion::PromotionRequest request;
  request.candidates = {"exp-1"};
  request.destination = BranchName("main");
  promotion::create_promotion(*engine, repo,
                              {.request = request, .actor = "ci", .idempotency_key = ""});
  while (promotion::run_one_promotion(*engine, {})) {
  }
  listen(repo, {"champion.*"});
  const auto age = [&](int64_t days) {
    engine.pool.run({"test_age_promotions", "UPDATE promotions SET updated_ms = updated_ms - $1"},
                    {days * 86'400'000}, db::Pool::Retry::kWrite);
    promotion::tell_expired_champions(*engine);
    promotion::tell_expired_champions(*engine);
    return told("commit");
  };
  EXPECT_EQ(age(89), std::vector<std::string>{});
  const std::string expired = "champion.expired " + head(repo, "main");
  EXPECT_EQ(age(1), std::vector<std::string>{expired});
  apply("100d");
  EXPECT_EQ(age(9), std::vector<std::string>{expired});
  EXPECT_EQ(age(1), (std::vector<std::string>{expired, expired})) << "the policy gave it more time";
}

}  // namespace
}  // namespace tarn::events
