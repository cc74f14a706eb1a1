// Settings of buckets over several servers, and which repository everybody may read.
#include <gtest/gtest.h>

#include "core/branch/bucket_settings.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::TestEngine;

class BucketSettingsTest : public testing::RepositoryTest {
 protected:
  Repository make_rooted(int version = 0) {
    return create_repository(
        *engine, {.name = rooted,
                  .storage_namespace = "local://" + rooted.str() + "/" + std::to_string(version),
                  .default_branch = BranchName("trunk"),
                  .bucket_kind = BucketKind::kRooted});
  }
  void publish(const RepositoryName& name) {
    change_bucket_settings(*engine, get_repository(*engine, name), false,
                           [](BucketSettings& settings) { settings.public_read = true; });
  }
  bool is_public(TestEngine& on, const RepositoryName& name, const std::string& branch) {
    return public_repository(*on, name, BranchName(branch)).has_value();
  }

  TestEngine other{shared_url(), engine.store};
  RepositoryName rooted{fresh_name()};
};

TEST_F(BucketSettingsTest, AreSeenOnEveryServerAtOnce) {
  const Repository lake = make_rooted();
  EXPECT_FALSE(is_public(other, rooted, "trunk"));
  publish(rooted);
  EXPECT_TRUE(is_public(other, rooted, "trunk"));
  change_bucket_settings(*other, lake, false, [](BucketSettings& settings) {
    settings.public_access_block = PublicAccessBlock{.ignore_public_acls = true};
  });
  EXPECT_FALSE(is_public(engine, rooted, "trunk"));
  change_bucket_settings(*other, lake, false,
                         [](BucketSettings& settings) { settings = BucketSettings{}; });
  EXPECT_FALSE(is_public(engine, rooted, "trunk"));
  EXPECT_EQ(get_bucket_settings(*engine, lake), BucketSettings{});
}

TEST_F(BucketSettingsTest, OnlyTheDefaultBranchOfARootedBucketIsPublic) {
  make_rooted();
  publish(rooted);
  EXPECT_FALSE(is_public(engine, rooted, "other"));
  publish(repo);
  EXPECT_FALSE(is_public(engine, repo, "main")) << "not rooted";
  EXPECT_FALSE(is_public(engine, RepositoryName("absent"), "main"));
}

TEST_F(BucketSettingsTest, AreDeletedWithTheRepository) {
  make_rooted();
  publish(rooted);
  const auto before = public_repository(*engine, rooted, BranchName("trunk"));
  const Repository first = get_repository(*engine, rooted);
  delete_repository(*engine, rooted, false);
  EXPECT_FALSE(is_public(other, rooted, "trunk"));
  make_rooted(1);
  EXPECT_FALSE(is_public(other, rooted, "trunk"));
  EXPECT_EQ(testing::reason_of([&] {
              change_bucket_settings(*engine, first, false,
                                     [](BucketSettings& settings) { settings.public_read = true; });
            }),
            "repository_not_found");
  EXPECT_FALSE(is_public(engine, rooted, "trunk"));
  publish(rooted);
  EXPECT_NE(public_repository(*engine, rooted, BranchName("trunk")), before);
}

TEST_F(BucketSettingsTest, ReadOnlyRepositoryCanBeMadePrivateButNotPublic) {
  RepositoryCreation creation;
  creation.name = rooted;
  creation.storage_namespace = "local://" + rooted.str();
  creation.read_only = true;
  creation.bucket_kind = BucketKind::kRooted;
  const Repository frozen = create_repository(*engine, creation);
  EXPECT_EQ(testing::reason_of([&] { publish(rooted); }), "read_only_repository");
  change_bucket_settings(*engine, frozen, /*force=*/true,
                         [](BucketSettings& settings) { settings.public_read = false; });
}

TEST_F(BucketSettingsTest, AChangeThatIsRefusedChangesNothing) {
  EXPECT_THROW(change_bucket_settings(*engine, repo, false,
                                      [](BucketSettings& settings) {
                                        settings.tags = {{"a", "b"}};
                                        throw Error(ErrorCode::kConflict, "no");
                                      }),
               Error);
  EXPECT_EQ(get_bucket_settings(*engine, repo), BucketSettings{});
}

}  // namespace
}  // namespace tarn::branch
