// Aliases and their history over a real database and by several servers.
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/branch/alias_store.h"
#include "core/branch/aliases.h"
#include "core/versioning/diff.h"
#include "core/versioning/log.h"
#include "core/versioning/reset.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::message_of;
using testing::reason_of;
using testing::TestEngine;

const AliasName kChampion("champion");

constexpr db::Query kDropChange{"test_drop_alias_change",
                                "DELETE FROM alias_history WHERE name = 'champion'"};
constexpr db::Query kAlterChange{"test_alter_alias_change",
                                 "UPDATE alias_history SET reason = 'other'"};
constexpr db::Query kTruncateChanges{"test_truncate_alias_history", "TRUNCATE alias_history"};
constexpr db::Query kCountChanges{"test_count_alias_changes", R"sql(
  SELECT count(*) FROM alias_history WHERE repo_id = $1)sql"};
constexpr db::Query kCountAliases{"test_count_aliases", R"sql(
  SELECT count(*) FROM aliases WHERE repo_id = $1)sql"};

class Aliases : public testing::RepositoryTest {
 protected:
  Aliases() {
    for (const char* text : {"1", "2", "3"}) {
      engine.put(repo, "main", "model", text);
      commits.push_back(engine.commit(repo, "main").id);
    }
  }

  /// The alias is not held elsewhere.
  static AliasExpectation at(const std::optional<CommitId>& commit) {
    return {.any = false, .commit = commit};
  }
  AliasOutcome set(std::string_view to, const AliasExpectation& expected = {},
                   const AliasName& name = kChampion) {
    return set_alias(*engine, repo,
                     {.name = name, .expected = expected, .reason = "why", .actor = "ann"}, to);
  }
  void remove(const AliasExpectation& expected = {}) {
    remove_alias(*engine, repo,
                 {.name = kChampion, .expected = expected, .reason = "old", .actor = "ben"});
  }
  std::vector<AliasChange> history(const AliasName& name = kChampion) {
    std::vector<AliasChange> all;
    Page<AliasChange> page;
    do {
      page = list_alias_changes(*engine, repo, name, page.next, 7);
      all.insert(all.end(), page.items.begin(), page.items.end());
    } while (page.has_more);
    return all;
  }
  /// Versions without a gap down to 1, each beginning where the one before ended.
  static void expect_chain(const std::vector<AliasChange>& newest_first) {
    ASSERT_FALSE(newest_first.empty());
    for (size_t i = 0; i < newest_first.size(); ++i) {
      EXPECT_EQ(newest_first[i].version, newest_first.size() - i);
      EXPECT_EQ(newest_first[i].from,
                i + 1 < newest_first.size() ? newest_first[i + 1].to : std::optional<CommitId>());
    }
  }
  RepositoryId id() { return get_repository(*engine, repo).id; }
  int64_t count(const db::Query& query, RepositoryId of) {
    return engine.pool.run(query, {static_cast<int32_t>(of)}, db::Pool::Retry::kRead).integer(0, 0);
  }
  template <typename Body>
  auto in_transaction(Body&& body) {
    return engine.pool.transaction([&](db::Connection& connection) { return body(connection); });
  }

  std::vector<CommitId> commits;
};

TEST_F(Aliases, ResolveToTheirCommitWhereverARefIsAccepted) {
  const AliasOutcome made = set("main~1");
  EXPECT_TRUE(made.changed);
  EXPECT_EQ(made.alias.commit, commits[1]);
  EXPECT_EQ(made.alias.version, 1u);
  engine.put(repo, "main", "model", "staged");
  EXPECT_EQ(engine.read(repo, "@champion", "model"), "2");
  EXPECT_EQ(engine.read(repo, "@champion~1", "model"), "1");
  EXPECT_EQ(engine.keys(repo, "@champion"), "model");
  EXPECT_EQ(objects::find_object(*engine, repo, "@champion", Key("model"))->commit, commits[1]);
  EXPECT_EQ(resolve_commit(*engine, repo, "@champion").id, commits[1]);
  EXPECT_EQ(versioning::log_commits(*engine, repo, "@champion", {}).items.size(), 3u);
  EXPECT_EQ(versioning::diff_refs(*engine, repo, "@champion~1", "@champion",
                                  versioning::DiffKind::kTwoDot, {})
                .items.size(),
            1u);
  EXPECT_EQ(create_tag(*engine, repo, TagName("v1"), "@champion", false).commit, commits[1]);
  engine.branch(repo, "dev", "@champion");
  EXPECT_EQ(engine.read(repo, "dev", "model"), "2");
  versioning::hard_reset_branch(*engine, repo, BranchName("dev"), "@champion~1", false);
  EXPECT_EQ(engine.read(repo, "dev", "model"), "1");
  // Itself too: a step back.
  EXPECT_EQ(set("@champion^1").alias.commit, commits[0]);
  EXPECT_EQ(reason_of([&] { resolve(*engine, repo, "@champion~2"); }), "ref_not_found");
  EXPECT_EQ(reason_of([&] { resolve(*engine, repo, "@champion^2"); }), "invalid_argument");
}

