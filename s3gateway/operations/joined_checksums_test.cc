#include "s3gateway/operations/joined_checksums.h"

#include <gtest/gtest.h>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"

namespace tarn::s3 {
namespace {

using objects::UploadedPart;

UploadedPart part(uint32_t number, std::string_view text) {
  UploadedPart out;
  out.number = number;
  out.size_bytes = text.size();
  out.etag = to_hex(md5(text));
  out.checksums = {
      {"crc32", false, crc_digest(CrcKind::kCrc32, crc_of(CrcKind::kCrc32, text)), 0},
      {"crc64nvme", false, crc_digest(CrcKind::kCrc64Nvme, crc_of(CrcKind::kCrc64Nvme, text)), 0},
      {"sha256", false, sha256(text), 0}};
  return out;
}

const std::vector<UploadedPart> kParts{part(1, "12345"), part(2, ""), part(3, "6789")};

TEST(JoinedChecksums, MergeCrcsToThatOfTheWhole) {
  EXPECT_EQ(join_checksums("crc32", JoinedKind::kFullObject, kParts),
            (Checksum{"crc32", false, *from_base64("y/Q5Jg=="), 0}));
  EXPECT_EQ(join_checksums("crc64nvme", JoinedKind::kFullObject, kParts),
            (Checksum{"crc64nvme", false, *from_base64("rosUhgp5mIg="), 0}));
}

TEST(JoinedChecksums, DigestTheDigestsOfTheParts) {
  EXPECT_EQ(join_checksums("sha256", JoinedKind::kComposite, kParts),
            (Checksum{"sha256", true, sha256(sha256("12345") + sha256("") + sha256("6789")), 3}));
  std::string crcs;
  for (const UploadedPart& p : kParts) crcs += p.checksums[0].digest;
  EXPECT_EQ(
      join_checksums("crc32", JoinedKind::kComposite, kParts),
      (Checksum{"crc32", true, crc_digest(CrcKind::kCrc32, crc_of(CrcKind::kCrc32, crcs)), 3}));
}

TEST(JoinedChecksums, AreAbsentWhenTheyCannotBeComputed) {
  EXPECT_EQ(join_checksums("sha256", JoinedKind::kFullObject, kParts), std::nullopt);
  EXPECT_EQ(join_checksums("sha1", JoinedKind::kComposite, kParts), std::nullopt);
  EXPECT_EQ(join_checksums("crc32", JoinedKind::kComposite, {}), std::nullopt);
  std::vector<UploadedPart> lacking = kParts;
  lacking[1].checksums.clear();
  EXPECT_EQ(join_checksums("crc32", JoinedKind::kComposite, lacking), std::nullopt);
}

TEST(JoinedChecksums, DefaultIsACrcOfTheWholeThatAllPartsHave) {
  EXPECT_EQ(join_any_crc(kParts), join_checksums("crc64nvme", JoinedKind::kFullObject, kParts));
  std::vector<UploadedPart> lacking = kParts;
  lacking[1].checksums.erase(lacking[1].checksums.begin() + 1);
  EXPECT_EQ(join_any_crc(lacking), join_checksums("crc32", JoinedKind::kFullObject, kParts));
  lacking[2].checksums.erase(lacking[2].checksums.begin());
  EXPECT_EQ(join_any_crc(lacking), std::nullopt);
  EXPECT_EQ(join_any_crc({}), std::nullopt);
}

TEST(JoinedChecksums, AgreeWithClientsThatLeaveTheNumberOfPartsOff) {
  const Checksum composite{"crc32", true, "abcd", 2};
  const Checksum full{"crc32", false, "abcd", 0};
  EXPECT_TRUE(agrees(composite, composite));
  EXPECT_TRUE(agrees(full, full));
  EXPECT_TRUE(agrees(full, composite));
  EXPECT_FALSE(agrees(composite, full));
  EXPECT_FALSE(agrees({"crc32", true, "abcd", 3}, composite));
  EXPECT_FALSE(agrees({"crc32", false, "abce", 0}, composite));
  EXPECT_FALSE(agrees({"crc32c", false, "abcd", 0}, composite));
}

}  // namespace
}  // namespace tarn::s3
