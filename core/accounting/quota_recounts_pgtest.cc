// Recounts of quotas: what they free and repair, and that they lose no concurrent write.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "core/accounting/quotas_fixture.h"
#include "core/base/acting_user.h"
#include "core/base/str_cat.h"
#include "core/branch/hooks.h"

namespace tarn::accounting {
namespace {

constexpr db::Query kSetByHand{"test_set_quota", "UPDATE quotas SET bytes = $1, objects = $2"};

TEST_F(Quotas, ARecountFreesNothingThatIsStored) {
  limit_bytes(whole(), 100);
  put("a", 60);
  put("a", 30);
  EXPECT_EQ(used(whole()), (Amount{2, 90})) << "the first is stored until it is collected";
  EXPECT_EQ(put("b", 20), "quota_exceeded");
  recount_quota(*engine, whole());
  EXPECT_EQ(used(whole()), (Amount{2, 90}));
  EXPECT_EQ(put("b", 20), "quota_exceeded");
}

TEST_F(Quotas, ARecountRepairsCountersThatAreTooLow) {
  const QuotaScope mine{.repository = repo.id, .user = "ann"};
  limit_bytes(whole(), 1000);
  limit_bytes(mine, 1000);
  const ActingUser ann("ann", {}, {});
  put("a", 60);
  engine.pool.lease()->run(kSetByHand, {int64_t{7}, int64_t{0}});
  recount_quota(*engine, whole());
  recount_quota(*engine, mine);
  EXPECT_EQ(used(whole()), (Amount{1, 60}));
  EXPECT_EQ(used(mine), (Amount{1, 60}));
}

TEST_F(Quotas, ARecountKeepsWhatIsWrittenMeanwhile) {
  limit_bytes(whole(), 1'000'000);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop || i < 50; ++i) put(str_cat("k", i), 10);
  });
  for (int i = 0; i < 20; ++i) recount_quota(*engine, whole());
  stop = true;
  writer.join();
  EXPECT_EQ(used(whole()), stored_usage(*engine, repo, "", "").stored);
}

TEST_F(Quotas, RecountsFindWhatHasLeftTheStoreAmongManyUnreferencedObjects) {
  const QuotaScope ann{.user = "ann"};
  limit_bytes(ann, 1'000'000);
  const ActingUser user("ann", {}, {});
  for (int i = 0; i < 1'200; ++i) {
    put("same", i < 1'000 ? 1 : 2);  // each but the last is unreferenced from then on
  }
  put("same", 3);
  collect(2);
  for (int round = 0; round < 60 && used(ann).objects > 1'001; ++round) {
    recount_quota(*engine, ann);
  }
  EXPECT_EQ(used(ann), (Amount{1'001, 1'003}));
}

TEST_F(Quotas, OfTwoRecountsAtOnceOneIsApplied) {
  limit_bytes(whole(), 1000);
  put("a", 60);
  put("a", 10);
  auto& rows = (*engine).quotas;
  const auto quota = rows.find(whole());
  const auto seen = rows.counted(*engine.pool.lease(), quota->id);
  EXPECT_TRUE(rows.correct(quota->id, *seen, -60, -1, engine.clock.now(), kRecountInterval));
  EXPECT_FALSE(rows.correct(quota->id, *seen, -60, -1, engine.clock.now(), kRecountInterval));
  EXPECT_EQ(used(whole()), (Amount{1, 10}));
}

TEST_F(Quotas, ANewQuotaIsCountedInTheBackground) {
  put("a", 60);
  set_quota(*engine, whole(), {.bytes = {{}, 100}});
  EXPECT_TRUE(recount_one_due(*engine, {}));
  EXPECT_FALSE(recount_one_due(*engine, {}));
  EXPECT_EQ(used(whole()), (Amount{1, 60}));
  (*engine).quotas.make_due(repo.id);
  EXPECT_TRUE(recount_one_due(*engine, {}));
}

/// All kinds: the quota of the repository, of branches in it, and of a user in all repositories.
TEST_F(Quotas, ADeletedRepositoryComesBackWithItsQuotas) {
  const QuotaScope ann{.user = "ann"};
  const QuotaScope branches{.repository = repo.id, .branches = "m*"};
  limit_bytes(ann, 100);
  limit_bytes(branches, 100);
  limit_bytes(whole(), 100);
  const ActingUser user("ann", {}, {});
  EXPECT_EQ(put("a", 60), "done");
  branch::delete_repository(*engine, repo, {.force = false, .grace = std::chrono::hours{1}});
  const auto recount_all = [&] {
    engine.pool.lease()->run_script("UPDATE quotas SET due_at = clock_timestamp()");
    int counted = 0;
    while (recount_one_due(*engine, {})) ++counted;
    return counted;
  };
  EXPECT_EQ(recount_all(), 1) << "of the user in all repositories";
  EXPECT_EQ(used(ann), (Amount{1, 60})) << "it is stored until the grace is over";
  branch::restore_repository(*engine, {.name = repo.name, .id = {}, .as = {}, .grace = {}});
  EXPECT_EQ(recount_all(), 3);
  for (const QuotaScope& scope : {ann, branches, whole()}) EXPECT_EQ(used(scope), (Amount{1, 60}));
  EXPECT_EQ(put("b", 60), "quota_exceeded");
  EXPECT_EQ(put("b", 40), "done");
  branch::delete_repository(*engine, repo, {.force = false, .grace = std::chrono::hours{1}});
  branch::restore_repository(*engine, {.name = repo.name, .id = {}, .as = {}, .grace = {}});
  int counted = 0;
  while (recount_one_due(*engine, {})) ++counted;
  EXPECT_EQ(counted, 3) << "soon after it was restored";
  branch::delete_repository(*engine, repo, {.force = false, .grace = std::chrono::seconds{0}});
  EXPECT_EQ(recount_all(), 1);
  EXPECT_EQ(used(ann), (Amount{0, 0}));
}

}  // namespace
}  // namespace tarn::accounting