TEST_F(Aliases, HaveASeparateNamespace) {
  engine.branch(repo, "champion", "main");
  create_tag(*engine, repo, TagName("challenger"), "main", false);
  set("main~2");
  set("main~1", {}, AliasName("challenger"));
  EXPECT_EQ(resolve_commit(*engine, repo, "champion").id, commits[2]);
  EXPECT_EQ(resolve_commit(*engine, repo, "@champion").id, commits[0]);
  EXPECT_EQ(resolve_commit(*engine, repo, "@challenger").id, commits[1]);
  EXPECT_EQ(list_branches(*engine, repo, "", "", 10, true).items.size(), 2u);
  EXPECT_EQ(list_tags(*engine, repo, "", "", 10).items.size(), 1u);
  EXPECT_EQ(reason_of([&] { resolve(*engine, repo, "@absent"); }), "ref_not_found");
  EXPECT_EQ(reason_of([&] { resolve(*engine, repo, "@main"); }), "ref_not_found");
  for (const char* bad : {"@champion@", "@champion$", "@champion~1@", "@", "@-x", "@a b"}) {
    EXPECT_EQ(reason_of([&] { resolve(*engine, repo, bad); }), "invalid_argument") << bad;
  }
  const auto other = engine.make_repository(fresh_name());
  EXPECT_EQ(reason_of([&] { resolve(*engine, other, "@champion"); }), "ref_not_found");
}

TEST_F(Aliases, HistoryRecordsActorCommitAndReason) {
  set("main~2", at(std::nullopt));
  EXPECT_EQ(set("main", at(commits[0])).alias.version, 2u);
  EXPECT_FALSE(set("main").changed) << "it is there already";
  remove(at(commits[2]));
  EXPECT_EQ(reason_of([&] { get_alias(*engine, repo, kChampion); }), "alias_not_found");
  EXPECT_EQ(reason_of([&] { resolve(*engine, repo, "@champion"); }), "ref_not_found");
  const std::string why = testing::message_of([&] { resolve(*engine, repo, "@champion"); });
  EXPECT_NE(why.find("ben removed it at "), std::string::npos) << why;
  EXPECT_EQ(set("main~1", at(std::nullopt)).alias.version, 4u) << "its history goes on";
  const std::vector<AliasChange> changes = history();
  ASSERT_EQ(changes.size(), 4u);
  expect_chain(changes);
  EXPECT_EQ(changes[1].to, std::nullopt);
  EXPECT_EQ(changes[1].actor, "ben");
  EXPECT_EQ(changes[1].reason, "old");
  EXPECT_EQ(changes[3].actor, "ann");
  EXPECT_EQ(changes[3].reason, "why");
  EXPECT_EQ(changes[3].promotion, std::nullopt);
  EXPECT_GE(changes[0].at, changes[3].at);
}

TEST_F(Aliases, AreListedByNameAndTheirHistoryInPages) {
  for (const char* name : {"b", "a", "champion", "c.1"}) set("main", {}, AliasName(name));
  remove();
  std::vector<std::string> names;
  Page<Alias> page;
  do {
    page = list_aliases(*engine, repo, "", page.next, 2);
    for (const Alias& alias : page.items) names.push_back(alias.name.str());
  } while (page.has_more);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c.1"}));
  EXPECT_EQ(list_aliases(*engine, repo, "c", "", 10).items.size(), 1u);
  for (int i = 0; i < 10; ++i) set(i % 2 == 0 ? "main~1" : "main~2");
  EXPECT_EQ(history().size(), 12u);
  expect_chain(history());
  EXPECT_TRUE(list_alias_changes(*engine, repo, kChampion, "1", 10).items.empty());
  for (const char* bad : {"x", "0", "-1", "1x", "99999999999999999999", "9223372036854775808"}) {
    EXPECT_EQ(reason_of([&] { list_alias_changes(*engine, repo, kChampion, bad, 10); }),
              "invalid_argument")
        << bad;
  }
}

