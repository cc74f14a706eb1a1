// Settings of buckets: their form in the database, and when a list is in force.
#include "core/model/bucket_settings.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

TEST(BucketSettings, RoundTrip) {
  EXPECT_EQ(decode_bucket_settings(encode_bucket_settings({})), BucketSettings{});
  BucketSettings all{.tags = {{"a", "1"}, {"b", ""}},
                     .ownership = ObjectOwnership::kObjectWriter,
                     .public_access_block = PublicAccessBlock{.ignore_public_acls = true},
                     .public_read = true};
  EXPECT_EQ(decode_bucket_settings(encode_bucket_settings(all)), all);
  all.public_access_block = PublicAccessBlock{};  // set to nothing is not never set
  EXPECT_EQ(decode_bucket_settings(encode_bucket_settings(all)), all);
  const std::string bytes = encode_bucket_settings(all);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(decode_bucket_settings(bytes.substr(0, length)), Error) << length;
  }
}

TEST(BucketSettings, PublicReadNeedsEverySettingToAllowIt) {
  EXPECT_FALSE(BucketSettings{}.readable_by_everybody());
  BucketSettings open{.public_read = true};
  EXPECT_TRUE(open.readable_by_everybody());
  open.public_access_block = PublicAccessBlock{
      .block_public_acls = true, .block_public_policy = true, .restrict_public_buckets = true};
  EXPECT_TRUE(open.readable_by_everybody()) << "a list that is there stays in force";
  open.public_access_block->ignore_public_acls = true;
  EXPECT_FALSE(open.readable_by_everybody());
  open.public_access_block.reset();
  open.ownership = ObjectOwnership::kBucketOwnerPreferred;
  EXPECT_TRUE(open.readable_by_everybody());
  open.ownership = ObjectOwnership::kBucketOwnerEnforced;
  EXPECT_FALSE(open.readable_by_everybody());
}

}  // namespace
}  // namespace tarn
