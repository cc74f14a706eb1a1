// Webhooks and the outbox over a real database.
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/branch/aliases.h"
#include "core/branch/settings.h"
#include "core/events/webhooks.h"
#include "core/jobs/jobs.h"
#include "core/meta/branches.h"
#include "core/meta/tags.h"
#include "core/versioning/merge.h"
#include "core/versioning/reset.h"
#include "tests/support/repository_test.h"

namespace tarn::events {
namespace {

using namespace std::chrono_literals;
using testing::message_of;
using testing::reason_of;

const std::string kSealKey(32, 'k');
const Webhook kDeploy{.name = "deploy", .url = "https://x.example/hook", .created_by = "ann"};

/// A separate database, because claims and sweeps cover all of it.
class Webhooks : public ::testing::Test {
 protected:
  WebhookPut put(const Webhook& webhook, const std::optional<std::string>& secret = {}) {
    return put_webhook(*engine, kSealKey, repo, webhook, secret);
  }
  static Webhook hook(const std::string& name, std::vector<std::string> events,
                      WebhookFormat format = WebhookFormat::kStandard) {
    Webhook webhook = kDeploy;
    webhook.name = name;
    webhook.events = std::move(events);
    webhook.format = format;
    return webhook;
  }
  /// The events that a webhook receives, the oldest first: type and body.
  std::vector<std::pair<std::string, std::string>> told(std::string_view webhook = "deploy") {
    constexpr db::Query kTold{"test_told", R"sql(
      SELECT e.type, coalesce(d.body, e.body) FROM webhook_deliveries d
        JOIN webhooks h ON h.webhook_id = d.webhook_id JOIN events e ON e.event_id = d.event_id
      WHERE h.name = $1 ORDER BY d.event_id)sql"};
    const db::Rows rows = engine.pool.run(kTold, {webhook}, db::Pool::Retry::kRead);
    std::vector<std::pair<std::string, std::string>> out;
    for (size_t row = 0; row < rows.size(); ++row)
      out.emplace_back(rows.text(row, 0), rows.text(row, 1));
    return out;
  }
  std::vector<std::string> types(std::string_view webhook = "deploy") {
    std::vector<std::string> out;
    for (auto& [type, body] : told(webhook)) out.push_back(type);
    return out;
  }
  int64_t count(const char* table) {
    const bool events = std::string_view(table) == "events";
    constexpr db::Query kEvents{"test_count_events", "SELECT count(*) FROM events"};
    constexpr db::Query kDeliveries{"test_count_deliveries",
                                    "SELECT count(*) FROM webhook_deliveries"};
    return engine.pool.run(events ? kEvents : kDeliveries, {}, db::Pool::Retry::kRead)
        .integer(0, 0);
  }
  std::string head(const std::string& branch) {
    return to_text(branch::get_branch(*engine, repo, BranchName(branch)).head);
  }
  std::vector<Delivery> deliveries(std::optional<DeliveryState> state = {}) {
    return list_deliveries(*engine, repo, "deploy", state, "", 100).items;
  }
  /// Makes `n` events by creating branches.
  void make_events(int n) {
    for (int i = 0; i < n; ++i) engine.branch(repo, "b" + std::to_string(branches++), "main");
  }

  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
  Outbox outbox{engine.pool};
  int branches = 0;
};

TEST_F(Webhooks, AreMadeChangedListedAndDeleted) {
  const WebhookPut made = put(kDeploy);
  EXPECT_TRUE(made.made);
  ASSERT_TRUE(made.secret);
  EXPECT_EQ(get_webhook_secret(*engine, kSealKey, repo, "deploy"), *made.secret);

  Webhook changed = kDeploy;
  changed.url = "https://y.example/";
  changed.events = {"tag.*"};
  changed.active = false;
  changed.created_by = "ben";
  const WebhookPut again = put(changed);
  EXPECT_FALSE(again.made);
  EXPECT_FALSE(again.secret);
  EXPECT_EQ(get_webhook_secret(*engine, kSealKey, repo, "deploy"), *made.secret);
  const Webhook got = get_webhook(*engine, repo, "deploy");
  EXPECT_EQ(got.url, "https://y.example/");
  EXPECT_EQ(got.events, changed.events);
  EXPECT_FALSE(got.active);
  EXPECT_EQ(got.created_by, "ann");

  const std::string own = make_webhook_secret();
  put(changed, own);
  EXPECT_EQ(get_webhook_secret(*engine, kSealKey, repo, "deploy"), own);
  put(hook("audit", {"*"}), own);
  const Page<Webhook> page = list_webhooks(*engine, repo, "", "", 1);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].name, "audit");
  EXPECT_TRUE(page.has_more);
  EXPECT_EQ(list_webhooks(*engine, repo, "", page.next, 10).items.at(0).name, "deploy");

