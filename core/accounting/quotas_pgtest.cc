// Quotas: what counts, what is refused, and that counters stay exact.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/accounting/quotas_fixture.h"
#include "core/accounting/stored_usage.h"
#include "core/base/acting_user.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/hooks.h"
#include "core/branch/quota_warning.h"
#include "core/branch/refs.h"
#include "core/meta/repository_settings.h"
#include "core/objects/multipart.h"
#include "core/quotas/quotas.h"
#include "core/versioning/commit.h"
#include "core/versioning/merge.h"
#include "core/versioning/pull_comments.h"
#include "core/versioning/pull_requests.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::accounting {
namespace {

using testing::reason_of;
using testing::TestEngine;
using testing::TestRepository;
using testing::TextBody;

constexpr db::Query kAddWebhook{"test_add_webhook", R"sql(
  INSERT INTO webhooks (repo_id, name, url, events, format, active, secret, created_by, created_ms)
  VALUES ($1, 'hook', 'http://127.0.0.1:1/', '{quota.*}', 'standard', true, ''::bytea, 'x', 0))sql"};
constexpr db::Query kEventBody{"test_event_body", "SELECT body FROM events LIMIT 1"};

TEST_F(Quotas, WritesUpToTheLimitSucceedAndTheNextIsRefused) {
  limit_bytes(whole(), 100);
  EXPECT_EQ(put("a", 60), "done");
  EXPECT_EQ(put("b", 41), "quota_exceeded");
  EXPECT_EQ(put("c", 40), "done");
  EXPECT_EQ(put("d", 1), "quota_exceeded");
  EXPECT_EQ(put("empty", 0), "done") << "it adds no byte";
  EXPECT_EQ(engine.keys(repo, "main"), "a c empty");
  EXPECT_EQ(used(whole()), (Amount{3, 100}));
}

TEST_F(Quotas, TheRefusalNamesTheQuotaAndHowToFree) {
  limit_bytes(whole(), 100);
  const std::string message =
      testing::message_of([&] { engine.put(repo, "main", "a", std::string(101, 'x')); });
  EXPECT_EQ(message,
            "quota of repository \"lake\" is exceeded: 0 of 100 bytes are used, 101 more do not "
            "fit; delete objects, branches or uploads that are not needed (they count until "
            "garbage collection has removed them), or have it raised: tarn quota set tarn://lake");
  const QuotaScope some{.repository = repo.id, .branches = "ma*"};
  limit_bytes(some, 50);
  const std::string narrow =
      testing::message_of([&] { engine.put(repo, "main", "a", std::string(51, 'x')); });
  EXPECT_NE(narrow.find("tarn quota set tarn://lake --on 'ma*'"), std::string::npos) << narrow;
}

// Two writes share a batch that does not fit, and the second of them fails: the first is staged.
TEST(QuotaFaults, AWriteThatIsStagedKeepsItsBytesWhenAnotherOfItsBatchFails) {
  testing::TestDatabase database;
  testing::FaultPoints faults;
  TestEngine engine{database.url(), nullptr, &faults};
  const TestRepository repo = engine.make_repository("lake");
  set_quota(*engine, {.repository = repo.id}, {.bytes = {std::nullopt, 100}});
  recount_quota(*engine, {.repository = repo.id});
  constexpr int kLeaders = 4;  // of batches of a branch at once
  std::promise<void> both_wait;
  const std::shared_future<void> go = both_wait.get_future().share();
  for (int i = 0; i < kLeaders; ++i) {
    faults.at_then_go_on({"staging_insert_charged"}, [go] { go.wait(); });
  }
  faults.at({"staging_insert_charged", false, 3},
            []() -> db::Fault { throw Error(ErrorCode::kNotFound, "it was deleted"); });
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::multiset<std::string> reasons;
  const auto put = [&](const std::string& key, size_t bytes) {
    threads.emplace_back([&, key, bytes] {
      const std::string reason =
          reason_of([&] { engine.put(repo, "main", key, std::string(bytes, 'x')); });
      const std::lock_guard lock(mutex);
      if (bytes > 1) reasons.insert(reason);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  for (int i = 0; i < kLeaders; ++i) put("leader" + std::to_string(i), 1);
  put("a", 60);
  put("b", 60);
  both_wait.set_value();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(reasons, (std::multiset<std::string>{"in_doubt", "in_doubt"}));
  EXPECT_EQ(engine.read(repo, "main", "a"), std::string(60, 'x'));
}

TEST_F(Quotas, MetadataOfCommitsRunsEventsAndHooksIsLimited) {
  engine.pool.lease()->run(kAddWebhook, {static_cast<int32_t>(repo.id)});
  const QuotaScope ann{.repository = repo.id, .user = "ann"};
  const auto commit = [&](const std::string& user, size_t bytes) {
    const ActingUser acting(user, {}, {});
    put("k", 1);
    versioning::CommitRequest request;
    request.committer = user;
    request.message = std::string(bytes, 'm');
    request.allow_empty = true;
    return reason_of(
        [&] { versioning::commit_branch(*engine, repo, BranchName("main"), request); });
  };
  const auto metadata = [&](const QuotaScope& scope) {
    return (*engine).quotas.find(scope)->metadata;
  };
  set_quota(*engine, ann, {.metadata = {{}, 10'000}});
  recount_quota(*engine, ann);
  EXPECT_EQ(commit("ann", 9'000), "done");
  EXPECT_GT(metadata(ann), 9'000u);
  EXPECT_EQ(commit("ann", 9'000), "quota_exceeded");
  EXPECT_LT(metadata(ann), 10'000u) << "what was refused does not count";
  EXPECT_EQ(commit("bob", 9'000), "done");
  const uint64_t counted = metadata(ann);
  recount_quota(*engine, ann);
  EXPECT_EQ(metadata(ann), counted) << "a recount finds the same";
  set_quota(*engine, whole(), {.metadata = {{}, 0}});
  recount_quota(*engine, whole());
  EXPECT_GT(metadata(whole()), 18'000u) << "from before the quota too";
  EXPECT_EQ(commit("bob", 1), "quota_exceeded");
  EXPECT_EQ(reason_of([&] { engine.remove(repo, "main", "k"); }), "done");
  EXPECT_EQ(reason_of([&] {
              set_quota(*engine, {.repository = repo.id, .branches = "m*"}, {.metadata = {{}, 1}});
            }),
            "invalid_argument");
}

TEST_F(Quotas, MetadataOfOtherRowsIsLimited) {
  set_quota(*engine, whole(), {.metadata = {{}, 1'000'000}});
  recount_quota(*engine, whole());
  const auto metadata = [&] { return (*engine).quotas.find(whole())->metadata; };
  const uint64_t before = metadata();
  branch::create_tag(*engine, repo, TagName("v1"), "main", false);
  const branch::AliasRequest best{.name = AliasName("best"), .actor = "ann"};
  branch::set_alias(*engine, repo, best, "main");
  EXPECT_GT(metadata(), before + 400);
  const uint64_t counted = metadata();
  recount_quota(*engine, whole());
  EXPECT_EQ(metadata(), counted);
  set_quota(*engine, whole(), {.metadata = {{}, 1}});
  EXPECT_EQ(reason_of([&] { branch::create_tag(*engine, repo, TagName("v2"), "main", false); }),
            "quota_exceeded");
  // Nothing is lost that way: alias changes and deletions go on.
  branch::remove_alias(*engine, repo, best);
  branch::delete_tag(*engine, repo, TagName("v1"), false);
}

TEST_F(Quotas, MetadataOfCommentsIsLimited) {
  engine.pool.run({"test_insert_user", "INSERT INTO users (name, created_ms) VALUES ('ann', 0)"},
                  {}, db::Pool::Retry::kWrite);
  engine.branch(repo, "dev", "main");
  const std::string pull = versioning::create_pull_request(*engine, repo,
                                                           {.title = "t",
                                                            .author = "ann",
                                                            .source = BranchName("dev"),
                                                            .destination = BranchName("main")})
                               .id;
  set_quota(*engine, whole(), {.metadata = {{}, 1'000'000}});
  recount_quota(*engine, whole());
  const auto metadata = [&] { return (*engine).quotas.find(whole())->metadata; };
  const auto comment = [&](size_t bytes) {
    return reason_of([&] {
      versioning::create_pull_comment(*engine, repo, pull,
                                      {.author = "ann", .body = std::string(bytes, 'x')});
    });
  };
  const uint64_t before = metadata();
  EXPECT_EQ(comment(5'000), "done");
  EXPECT_GT(metadata(), before + 5'000);
  const uint64_t counted = metadata();
  recount_quota(*engine, whole());
  EXPECT_EQ(metadata(), counted);
  set_quota(*engine, whole(), {.metadata = {{}, counted + 1'000}});
  recount_quota(*engine, whole());
  EXPECT_EQ(comment(1), "done");
  EXPECT_EQ(comment(5'000), "quota_exceeded");
  EXPECT_EQ(reason_of([&] {
              versioning::edit_pull_comment(*engine, repo, pull, 2, "ann", std::string(5'000, 'x'));
            }),
            "quota_exceeded")
      << "a short one does not grow past it either";
  EXPECT_EQ(reason_of([&] { versioning::delete_pull_comment(*engine, repo, pull, 1, "ann"); }),
            "done");
}

TEST_F(Quotas, ConditionalWritesAndVersionsAreCountedToo) {
  limit_bytes(whole(), 100);
  branch::Condition absent;
  absent.if_absent = true;
  engine.put(repo, "main", "a", std::string(60, 'x'), absent);
  EXPECT_EQ(reason_of([&] {
              TextBody body(std::string(41, 'x'));
              objects::put_object(*engine, target("b"), body, std::nullopt, {}, absent);
            }),
            "quota_exceeded");
  (*engine).settings.set_versioning(repo.id, Versioning::kEnabled);
  EXPECT_EQ(put("a", 40), "done");
  EXPECT_EQ(put("a", 1), "quota_exceeded");
  EXPECT_EQ(used(whole()), (Amount{2, 100}));
  recount_quota(*engine, whole());
  EXPECT_EQ(used(whole()), (Amount{2, 100})) << "the older version is stored";
}

TEST_F(Quotas, AtAFullQuotaOneCanDeleteCommitCopyAndMerge) {
  engine.branch(repo, "dev", "main");
  limit_bytes(whole(), 10);
  EXPECT_EQ(put("a", 10, "dev"), "done");
  engine.commit(repo, "dev");
  engine.put(repo, "dev", "empty", "");
  objects::copy_object(*engine, {repo, "dev", Key("a")}, repo, BranchName("dev"), Key("b"), {},
                       false);
  engine.remove(repo, "dev", "a");
  engine.commit(repo, "dev");
  versioning::merge_into(*engine, repo, "dev", BranchName("main"), {});
  EXPECT_EQ(engine.keys(repo, "main"), "b empty");
  EXPECT_EQ(put("more", 1, "dev"), "quota_exceeded");
}

TEST_F(Quotas, CountersAreExactUnderSixtyFourWritersOnTwoServers) {
  constexpr int kWriters = 64;
  constexpr int64_t kLimit = 200'000;
  TestEngine other(database.url(), engine.store);
  for (int i = 0; i < 8; ++i) engine.branch(repo, str_cat("b", i), "main");
  limit_bytes(whole(), kLimit);
  const QuotaScope mine{.user = "ann"};
  limit_bytes(mine, kLimit * 2);
  std::atomic<uint64_t> stored = 0, objects = 0, refused = 0, failed = 0;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      const ActingUser user(w % 2 == 0 ? "ann" : "bob", {}, {});
      TestEngine& server = w % 4 < 2 ? engine : other;
      int refusals = 0;
      for (int i = 0; refusals < 3; ++i) {
        const size_t size = 100 + static_cast<size_t>((w * 37 + i * 91) % 900);
        const std::string reason = reason_of([&] {
          // Every other one is of unknown length, so that only the database refuses it.
          TextBody body(std::string(size, 'x'));
          const auto where = objects::check_upload(*server, repo, BranchName(str_cat("b", w % 8)),
                                                   Key(str_cat("k", w, "-", i)), false, {});
          objects::put_object(*server, where, body,
                              i % 2 == 0 ? std::optional<uint64_t>(size) : std::nullopt, {}, {});
        });
        if (reason == "done") {
          stored += size;
          ++objects;
        } else if (reason == "quota_exceeded") {
          ++refusals;
          ++refused;
        } else {
          ++failed;
          ADD_FAILURE() << reason;
          return;
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(refused, uint64_t{kWriters} * 3);
  EXPECT_EQ(used(whole()), (Amount{objects, stored}));
  EXPECT_LE(stored, uint64_t{kLimit});
  EXPECT_GE(stored, uint64_t{kLimit} * 99 / 100) << "refused though there was room";
  EXPECT_EQ(used(whole()), stored_usage(*engine, repo, "", "").stored);
  const Amount before = used(mine);
  recount_quota(*engine, mine);
  EXPECT_EQ(used(mine), before);
  std::printf("64 writers, 2 servers: %llu of %lld bytes in %llu objects\n",
              static_cast<unsigned long long>(stored.load()), static_cast<long long>(kLimit),
              static_cast<unsigned long long>(objects.load()));
}

TEST_F(Quotas, ARestartForgetsNothing) {
  limit_bytes(whole(), 100);
  put("a", 90);
  TestEngine restarted(database.url(), engine.store);
  EXPECT_EQ(reason_of([&] { restarted.put(repo, "main", "b", std::string(11, 'x')); }),
            "quota_exceeded");
  EXPECT_EQ(reason_of([&] { restarted.put(repo, "main", "b", std::string(10, 'x')); }), "done");
}

TEST_F(Quotas, AQuotaThatAnotherServerSetHoldsHereSoon) {
  TestEngine other(database.url(), engine.store);
  other.put(repo, "main", "a", "x");
  limit_bytes(whole(), 10);
  (*other).quotas.refresh(std::chrono::milliseconds{0});
  EXPECT_EQ(reason_of([&] { other.put(repo, "main", "b", std::string(10, 'x')); }),
            "quota_exceeded");
}

TEST_F(Quotas, WritesRunNoStatementMoreThanWithout) {
  put("warm", 1);
  EXPECT_EQ(statements.during([&] { put("a", 10); }), "staging_lookup_key staging_insert_rows");
  limit_bytes(whole(), 1000);
  EXPECT_EQ(statements.during([&] { put("b", 10); }), "staging_lookup_key staging_insert_charged");
  const TestRepository free = engine.make_repository("free");
  engine.put(free, "main", "warm", "x");
  EXPECT_EQ(statements.during([&] { engine.put(free, "main", "a", "x"); }),
            "staging_lookup_key staging_insert_rows");
}

TEST_F(Quotas, UploadDeleteAndRecountFreeNothingThatIsStored) {
  limit_bytes(whole(), 100);
  const QuotaScope mine{.repository = repo.id, .user = "ann"};
  limit_bytes(mine, 100);
  const ActingUser ann("ann", {}, {});
  EXPECT_EQ(put("a", 100), "done");
  for (int i = 0; i < 3; ++i) {
    engine.remove(repo, "main", "a");
    recount_quota(*engine, whole());
    recount_quota(*engine, mine);
    EXPECT_EQ(put("a", 100), "quota_exceeded");
  }
  EXPECT_EQ(stored_bytes(engine), 100u);
  // Also with the first recount, which finds what was stored before the quota was set.
  remove_quota(*engine, whole());
  set_quota(*engine, whole(), {.bytes = {{}, 1000}});
  EXPECT_EQ(put("b", 70), "quota_exceeded") << "of ann";
  const ActingUser bob("bob", {}, {});
  EXPECT_EQ(put("b", 70), "done");
  engine.remove(repo, "main", "b");
  recount_quota(*engine, whole());
  EXPECT_EQ(used(whole()), (Amount{1, 70}));
}

TEST_F(Quotas, AQuotaOfAUserCountsAllRepositories) {
  const TestRepository second = engine.make_repository("second");
  const QuotaScope ann{.user = "ann"};
  limit_bytes(ann, 100);
  {
    const ActingUser user("ann", {}, {});
    EXPECT_EQ(put("a", 60), "done");
    engine.put(second, "main", "a", std::string(30, 'x'));
    EXPECT_EQ(put("b", 11), "quota_exceeded");
  }
  {
    const ActingUser user("bob", {}, {});
    EXPECT_EQ(put("b", 200), "done");
  }
  EXPECT_EQ(used(ann), (Amount{2, 90}));
  engine.remove(repo, "main", "a");
  recount_quota(*engine, ann);
  EXPECT_EQ(used(ann), (Amount{2, 90})) << "it is stored until it is collected";
  collect(60);
  recount_quota(*engine, ann);
  EXPECT_EQ(used(ann), (Amount{1, 30}));
  branch::delete_repository(*engine, second, false);
  recount_quota(*engine, ann);
  EXPECT_EQ(used(ann), (Amount{0, 0}));
}

TEST_F(Quotas, AQuotaOfBranchesCountsUploadsToThemWhileTheyExist) {
  engine.branch(repo, "exp-1", "main");
  engine.branch(repo, "exp-2", "main");
  const QuotaScope experiments{.repository = repo.id, .branches = "exp-*"};
  limit_bytes(experiments, 100);
  EXPECT_EQ(put("base", 500), "done");
  EXPECT_EQ(put("a", 50, "exp-1"), "done");
  EXPECT_EQ(put("a", 50, "exp-2"), "done");
  EXPECT_EQ(put("b", 1, "exp-2"), "quota_exceeded");
  engine.commit(repo, "exp-1");
  engine.commit(repo, "main");
  versioning::merge_into(*engine, repo, "exp-1", BranchName("main"), {});
  branch::delete_branch(*engine, repo, BranchName("exp-1"), false);
  recount_quota(*engine, experiments);
  EXPECT_EQ(used(experiments), (Amount{1, 50})) << "the winner's bytes are main's now";
}

TEST_F(Quotas, BranchesOfAGlobAreLimitedHoweverManyAreMadeAtOnce) {
  const QuotaScope experiments{.repository = repo.id, .branches = "exp-*"};
  set_quota(*engine, experiments, {.branches = {{}, 5}});
  TestEngine other(database.url(), engine.store);
  std::atomic<int> made = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 24; ++i) {
    threads.emplace_back([&, i] {
      TestEngine& server = i % 2 == 0 ? engine : other;
      const std::string reason =
          reason_of([&] { server.branch(repo, str_cat("exp-", i), "main"); });
      if (reason == "done") ++made;
      if (reason == "quota_exceeded") ++refused;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 5);
  EXPECT_EQ(refused, 19);
  EXPECT_EQ(list_quotas(*engine, &repo, "", 100).items.at(0).branches, 5u);
  engine.branch(repo, "other", "main");
}

TEST_F(Quotas, ASoftLimitIsToldOnceForEachCrossing) {
  engine.pool.lease()->run(kAddWebhook, {static_cast<int32_t>(repo.id)});
  limit_bytes(whole(), 1000, 50);
  put("a", 50);
  EXPECT_EQ(events("quota.warning"), 0);
  EXPECT_EQ(branch::quota_warning(*engine, repo.id, "main"), "");
  for (int i = 0; i < 5; ++i) put(str_cat("k", i), 10);
  EXPECT_EQ(events("quota.warning"), 1);
  EXPECT_EQ(branch::quota_warning(*engine, repo.id, "main"),
            "100 bytes used, the soft limit is 50, the hard limit 1000");
  const std::string body(engine.pool.lease()->run(kEventBody).text(0, 0));
  EXPECT_NE(body.find(R"("limited": "bytes")"), std::string::npos) << body;
  for (int i = 0; i < 5; ++i) engine.remove(repo, "main", str_cat("k", i));
  engine.pool.lease()->run_script("UPDATE quotas SET bytes = 50");  // as a collection does
  EXPECT_EQ(events("quota.warning"), 1);
  put("again", 10);
  EXPECT_EQ(events("quota.warning"), 2) << "it was below the limit in between";
}

TEST_F(Quotas, ARefusalIsToldOnceUntilThereIsRoom) {
  engine.pool.lease()->run(kAddWebhook, {static_cast<int32_t>(repo.id)});
  limit_bytes(whole(), 100);
  put("a", 100);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(put("b", 1), "quota_exceeded");
  EXPECT_EQ(events("quota.exceeded"), 1);
  EXPECT_EQ(put("c", 1), "quota_exceeded");
  engine.remove(repo, "main", "a");
  engine.pool.lease()->run_script(
      "UPDATE quotas SET bytes = 0, refused = false");  // as a collection
  recount_quota(*engine, whole());
  put("a", 100);
  EXPECT_EQ(put("b", 1), "quota_exceeded");
  EXPECT_EQ(events("quota.exceeded"), 2);
}

TEST_F(Quotas, ListingHasPages) {
  for (int i = 0; i < 5; ++i) {
    limit_bytes({.repository = repo.id, .branches = str_cat("b", i, "-*")}, 100);
  }
  std::string seen;
  std::string after;
  for (bool more = true; more;) {
    const Page<QuotaUsage> page = list_quotas(*engine, &repo, after, 2);
    EXPECT_LE(page.items.size(), 2u);
    for (const QuotaUsage& usage : page.items) seen += usage.quota.scope.branches + " ";
    more = page.has_more;
    after = page.next;
  }
  EXPECT_EQ(seen, "b0-* b1-* b2-* b3-* b4-* ");
  EXPECT_EQ(reason_of([&] { list_quotas(*engine, &repo, "x", 2); }), "invalid_argument");
}

TEST_F(Quotas, ARemovedQuotaLimitsNothing) {
  const QuotaScope ann{.user = "ann"};
  limit_bytes(ann, 10);
  const ActingUser user("ann", {}, {});
  EXPECT_EQ(put("a", 10), "done");
  EXPECT_EQ(put("b", 1), "quota_exceeded");
  remove_quota(*engine, ann);
  EXPECT_EQ(put("b", 1), "done");
  EXPECT_EQ(reason_of([&] { remove_quota(*engine, ann); }), "quota_not_found");
}

TEST_F(Quotas, LimitsThatMakeNoSenseAreRefused) {
  const auto reason = [&](const QuotaScope& scope, const QuotaLimits& limits) {
    return reason_of([&] { set_quota(*engine, scope, limits); });
  };
  EXPECT_EQ(reason(whole(), {}), "invalid_argument");
  EXPECT_EQ(reason(whole(), {.bytes = {10, 5}}), "invalid_argument");
  EXPECT_EQ(reason(whole(), {.bytes = {{}, -1}}), "invalid_argument");
  EXPECT_EQ(reason({}, {.bytes = {{}, 1}}), "invalid_argument");
  EXPECT_EQ(reason({.repository = repo.id, .branches = "["}, {.bytes = {{}, 1}}),
            "invalid_argument");
}

}  // namespace
}  // namespace tarn::accounting
