#include "core/imports/import_verify.h"

#include <string>

#include <gtest/gtest.h>

namespace tarn::imports {
namespace {

// Recorded from MinIO, of one object: <LastModified> of ListObjectsV2 and Last-Modified of HEAD.
constexpr int64_t kListed = 1'795'433'542'156'000'000;
constexpr int64_t kAsked = 1'795'433'542'000'000'000;
constexpr const char* kEtag = "9dd4e461268c8034f5c8564e155c67a6";

Entry recorded_at(int64_t mtime_ns) {
  Entry entry;
  entry.size_bytes = 1;
  entry.etag = kEtag;
  entry.set_source_version({"", 1, mtime_ns, ""});
  return entry;
}

blob::BlobStat found_at(int64_t mtime_ns) {
  return {.key = "k", .size_bytes = 1, .etag = kEtag, .mtime_ns = mtime_ns, .version_id = ""};
}

TEST(ImportVerify, ComparesTimesAtTheCommonPrecision) {
  const struct {
    int64_t recorded;
    int64_t found;
    bool same;
  } cases[] = {
      {kListed, kAsked, true},
      {kAsked, kListed, true},
      {kListed, kListed, true},
      {kAsked, kAsked, true},
      {kListed, kAsked + 1'000'000'000, false},
      {kListed, kAsked - 1'000'000'000, false},
      {kListed, kListed + 1'000'000, false},
      {kListed + 1, kListed, false},  // a local file has nanoseconds
      {0, kAsked, false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(is_as_recorded(recorded_at(c.recorded), found_at(c.found)), c.same)
        << c.recorded << " and " << c.found;
  }
}

TEST(ImportVerify, ComparesSizeAndEtagWhateverTheTime) {
  blob::BlobStat longer = found_at(kAsked);
  longer.size_bytes = 8;
  EXPECT_FALSE(is_as_recorded(recorded_at(kListed), longer));
  blob::BlobStat other = found_at(kAsked);
  other.etag = "0cc175b9c0f1b6a831c399e269772661";
  EXPECT_FALSE(is_as_recorded(recorded_at(kListed), other));
}

}  // namespace
}  // namespace tarn::imports
