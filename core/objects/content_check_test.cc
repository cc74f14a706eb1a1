#include "core/objects/content_check.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace tarn::objects {
namespace {

constexpr std::string_view kBytes = "the bytes of an object";

Entry entry_of(std::string_view bytes) {
  Entry entry;
  entry.size_bytes = bytes.size();
  entry.etag = to_hex(md5(bytes));
  entry.address = OwnAddress{};
  return entry;
}

bool matches(const Entry& entry, std::string_view bytes, DigestChoice choice) {
  auto check = ContentCheck::of(entry, choice);
  EXPECT_TRUE(check.has_value());
  if (!check) return false;
  check->update(bytes.substr(0, 3));
  check->update(bytes.substr(3));
  return check->matches();
}

TEST(ContentCheck, ComparesWithTheMd5OfTheEtag) {
  const Entry entry = entry_of(kBytes);
  EXPECT_TRUE(matches(entry, kBytes, DigestChoice::kFastest));
  EXPECT_FALSE(matches(entry, "the bytes of an abject", DigestChoice::kFastest));
  auto check = *ContentCheck::of(entry, DigestChoice::kStrongest);
  check.update("x");
  EXPECT_FALSE(check.matches());
  EXPECT_EQ(check.expected(), "md5 " + entry.etag);
  EXPECT_EQ(check.found(), "md5 " + to_hex(md5("x")));
}

TEST(ContentCheck, EveryRecordedChecksumIsCompared) {
  const std::pair<const char*, std::string> recorded[] = {
      {"crc32", crc_digest(CrcKind::kCrc32, crc_of(CrcKind::kCrc32, kBytes))},
      {"crc32c", crc_digest(CrcKind::kCrc32c, crc_of(CrcKind::kCrc32c, kBytes))},
      {"crc64nvme", crc_digest(CrcKind::kCrc64Nvme, crc_of(CrcKind::kCrc64Nvme, kBytes))},
      {"sha1", sha1(kBytes)},
      {"sha256", sha256(kBytes)}};
  for (const auto& [algorithm, digest] : recorded) {
    Entry entry = entry_of(kBytes);
    entry.etag = "a multipart upload-2";
    entry.set_checksums({{algorithm, false, digest, 0}});
    EXPECT_TRUE(matches(entry, kBytes, DigestChoice::kFastest)) << algorithm;
    EXPECT_FALSE(matches(entry, "other", DigestChoice::kStrongest)) << algorithm;
  }
}

TEST(ContentCheck, TheChoiceDecidesAmongSeveral) {
  Entry entry = entry_of(kBytes);
  entry.set_checksums({{"crc32", false, "1234", 0}});
  EXPECT_EQ(ContentCheck::of(entry, DigestChoice::kFastest)->expected(), "crc32 31323334");
  EXPECT_EQ(ContentCheck::of(entry, DigestChoice::kStrongest)->expected(), "md5 " + entry.etag);
  entry.extras.set(ExtraTag::kContentDigest, content_digest(sha256(kBytes)));
  EXPECT_EQ(ContentCheck::of(entry, DigestChoice::kFastest)->expected(), "crc32 31323334");
  EXPECT_TRUE(matches(entry, kBytes, DigestChoice::kStrongest)) << "by the SHA-256";
  EXPECT_EQ(ContentCheck::of(entry, DigestChoice::kStrongest)->expected(),
            "sha256 " + to_hex(sha256(kBytes)));
}

TEST(ContentCheck, DigestsThatNoServerComputedOfTheWholeAreNotCompared) {
  Entry entry = entry_of(kBytes);
  entry.address = ExternalAddress{"s3://bucket/key"};
  EXPECT_FALSE(ContentCheck::of(entry, DigestChoice::kFastest));
  entry = entry_of(kBytes);
  entry.set_source_version({entry.etag, kBytes.size(), 1, ""});
  EXPECT_FALSE(ContentCheck::of(entry, DigestChoice::kFastest));
  entry = entry_of(kBytes);
  entry.etag += "-2";
  entry.set_checksums({{"crc32", true, "1234", 2}});
  EXPECT_FALSE(ContentCheck::of(entry, DigestChoice::kFastest));
}

}  // namespace
}  // namespace tarn::objects
