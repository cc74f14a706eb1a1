// Removing repositories that hold nothing, and names of rooted buckets, over a real database.
#include <barrier>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "core/versioning/reset.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {
namespace {

using testing::reason_of;
using testing::TestDatabase;
using testing::TestEngine;

class Removal : public ::testing::Test {
 protected:
  static std::string shared_url() {
    static const TestDatabase database;
    return database.url();
  }
  static RepositoryName fresh_name() {
    static int count = 0;
    return RepositoryName("lake" + std::to_string(100 + count++));
  }

  TestEngine engine{shared_url()};
  TestEngine other{shared_url(), engine.store};  // another server

  std::string remove_empty(const RepositoryName& name) {
    return reason_of([&] { delete_empty_repository(*engine, get_repository(*engine, name)); });
  }
  bool exists(const RepositoryName& name) {
    return reason_of([&] { get_repository(*engine, name); }).empty();
  }
};

constexpr std::string_view kNotEmpty = "repository_not_empty";

TEST_F(Removal, TakesARepositoryThatHoldsNothing) {
  const RepositoryName repo = engine.make_repository(fresh_name().str());
  EXPECT_EQ(remove_empty(repo), "");
  EXPECT_FALSE(exists(repo));
  engine.make_repository(repo.str() + "-again");
}

TEST_F(Removal, RefusesWhateverWouldBeLost) {
  const std::vector<std::function<void(const RepositoryName&)>> losses = {
      [&](const RepositoryName& repo) { engine.put(repo, "main", "a", "1"); },
      [&](const RepositoryName& repo) {
        engine.put(repo, "main", "a", "1");
        engine.commit(repo, "main");
      },
      // The tree is empty again, the history is not.
      [&](const RepositoryName& repo) {
        engine.put(repo, "main", "a", "1");
        engine.commit(repo, "main");
        engine.remove(repo, "main", "a");
        engine.commit(repo, "main");
      },
      [&](const RepositoryName& repo) { engine.branch(repo, "dev", "main"); },
      [&](const RepositoryName& repo) { create_tag(*engine, repo, TagName("v1"), "main", false); },
  };
  for (const auto& loss : losses) {
    const RepositoryName repo = engine.make_repository(fresh_name().str());
    loss(repo);
    EXPECT_EQ(remove_empty(repo), kNotEmpty) << &loss - losses.data();
    EXPECT_TRUE(exists(repo));
    EXPECT_EQ(resolve_commit(*engine, repo, "main~0").message.empty(), false);
  }
}

TEST_F(Removal, PassesOverWhatWasStagedAndDeletedAgain) {
  const RepositoryName repo = engine.make_repository(fresh_name().str());
  engine.put(repo, "main", "a", "1");
  engine.put(repo, "main", "b/c", "1");
  EXPECT_EQ(remove_empty(repo), kNotEmpty);
  engine.remove(repo, "main", "a");
  EXPECT_EQ(remove_empty(repo), kNotEmpty);
  // A range, and a token sealed by it.
  reset_prefix(*engine, repo, BranchName("main"), "b/", false);
  EXPECT_EQ(remove_empty(repo), "");
}

TEST_F(Removal, RefusesAReadOnlyRepository) {
  const RepositoryName repo = fresh_name();
  create_repository(
      *engine, {.name = repo, .storage_namespace = "local://" + repo.str(), .read_only = true});
  EXPECT_EQ(remove_empty(repo), "read_only_repository");
}

/// What is done at the same time from another server either is seen, or is refused: never both
/// acknowledged and lost.
TEST_F(Removal, LosesNothingThatIsDoneMeanwhile) {
  using Work = std::function<void(const RepositoryName&)>;
  const std::vector<Work> works = {
      [&](const RepositoryName& repo) { other.put(repo, "main", "a", "1"); },
      [&](const RepositoryName& repo) {
        other.put(repo, "main", "a", "1");
        other.commit(repo, "main");
      },
      [&](const RepositoryName& repo) { other.branch(repo, "dev", "main"); },
      [&](const RepositoryName& repo) { create_tag(*other, repo, TagName("v1"), "main", false); },
  };
  constexpr int kRounds = 60;
  int removed = 0;
  int kept = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Work& work = works[static_cast<size_t>(round) % works.size()];
    const RepositoryName repo = engine.make_repository(fresh_name().str());
    std::barrier start(2);
    std::string failure = "?";
    std::thread worker([&] {
      start.arrive_and_wait();
      std::this_thread::sleep_for(std::chrono::microseconds(round * 137 % 3000));
      failure = reason_of([&] { work(repo); });
    });
    start.arrive_and_wait();
    std::this_thread::sleep_for(std::chrono::microseconds(round * 59 % 3000));
    const std::string removal = remove_empty(repo);
    worker.join();
    if (removal.empty()) {
      ++removed;
      EXPECT_NE(failure, "") << "round " << round << " was acknowledged and lost";
    } else {
      ++kept;
      EXPECT_EQ(removal, kNotEmpty);
      EXPECT_EQ(failure, "") << round;
    }
  }
  // Both orders were seen, or the test shows nothing.
  EXPECT_GT(removed, 0);
  EXPECT_GT(kept, 0);
}

TEST_F(Removal, ARootedNameStandsForItsDefaultBranch) {
  const RepositoryName plain = engine.make_repository(fresh_name().str());
  const RepositoryName rooted = fresh_name();
  EXPECT_EQ(bucket_root(*engine, rooted), std::nullopt);
  const auto make = [&](BucketKind kind, const std::string& at) {
    create_repository(*engine, {.name = rooted,
                                .storage_namespace = "local://" + rooted.str() + at,
                                .default_branch = BranchName("trunk"),
                                .bucket_kind = kind});
  };
  make(BucketKind::kRooted, "/1");
  EXPECT_EQ(bucket_root(*engine, plain), std::nullopt);
  EXPECT_EQ(bucket_root(*engine, rooted), BranchName("trunk"));
  EXPECT_EQ(bucket_root(*other, rooted), BranchName("trunk"));
  delete_repository(*engine, rooted, false);
  EXPECT_EQ(bucket_root(*engine, rooted), std::nullopt);
  make(BucketKind::kRepository, "/2");
  EXPECT_EQ(bucket_root(*engine, rooted), std::nullopt);
  EXPECT_EQ(get_repository(*engine, rooted).bucket_kind, BucketKind::kRepository);
}

}  // namespace
}  // namespace tarn::versioning
