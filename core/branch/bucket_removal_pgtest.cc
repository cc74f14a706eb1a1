// Removing repositories that hold nothing, and names of rooted buckets, over a real database.
#include <barrier>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "core/branch/aliases.h"
#include "core/versioning/reset.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::reason_of;
using testing::TestEngine;

constexpr std::string_view kDone = "done";
constexpr std::string_view kNotEmpty = "repository_not_empty";

class BucketRemoval : public testing::RepositoryTest {
 protected:
  TestEngine other{shared_url(), engine.store};  // another server

  std::string remove_empty(const RepositoryName& name) {
    return reason_of([&] { delete_empty_repository(*engine, get_repository(*engine, name)); });
  }
  bool exists(const RepositoryName& name) {
    return reason_of([&] { get_repository(*engine, name); }) == kDone;
  }
};

TEST_F(BucketRemoval, RemovesAnEmptyRepository) {
  const auto bucket = engine.make_repository(fresh_name());
  EXPECT_EQ(remove_empty(bucket), kDone);
  EXPECT_FALSE(exists(bucket));
  engine.make_repository(bucket.str() + "-again");
}

TEST_F(BucketRemoval, RefusesBucketsWithContent) {
  const std::vector<std::function<void(const testing::TestRepository&)>> losses = {
      [&](const testing::TestRepository& bucket) { engine.put(bucket, "main", "a", "1"); },
      [&](const testing::TestRepository& bucket) {
        engine.put(bucket, "main", "a", "1");
        engine.commit(bucket, "main");
      },
      // The tree is empty again, the history is not.
      [&](const testing::TestRepository& bucket) {
        engine.put(bucket, "main", "a", "1");
        engine.commit(bucket, "main");
        engine.remove(bucket, "main", "a");
        engine.commit(bucket, "main");
      },
      [&](const testing::TestRepository& bucket) { engine.branch(bucket, "dev", "main"); },
      [&](const testing::TestRepository& bucket) {
        create_tag(*engine, bucket, TagName("v1"), "main", false);
      },
      [&](const testing::TestRepository& bucket) {
        set_alias(*engine, bucket, {.name = AliasName("a"), .actor = "ann"}, "main");
      },
  };
  for (const auto& loss : losses) {
    const auto bucket = engine.make_repository(fresh_name());
    loss(bucket);
    EXPECT_EQ(remove_empty(bucket), kNotEmpty) << &loss - losses.data();
    EXPECT_TRUE(exists(bucket));
    EXPECT_EQ(resolve_commit(*engine, bucket, "main~0").message.empty(), false);
  }
}

TEST_F(BucketRemoval, IgnoresStagedObjectsThatWereDeleted) {
  const auto bucket = engine.make_repository(fresh_name());
  engine.put(bucket, "main", "a", "1");
  engine.put(bucket, "main", "b/c", "1");
  EXPECT_EQ(remove_empty(bucket), kNotEmpty);
  engine.remove(bucket, "main", "a");
  EXPECT_EQ(remove_empty(bucket), kNotEmpty);
  // A range, and a token sealed by it.
  versioning::reset_prefix(*engine, bucket, BranchName("main"), "b/", false);
  EXPECT_EQ(remove_empty(bucket), kDone);
}

TEST_F(BucketRemoval, RefusesAReadOnlyRepository) {
  const RepositoryName bucket(fresh_name());
  create_repository(
      *engine, {.name = bucket, .storage_namespace = "local://" + bucket.str(), .read_only = true});
  EXPECT_EQ(remove_empty(bucket), "read_only_repository");
}

/// A concurrent change from another server either is seen, or is refused: never both
/// acknowledged and lost.
TEST_F(BucketRemoval, LosesNoConcurrentChange) {
  using Work = std::function<void(const testing::TestRepository&)>;
  const std::vector<Work> works = {
      [&](const testing::TestRepository& bucket) { other.put(bucket, "main", "a", "1"); },
      [&](const testing::TestRepository& bucket) {
        other.put(bucket, "main", "a", "1");
        other.commit(bucket, "main");
      },
      [&](const testing::TestRepository& bucket) { other.branch(bucket, "dev", "main"); },
      [&](const testing::TestRepository& bucket) {
        create_tag(*other, bucket, TagName("v1"), "main", false);
      },
      [&](const testing::TestRepository& bucket) {
        set_alias(*other, bucket, {.name = AliasName("a"), .actor = "ann"}, "main");
      },
  };
  constexpr int kRounds = 60;
  int removed = 0;
  int kept = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Work& work = works[static_cast<size_t>(round) % works.size()];
    const auto bucket = engine.make_repository(fresh_name());
    std::barrier start(2);
    std::string failure = "?";
    std::thread worker([&] {
      start.arrive_and_wait();
      std::this_thread::sleep_for(std::chrono::microseconds(round * 137 % 3000));
      failure = reason_of([&] { work(bucket); });
    });
    start.arrive_and_wait();
    std::this_thread::sleep_for(std::chrono::microseconds(round * 59 % 3000));
    const std::string removal = remove_empty(bucket);
    worker.join();
    if (removal == kDone) {
      ++removed;
      EXPECT_NE(failure, kDone) << "round " << round << " was acknowledged and lost";
    } else {
      ++kept;
      EXPECT_EQ(removal, kNotEmpty);
      EXPECT_EQ(failure, kDone) << round;
    }
  }
  // Both orders were seen, or the test shows nothing.
  EXPECT_GT(removed, 0);
  EXPECT_GT(kept, 0);
}

TEST_F(BucketRemoval, ARootedNameStandsForItsDefaultBranch) {
  const auto plain = engine.make_repository(fresh_name());
  const RepositoryName rooted(fresh_name());
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

TEST_F(BucketRemoval, ListingsFollowANameToItsNextRepository) {
  const auto name = engine.make_repository(fresh_name());
  engine.put(name, "main", "of-the-first", "1");
  const auto listed = [&](TestEngine& server) {
    std::vector<std::string> paths;
    for (const objects::ListItem& item :
         objects::list_objects(*server, name, "main", objects::ListOptions()).items) {
      paths.push_back(item.path);
    }
    return paths;
  };
  EXPECT_EQ(listed(other), std::vector<std::string>{"of-the-first"});
  EXPECT_EQ(listed(other), std::vector<std::string>{"of-the-first"}) << "under the known id";
  delete_repository(*engine, name, false);
  // The other server has not looked in between: it still knows the first.
  create_repository(*engine,
                    {.name = name, .storage_namespace = "local://" + name.str() + "-next"});
  engine.put(name, "main", "of-the-next", "2");
  EXPECT_EQ(listed(other), std::vector<std::string>{"of-the-next"});
  EXPECT_EQ(
      reason_of([&] { objects::list_objects(*other, name, "absent", objects::ListOptions()); }),
      "ref_not_found");
  delete_repository(*engine, name, false);
  EXPECT_EQ(reason_of([&] { listed(other); }), "repository_not_found");
}

}  // namespace
}  // namespace tarn::branch