TEST_F(Aliases, RefuseWhatIsNotAsExpectedAndChangeNothing) {
  EXPECT_EQ(reason_of([&] { set("main", at(commits[0])); }), "destination_moved");
  EXPECT_EQ(count(kCountAliases, id()), 0) << "a refusal leaves no row";
  EXPECT_EQ(reason_of([&] { remove(); }), "alias_not_found");
  EXPECT_EQ(reason_of([&] { remove(at(commits[0])); }), "destination_moved");
  EXPECT_EQ(reason_of([&] { history(); }), "alias_not_found");
  set("main");
  EXPECT_EQ(reason_of([&] { set("main~1", at(commits[0])); }), "destination_moved");
  EXPECT_EQ(reason_of([&] { set("main~1", at(std::nullopt)); }), "destination_moved");
  EXPECT_EQ(reason_of([&] { remove(at(commits[0])); }), "destination_moved");
  EXPECT_NE(message_of([&] { set("main~1", at(commits[0])); }).find(to_text(commits[2])),
            std::string::npos)
      << "the refusal says where it is";
  EXPECT_EQ(reason_of([&] { set("absent"); }), "ref_not_found");
  EXPECT_EQ(reason_of([&] { set("main$"); }), "invalid_argument");
  EXPECT_EQ(reason_of([&] {
              set_alias(*engine, repo,
                        {.name = kChampion,
                         .reason = std::string(kAliasReasonBytesMax + 1, 'r'),
                         .actor = "ann"},
                        "main~1");
            }),
            "invalid_argument");
  EXPECT_EQ(history().size(), 1u);
  EXPECT_EQ(get_alias(*engine, repo, kChampion).commit, commits[2]);
}

TEST_F(Aliases, MoveWithinTheCallersTransaction) {
  set("main~2");
  const std::string evidence(32, '\x07');
  const AliasMove promotion{.name = kChampion,
                            .expected = at(commits[0]),
                            .to = commits[2],
                            .actor = "ann",
                            .reason = "better",
                            .promotion = "p1",
                            .evidence = evidence,
                            .at = engine.clock.now()};
  // The undone move leaves no trace.
  EXPECT_EQ(reason_of([&] {
              in_transaction([&](db::Connection& connection) {
                EXPECT_TRUE(AliasStore::move(connection, id(), promotion));
                EXPECT_EQ(AliasStore::find_locked(connection, id(), kChampion)->commit, commits[2]);
                throw Error(ErrorCode::kConflict, "undone", "undone");
                return true;
              });
            }),
            "undone");
  EXPECT_EQ(history().size(), 1u);
  EXPECT_TRUE(in_transaction(
      [&](db::Connection& connection) { return AliasStore::move(connection, id(), promotion); }));
  EXPECT_FALSE(in_transaction([&](db::Connection& connection) {
    return AliasStore::move(connection, id(), promotion);
  })) << "it stands elsewhere now";
  const AliasChange change = history().front();
  EXPECT_EQ(change.promotion, "p1");
  EXPECT_EQ(change.evidence, evidence);
  EXPECT_EQ(change.reason, "better");
  CommitId absent{};
  AliasMove to_nothing = promotion;
  to_nothing.expected = {};
  to_nothing.to = absent;
  EXPECT_EQ(reason_of([&] {
              in_transaction([&](db::Connection& connection) {
                return AliasStore::move(connection, id(), to_nothing);
              });
            }),
            "ref_not_found");
}

TEST_F(Aliases, AliasOfAPolicyMovesByPromotionOnly) {
  const auto name_by = [&](const AliasName& alias, std::string_view policy) {
    return in_transaction([&](db::Connection& connection) {
      return AliasStore::set_policy(connection, id(), alias, policy);
    });
  };
  // Before there is one, too.
  EXPECT_TRUE(name_by(AliasName("next"), "dogs"));
  EXPECT_EQ(reason_of([&] { set("main", {}, AliasName("next")); }), "protected_alias");
  EXPECT_EQ(reason_of([&] { get_alias(*engine, repo, AliasName("next")); }), "alias_not_found");
  EXPECT_EQ(reason_of([&] { history(AliasName("next")); }), "alias_not_found");
  EXPECT_TRUE(list_aliases(*engine, repo, "", "", 10).items.empty());

  set("main");
  EXPECT_TRUE(name_by(kChampion, "dogs"));
  EXPECT_TRUE(name_by(kChampion, "dogs")) << "again";
  EXPECT_FALSE(name_by(kChampion, "cats")) << "of another policy";
  EXPECT_EQ(get_alias(*engine, repo, kChampion).policy, "dogs");
  EXPECT_EQ(reason_of([&] { set("main~1"); }), "protected_alias");
  EXPECT_EQ(reason_of([&] { set("main"); }), "protected_alias") << "not even to where it is";
  EXPECT_EQ(reason_of([&] { remove(); }), "protected_alias");
  EXPECT_NE(message_of([&] { remove(); }).find("tarn promote rollback @champion"),
            std::string::npos);
  static constexpr db::Query kPromotion{"test_insert_promotion", R"sql(
    INSERT INTO promotions (repo_id, promotion_id, state, request, destination, policy, actor, created_ms, updated_ms)
    VALUES ($1, $2, 'merging', '{}', 'main', $3, 'ann', 1, 1))sql"};
  const auto promote = [&](const std::string& promotion, const std::string& policy) {
    return in_transaction([&](db::Connection& connection) {
      connection.run(kPromotion, {static_cast<int32_t>(id()), promotion, policy});
      return AliasStore::move(connection, id(),
                              {.name = kChampion,
                               .expected = at(commits[2]),
                               .to = commits[0],
                               .actor = "ann",
                               .promotion = promotion,
                               .at = engine.clock.now()});
    });
  };
  EXPECT_EQ(reason_of([&] { promote("p0", "cats"); }), "protected_alias") << "of another policy";
  EXPECT_TRUE(promote("p1", "dogs"));
  EXPECT_EQ(get_alias(*engine, repo, kChampion).policy, "dogs");
  in_transaction([&](db::Connection& connection) {
    AliasStore::clear_policy(connection, id(), "dogs");
    return true;
  });
  EXPECT_EQ(set("main~1").alias.policy, "");
  EXPECT_EQ(set("main", {}, AliasName("next")).alias.version, 1u);
  expect_chain(history());
}