  delete_webhook(*engine, repo, "deploy");
  EXPECT_EQ(reason_of([&] { get_webhook(*engine, repo, "deploy"); }), "webhook_not_found");
  EXPECT_EQ(reason_of([&] { delete_webhook(*engine, repo, "deploy"); }), "webhook_not_found");
}

TEST_F(Webhooks, RefuseInvalidSettings) {
  EXPECT_NE(message_of([&] { put(hook("x", {"brunch.*"})); }).find("\"brunch.*\""),
            std::string::npos);
  EXPECT_EQ(reason_of([&] { put(hook("x", {})); }), "invalid_argument");
  EXPECT_EQ(reason_of([&] { put(kDeploy, "secret"); }), "invalid_argument");
  for (size_t i = 0; i < kWebhooksMax; ++i) put(hook("w" + std::to_string(i), {"*"}));
  EXPECT_EQ(reason_of([&] { put(kDeploy); }), "too_many_webhooks");
  EXPECT_EQ(reason_of([&] { put(hook("w0", {"tag.*"})); }), "done");
}

TEST_F(Webhooks, SecretsAreSealedForTheirWebhookOnly) {
  const std::string secret = *put(kDeploy).secret;
  put(hook("audit", {"*"}));
  constexpr db::Query kLeak{"test_leak",
                            "SELECT count(*) FROM webhooks WHERE position($1 IN secret) > 0"};
  EXPECT_EQ(engine.pool.run(kLeak, {db::Bytes{secret}}, db::Pool::Retry::kRead).integer(0, 0), 0);
  constexpr db::Query kSwap{"test_swap", R"sql(
    UPDATE webhooks SET secret = (SELECT secret FROM webhooks WHERE name = 'deploy') WHERE name = 'audit')sql"};
  engine.pool.run(kSwap, {}, db::Pool::Retry::kWrite);
  EXPECT_EQ(reason_of([&] { get_webhook_secret(*engine, kSealKey, repo, "audit"); }), "data_loss");
  EXPECT_EQ(reason_of([&] { get_webhook_secret(*engine, std::string(32, 'x'), repo, "deploy"); }),
            "data_loss");
}

TEST_F(Webhooks, ReceiveEachRefChangeAndNothingElse) {
  make_events(1);
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  EXPECT_EQ(count("events"), 0) << "nobody wants to know";

  put(kDeploy);
  const std::string before = head("main");
  engine.put(repo, "main", "b", "1");
  EXPECT_EQ(count("events"), 0) << "staging moves no ref";
  const Commit commit = engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  branch::create_tag(*engine, repo, TagName("v1"), "main", /*force=*/false);
  branch::delete_tag(*engine, repo, TagName("v1"), /*force=*/false);
  branch::delete_branch(*engine, repo, BranchName("dev"), /*force=*/false);
  ASSERT_EQ(types(), (std::vector<std::string>{"branch.updated", "branch.created", "tag.created",
                                               "tag.deleted", "branch.deleted"}));
  const std::string body = told()[0].second;
  for (const std::string& part :
       {std::string(R"("type" : "branch.updated")"), std::string(R"("repository": "lake")"),
        std::string(R"("name": "main")"), R"("old_commit": ")" + before + '"',
        R"("new_commit": ")" + to_text(commit.id) + '"',
        R"("committer": ")" + commit.committer + '"'}) {
    EXPECT_NE(body.find(part), std::string::npos) << part << " in " << body;
  }
  EXPECT_NE(told()[1].second.find(R"("old_commit": null)"), std::string::npos) << told()[1].second;
  EXPECT_NE(told()[4].second.find(R"("new_commit": null)"), std::string::npos) << told()[4].second;
}

