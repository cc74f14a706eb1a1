// Random histories under random rules of retention, compared with an oracle.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/gc/holds.h"
#include "core/gc/retention_fixture.h"
#include "core/gc/retention_oracle_fixture.h"
#include "core/gc/root_store.h"
#include "core/versioning/merge.h"
#include "core/versioning/pull_requests.h"
#include "tests/support/long_tests.h"

namespace tarn::gc {
namespace {

using testing::reason_of;

/// Random histories made by verbs, with rows of roots, under random rules: one collection lets go
/// exactly the commits that the oracle names.
class RandomHistories : public Retention {
 protected:
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  std::string branch() { return str_cat("b", pick(3)); }

  void grow(int step) {
    const std::string name = branch();
    switch (pick(8)) {
      case 0:
        engine.branch(repo, name, any_commit());
        return;
      case 1:
        branch::delete_branch(*engine, repo, BranchName(name), false);
        return;
      case 2:
        merge(branch(), name);
        return;
      case 3:
        if (pick(2) == 0) {
          branch::create_tag(*engine, repo, TagName(str_cat("t", pick(3))), any_commit(), false);
        } else {
          add_hold(*engine, repo, {.ref = any_commit(), .reason = "r", .actor = "t"});
        }
        return;
      case 4:
        versioning::create_pull_request(*engine, repo,
                                        {.title = "t",
                                         .author = "t",
                                         .source = BranchName(branch()),
                                         .destination = BranchName(name)});
        return;
      default:
        engine.put(repo, name, str_cat("k", pick(3)), str_cat("text ", step));
        engine.commit(repo, name, str_cat(step));
    }
  }

  void merge(const std::string& from, const std::string& into) {
    versioning::MergeRequest request;
    request.committer = "t";
    versioning::merge_into(*engine, repo, from, BranchName(into), request);
  }

  std::string any_commit() { return str_cat(branch(), "~", pick(2)); }

  void set_random_ages() {
    run_sql(
        str_cat("UPDATE commits SET stored_at = clock_timestamp() - (floor(random() * 6) * "
                "interval '1 day' + interval '1 hour') WHERE repo_id = ",
                static_cast<int>(repo.id)));
  }

  History read_history() {
    const auto lease = engine.pool.lease();
    return Roots(*lease).history(repo.id);
  }

  std::mt19937 random_;
};

TEST_F(RandomHistories, LetGoWhatTheOracleNames) {
  const int histories = testing::is_long() ? 1000 : 25;
  int64_t expired = 0;
  int64_t kept = 0;
  for (int seed = 0; seed < histories; ++seed) {
    random_.seed(static_cast<uint32_t>(seed));
    repo = engine.make_repository(str_cat("r", seed));
    for (int i = 0; i < 3; ++i) engine.branch(repo, str_cat("b", i), "main");
    for (int step = 0; step < 25; ++step) {
      try {
        grow(step);
      } catch (const Error&) {  // nothing to merge, no such branch, conflicts
      }
    }
    set_random_ages();
    set_rules(static_cast<uint32_t>(pick(5)), {{"b0", static_cast<uint32_t>(pick(7))}});
    const History before = read_history();
    std::map<CommitId, std::string> shown;
    for (const HistoryCommit& commit : before.commits) {
      shown[commit.id] = engine.keys(repo, to_text(commit.id));
    }
    const auto gone =
        RetentionOracle(before).unreachable(int64_t{86'400} * before.rules->default_retention_days);
    History kept_history = before;
    std::erase_if(kept_history.commits,
                  [&](const auto& commit) { return gone.contains(commit.id); });
    const auto expiring = RetentionOracle(kept_history).expiring();
    collect_all(repo);
    for (const HistoryCommit& commit : before.commits) {
      const std::string ref = to_text(commit.id);
      const std::string reason = reason_of([&] { engine.keys(repo, ref); });
      if (gone.contains(commit.id)) {
        ASSERT_EQ(reason, "ref_not_found") << "seed " << seed;
      } else if (expiring.contains(commit.id)) {
        ++expired;
        ASSERT_EQ(reason, "expired") << "seed " << seed << " " << ref;
      } else {
        ++kept;
        ASSERT_EQ(reason, "done") << "seed " << seed << " " << ref;
        ASSERT_EQ(engine.keys(repo, ref), shown[commit.id]);
        for (int key = 0; key < 3; ++key) engine.read(repo, ref, str_cat("k", key));
      }
    }
  }
  EXPECT_GT(expired, histories / 2);
  EXPECT_GT(kept, histories);
}

}  // namespace
}  // namespace tarn::gc