TEST_F(Aliases, HistoryIsAppendOnlyUntilTheRepositoryIsDeleted) {
  set("main");
  remove();
  for (const db::Query& query : {kDropChange, kAlterChange, kTruncateChanges}) {
    EXPECT_NE(message_of([&] {
                engine.pool.run(query, {}, db::Pool::Retry::kWrite);
              }).find("alias_history is append-only"),
              std::string::npos)
        << query.name;
  }
  EXPECT_EQ(history().size(), 2u);
  const RepositoryId old = id();
  delete_repository(*engine, repo, false);
  EXPECT_EQ(count(kCountChanges, old), 0);
  EXPECT_EQ(count(kCountAliases, old), 0);
  engine.make_repository(repo.str() + "-next");
}

TEST_F(Aliases, OneOfManyConcurrentMovesWithTheSameExpectationSucceeds) {
  constexpr int kRacers = 64;
  constexpr int kRounds = 3;
  TestEngine other(shared_url(), engine.store);
  for (int i = 0; i < kRacers; ++i) {
    engine.put(repo, "main", "model", "racer" + std::to_string(i));
    commits.push_back(engine.commit(repo, "main").id);
  }
  // The first round makes it: all expect that there is none.
  std::optional<CommitId> stands;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> won = 0;
    std::atomic<int> lost = 0;
    std::barrier start(kRacers);
    std::vector<std::thread> racers;
    for (int i = 0; i < kRacers; ++i) {
      racers.emplace_back([&, i] {
        TestEngine& server = i % 2 == 0 ? engine : other;
        // The alias moves on in each round, so that no expectation equals its position.
        const CommitId to = commits[3 + static_cast<size_t>((i * kRounds + round) % kRacers)];
        start.arrive_and_wait();
        const std::string reason = reason_of([&] {
          set_alias(*server, repo,
                    {.name = kChampion, .expected = at(stands), .actor = std::to_string(i)},
                    to_text(to == stands ? commits[0] : to));
        });
        won += reason == "done";
        lost += reason == "destination_moved";
      });
    }
    for (std::thread& racer : racers) racer.join();
    EXPECT_EQ(won, 1);
    EXPECT_EQ(lost, kRacers - 1);
    stands = get_alias(*engine, repo, kChampion).commit;
  }
  const std::vector<AliasChange> changes = history();
  EXPECT_EQ(changes.size(), static_cast<size_t>(kRounds));
  expect_chain(changes);
}

TEST_F(Aliases, ConcurrentMovesLeaveAHistoryWithoutGaps) {
  constexpr int kThreads = 8;
  constexpr int kMoves = 25;
  TestEngine other(shared_url(), engine.store);
  std::vector<std::thread> threads;
  std::atomic<int> moved = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      TestEngine& server = t % 2 == 0 ? engine : other;
      for (int i = 0; i < kMoves; ++i) {
        if ((t + i) % 5 == 4) {
          moved += reason_of([&] {
                     remove_alias(*server, repo, {.name = kChampion, .actor = "ann"});
                   }) == "done";
        } else {
          moved += set_alias(*server, repo, {.name = kChampion, .actor = "ann"},
                             to_text(commits[static_cast<size_t>(t + i) % 3]))
                       .changed;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<AliasChange> changes = history();
  EXPECT_EQ(changes.size(), static_cast<size_t>(moved.load()));
  expect_chain(changes);
}

}  // namespace
}  // namespace tarn::branch