TEST_F(Webhooks, ReceiveAliasEvents) {
  put(hook("deploy", {"alias.set", "alias.removed"}));
  put(hook("registry", {"*"}, WebhookFormat::kMlflow));
  const AliasName champion("champion");
  branch::set_alias(*engine, repo, {.name = champion, .reason = "better", .actor = "ann"}, "main");
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  branch::set_alias(*engine, repo, {.name = champion, .actor = "ann"}, "main");
  branch::set_alias(*engine, repo, {.name = champion, .actor = "ann"}, "main");
  branch::remove_alias(*engine, repo, {.name = champion, .actor = "ben"});
  using Types = std::vector<std::string>;
  ASSERT_EQ(types(), (Types{"alias.set", "alias.set", "alias.removed"})) << "moves only";
  const std::string set = told()[0].second;
  for (const char* part : {R"("kind": "alias")", R"("name": "champion")", R"("version": 1)",
                           R"("actor": "ann")", R"("reason": "better")"}) {
    EXPECT_NE(set.find(part), std::string::npos) << part << " in " << set;
  }
  ASSERT_EQ(types("registry"), types());
  const std::string mlflow = told("registry")[1].second;
  for (const std::string& part :
       {std::string(R"("entity" : "model_version_alias")"), std::string(R"("action" : "created")"),
        R"("data" : {"name" : "lake", "alias" : "champion", "version" : ")" + head("main") +
            R"("})"}) {
    EXPECT_NE(mlflow.find(part), std::string::npos) << part << " in " << mlflow;
  }
  EXPECT_NE(told("registry")[2].second.find(R"("action" : "deleted")"), std::string::npos);
}

