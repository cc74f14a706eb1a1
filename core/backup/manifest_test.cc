#include "core/backup/manifest.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::backup {
namespace {

Manifest example() {
  Manifest out;
  out.id = "20261125T160000Z-ab12";
  out.tarn_version = "0.1.0";
  out.postgres_version = "15.9";
  out.schema_version = 31;
  out.database = "7-5-00000001";
  out.installation_id = "i";
  out.local_store_id = "s";
  out.key_fingerprint = "f";
  out.key_origin = "file /k";
  out.started = from_millis(1'000);
  out.completed = from_millis(2'000);
  out.held_until = from_millis(3'000);
  out.has_objects = true;
  out.objects = 3;
  out.object_bytes = 30;
  out.dump = {10, "aa"};
  out.listing = {20, "bb"};
  out.repositories = {{1, "lake", "local://lake", false}, {2, "old", "local://old", true}};
  return out;
}

ErrorCode code_of(std::string_view text) {
  try {
    parse_manifest(text);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(BackupManifest, RoundTrip) {
  const std::string text = to_json(example());
  const Manifest read = parse_manifest(text);
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(read.repositories.at(1).storage_namespace, "local://old");
  EXPECT_TRUE(read.repositories.at(1).is_deleted);
  EXPECT_EQ(read.held_until, from_millis(3'000));
  EXPECT_EQ(read.dump.size_bytes, 10U);
  EXPECT_EQ(read.listing.sha256, "bb");
  EXPECT_EQ(read.object_bytes, 30U);
}

TEST(BackupManifest, DamageIsDataLossAndANewerFormatIsRefused) {
  EXPECT_EQ(code_of(""), ErrorCode::kDataLoss);
  EXPECT_EQ(code_of("{}"), ErrorCode::kDataLoss);
  EXPECT_EQ(code_of("{\"format\": 1}"), ErrorCode::kDataLoss);
  EXPECT_EQ(code_of("[1, 2"), ErrorCode::kDataLoss);
  EXPECT_EQ(code_of("{\"format\": 2}"), ErrorCode::kPreconditionFailed);
}

}  // namespace
}  // namespace tarn::backup