TEST_F(Webhooks, EventsOfARefAreInOrder) {
  put(hook("deploy", {"branch.updated"}));
  const std::string first = head("main");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        engine.put(repo, "main", "k" + std::to_string(t) + "-" + std::to_string(i), "1");
        try {
          engine.commit(repo, "main");
        } catch (const Error&) {
          // Another's commit took it along.
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string at = first;
  for (const auto& [type, body] : told()) {
    EXPECT_NE(body.find(R"("old_commit": ")" + at + '"'), std::string::npos) << body;
    const size_t start = body.find(R"("new_commit": ")") + 15;
    at = body.substr(start, 64);
  }
  EXPECT_EQ(at, head("main"));
  EXPECT_GT(told().size(), 5u);
}

TEST_F(Webhooks, ChooseEventsByPattern) {
  put(hook("branches", {"branch.*"}));
  put(hook("ends", {"*.deleted", "tag.created"}));
  Webhook quiet = hook("quiet", {"*"});
  quiet.active = false;
  put(quiet);
  engine.branch(repo, "dev", "main");
  branch::create_tag(*engine, repo, TagName("v1"), "main", /*force=*/false);
  branch::delete_branch(*engine, repo, BranchName("dev"), /*force=*/false);
  using Types = std::vector<std::string>;
  EXPECT_EQ(types("branches"), (Types{"branch.created", "branch.deleted"}));
  EXPECT_EQ(types("ends"), (Types{"tag.created", "branch.deleted"}));
  EXPECT_EQ(types("quiet"), Types{});
  EXPECT_EQ(count("events"), 3) << "one event, however many are told";
}

TEST_F(Webhooks, ReceiveNoEventsOfOtherRepositories) {
  put(kDeploy);
  const auto other = engine.make_repository("other");
  engine.branch(other, "dev", "main");
  EXPECT_EQ(count("events"), 0);
}

TEST_F(Webhooks, SendMlflowEvents) {
  put(hook("deploy", {"*"}, WebhookFormat::kMlflow));
  engine.branch(repo, "dev", "main");
  EXPECT_EQ(types(), std::vector<std::string>{}) << "a registry knows no branches";
  branch::create_tag(*engine, repo, TagName("v1"), "main", /*force=*/false);
  ASSERT_EQ(types(), std::vector<std::string>{"tag.created"});
  const std::string body = told()[0].second;
  for (const std::string& part :
       {std::string(R"("entity" : "model_version")"), std::string(R"("action" : "created")"),
        std::string(R"("name" : "lake")"), R"("version" : ")" + head("main") + '"',
        R"("source" : "lakefs://lake/)" + head("main") + R"(/")", std::string(R"("run_id" : null)"),
        std::string(R"("tarn.tag": "v1")")}) {
    EXPECT_NE(body.find(part), std::string::npos) << part << " in " << body;
  }
}

TEST_F(Webhooks, ReceiveEndsOfImports) {
  put(hook("deploy", {"import.*"}));
  const auto branch = branch::get_branch(*engine, repo, BranchName("main"));
  const RepositoryId id = branch::get_repository(*engine, repo).id;
  jobs::Jobs& jobs = (*engine).jobs;
  for (const jobs::JobState state : {jobs::JobState::kDone, jobs::JobState::kFailed}) {
    jobs.create("import", id, branch.id, "", "ann");
    auto job = *jobs.take("import", 1, 30s);
    job.error = state == jobs::JobState::kFailed ? "the source is gone" : "";
    EXPECT_TRUE(jobs.finish(job, 1, state));
  }
  const std::string cancelled = jobs.create("import", id, branch.id, "", "ann");
  EXPECT_TRUE(jobs.cancel(cancelled));
  jobs.create("other", id, branch.id, "", "ann");
  EXPECT_TRUE(jobs.finish(*jobs.take("other", 1, 30s), 1, jobs::JobState::kDone));
  ASSERT_EQ(types(),
            (std::vector<std::string>{"import.completed", "import.failed", "import.cancelled"}));
  EXPECT_NE(told()[1].second.find(R"("error": "the source is gone")"), std::string::npos);
  EXPECT_NE(told()[1].second.find(R"("branch": "main")"), std::string::npos);
}

TEST_F(Webhooks, EventsOfARolledBackTransactionAreNotSent) {
  put(kDeploy);
  const RepositoryId id = branch::get_repository(*engine, repo).id;
  const auto emit = [&](db::Connection& connection) {
    emit_event(connection, id, "promotion.promoted", {{"id", "p1"}, {"reason", "it's \"x\""}});
  };
  EXPECT_THROW(engine.pool.transaction([&](db::Connection& connection) {
    emit(connection);
    throw Error(ErrorCode::kConflict, "lost");
  }),
               Error);
  EXPECT_EQ(types(), std::vector<std::string>{});
  engine.pool.transaction([&](db::Connection& connection) { emit(connection); });
  ASSERT_EQ(types(), std::vector<std::string>{"promotion.promoted"});
  EXPECT_NE(told()[0].second.find(R"("reason": "it's \"x\"")"), std::string::npos);
}

TEST_F(Webhooks, AreClaimedUpToTheirBound) {
  put(kDeploy);
  put(hook("audit", {"*"}));
  make_events(5);
  std::set<int32_t> webhooks;
  size_t of_deploy = 0;
  for (const auto& claimed : outbox.claim(100, 2, 30s)) {
    webhooks.insert(claimed.webhook);
    of_deploy += claimed.webhook_name == "deploy";
    EXPECT_EQ(claimed.attempts, 1u);
  }
  EXPECT_EQ(of_deploy, 2u);
  EXPECT_EQ(webhooks.size(), 2u) << "one does not wait for the other";
  EXPECT_TRUE(outbox.claim(100, 2, 30s).empty()) << "both have their bound";
  EXPECT_EQ(outbox.claim(100, 3, 30s).size(), 2u);
}

TEST_F(Webhooks, ConcurrentClaimsStayWithinTheBound) {
  put(kDeploy);
  make_events(10);
  testing::TestEngine other(database.url(), engine.store);
  std::atomic<size_t> claimed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Outbox box(t % 2 == 0 ? engine.pool : other.pool);
      for (int i = 0; i < 5; ++i) claimed += box.claim(1, 2, 30s).size();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(claimed, 2u);
}

TEST_F(Webhooks, ExpiredClaimsAreInvalid) {
  put(kDeploy);
  make_events(1);
  const auto first = outbox.claim(1, 2, 50ms).at(0);
  EXPECT_TRUE(outbox.claim(1, 2, 30s).empty());
  std::this_thread::sleep_for(100ms);
  const auto second = outbox.claim(1, 2, 30s).at(0);
  EXPECT_EQ(second.event, first.event);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.attempts, 2u);
  EXPECT_FALSE(outbox.end(first, {.status = 500, .error = "late"}, engine.clock.now()));
  EXPECT_FALSE(
      outbox.end(first, {.status = 503, .error = "late", .retry_after = 1h}, engine.clock.now()));
  EXPECT_FALSE(outbox.end(first, {.status = 204}, engine.clock.now()));
  EXPECT_TRUE(outbox.end(second, {.status = 204}, engine.clock.now()));
  EXPECT_EQ(deliveries().at(0).state, DeliveryState::kDelivered);
  EXPECT_TRUE(outbox.claim(1, 2, 30s).empty());
}

TEST_F(Webhooks, DeliveriesAreRetriedThenDeadThenRedelivered) {
  put(kDeploy);
  make_events(1);
  EXPECT_TRUE(outbox.end(outbox.claim(1, 2, 30s).at(0),
                         {.status = 503, .error = "busy", .retry_after = 30s}, engine.clock.now()));
  Delivery waiting = deliveries(DeliveryState::kPending).at(0);
  EXPECT_EQ(waiting.last_status, 503);
  EXPECT_EQ(waiting.last_error, "busy");
  ASSERT_TRUE(waiting.next_attempt);
  EXPECT_GT(*waiting.next_attempt, engine.clock.now() + 20s);
  EXPECT_TRUE(outbox.claim(1, 2, 30s).empty()) << "it is not due";

  EXPECT_EQ(redeliver(*engine, repo, "deploy", waiting.id).attempts, 1u) << "brought forward";
  EXPECT_TRUE(
      outbox.end(outbox.claim(1, 2, 30s).at(0), {.error = "no answer"}, engine.clock.now()));
  const Delivery dead = deliveries(DeliveryState::kDead).at(0);
  EXPECT_EQ(dead.attempts, 2u);
  EXPECT_FALSE(dead.last_status);
  EXPECT_TRUE(dead.ended);
  EXPECT_TRUE(outbox.claim(1, 2, 30s).empty());
  EXPECT_TRUE(deliveries(DeliveryState::kDelivered).empty());

  const Delivery again = redeliver(*engine, repo, "deploy", dead.id);
  EXPECT_EQ(again.state, DeliveryState::kPending);
  EXPECT_EQ(again.attempts, 0u);
  const auto claimed = outbox.claim(1, 2, 30s).at(0);
  EXPECT_EQ(claimed.event, dead.id);
  EXPECT_EQ(claimed.attempts, 1u);
  EXPECT_EQ(redeliver(*engine, repo, "deploy", dead.id).attempts, 1u);
  EXPECT_TRUE(outbox.claim(1, 2, 30s).empty()) << "it is being sent";
  EXPECT_TRUE(outbox.end(claimed, {.status = 200}, engine.clock.now()));
  EXPECT_EQ(reason_of([&] { redeliver(*engine, repo, "deploy", "evt_0"); }), "delivery_not_found");
  EXPECT_EQ(reason_of([&] { redeliver(*engine, repo, "audit", dead.id); }), "webhook_not_found");
}

TEST_F(Webhooks, InactiveOnesKeepTheirDeliveries) {
  put(kDeploy);
  make_events(1);
  Webhook quiet = kDeploy;
  quiet.active = false;
  put(quiet);
  EXPECT_TRUE(outbox.claim(1, 2, 30s).empty());
  put(kDeploy);
  EXPECT_EQ(outbox.claim(1, 2, 30s).size(), 1u);
}

TEST_F(Webhooks, AreListedInPages) {
  put(kDeploy);
  make_events(5);
  std::vector<std::string> seen;
  std::string after;
  for (int page = 0; page < 3; ++page) {
    const Page<Delivery> got = list_deliveries(*engine, repo, "deploy", {}, after, 2);
    for (const Delivery& delivery : got.items) seen.push_back(delivery.id);
    EXPECT_EQ(got.has_more, page < 2);
    after = got.next;
  }
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_TRUE(std::is_sorted(seen.rbegin(), seen.rend()));
}

TEST_F(Webhooks, AreDeletedWithTheirDeliveries) {
  put(kDeploy);
  make_events(2);
  delete_webhook(*engine, repo, "deploy");
  EXPECT_EQ(count("deliveries"), 0);
  put(kDeploy);
  make_events(2);
  branch::delete_repository(*engine, repo, /*force=*/true);
  EXPECT_EQ(count("deliveries"), 1) << "the repository's end is told";
}

TEST_F(Webhooks, PendingDeliveriesAreLimited) {
  put(kDeploy);
  make_events(6);
  const auto running = outbox.claim(1, 2, 30s).at(0);
  EXPECT_EQ(outbox.give_up_crowded(6, 100, engine.clock.now()), 0u);
  EXPECT_EQ(outbox.give_up_crowded(2, 3, engine.clock.now()), 3u) << "no more at a time than asked";
  EXPECT_EQ(outbox.give_up_crowded(2, 3, engine.clock.now()), 1u);
  const auto dead = deliveries(DeliveryState::kDead);
  ASSERT_EQ(dead.size(), 4u);
  EXPECT_EQ(dead[0].last_error, "too many others were waiting");
  for (const Delivery& each : deliveries(DeliveryState::kPending)) {
    EXPECT_TRUE(each.id == running.event || each.id > dead[0].id) << "the oldest went";
  }
  EXPECT_TRUE(outbox.end(running, {.status = 200}, engine.clock.now()));
}

TEST_F(Webhooks, OldDeliveriesAreSwept) {
  put(kDeploy);
  put(hook("audit", {"*"}));
  make_events(3);
  const Instant now = engine.clock.now();
  for (const auto& claimed : outbox.claim(100, 100, 30s)) {
    if (claimed.webhook_name == "deploy") outbox.end(claimed, {.status = 200}, now);
  }
  EXPECT_EQ(outbox.sweep(1h, 2h, 100, now), 0u);
  EXPECT_EQ(outbox.sweep(1h, 2h, 2, now + 90min), 2u) << "no more at a time than asked";
  EXPECT_EQ(outbox.sweep(1h, 2h, 100, now + 90min), 1u);
  EXPECT_EQ(count("deliveries"), 3) << "those of the other are pending";
  EXPECT_EQ(count("events"), 3);
  delete_webhook(*engine, repo, "audit");
  EXPECT_EQ(outbox.sweep(1h, 2h, 100, now + 90min), 0u);
  EXPECT_EQ(outbox.sweep(1h, 2h, 100, now + 3h), 3u) << "events of a webhook that is gone";
  EXPECT_EQ(count("events"), 0);
}

}  // namespace
}  // namespace tarn::events
