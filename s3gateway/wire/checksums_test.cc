#include "s3gateway/wire/checksums.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

TEST(Checksums, ReadsAndWritesTheirText) {
  const Checksum full = parse_checksum("crc32", "y/Q5Jg==");
  EXPECT_EQ(full, (Checksum{"crc32", false, *from_hex("cbf43926"), 0}));
  EXPECT_EQ(text_of(full), "y/Q5Jg==");
  EXPECT_EQ(type_of(full), "FULL_OBJECT");
  const Checksum composite = parse_checksum("crc32", "y/Q5Jg==-3");
  EXPECT_EQ(composite, (Checksum{"crc32", true, *from_hex("cbf43926"), 3}));
  EXPECT_EQ(text_of(composite), "y/Q5Jg==-3");
  EXPECT_EQ(type_of(composite), "COMPOSITE");
}

TEST(Checksums, RefusesInvalidDigests) {
  for (std::string_view text :
       {"", "y/Q5Jg", "bad", "y/Q5JgAA", "y/Q5Jg==-", "y/Q5Jg==-x", "y/Q5Jg==-99999"}) {
    EXPECT_THROW(parse_checksum("crc32", text), Refusal) << text;
  }
  EXPECT_THROW(parse_checksum("md5", "y/Q5Jg=="), Refusal);
}

TEST(Checksums, KnowsTheNamesOfEachAlgorithm) {
  EXPECT_EQ(element_of("crc64nvme"), "ChecksumCRC64NVME");
  EXPECT_EQ(element_of("xxhash"), "");
  EXPECT_EQ(header_of("sha256"), "x-amz-checksum-sha256");
  EXPECT_EQ(upper_name_of("crc32c"), "CRC32C");
}

TEST(Checksums, KeepsTheClientsChecksumOrCrc64Nvme) {
  sigv4::PayloadResult result;
  result.checksums = {{sigv4::ChecksumAlgorithm::kCrc64Nvme, "12345678"},
                      {sigv4::ChecksumAlgorithm::kSha1, std::string(20, 's')}};
  EXPECT_EQ(kept_checksums(result), (std::vector<Checksum>{{"crc64nvme", false, "12345678", 0}}));
  result.declared = sigv4::ChecksumAlgorithm::kSha1;
  EXPECT_EQ(kept_checksums(result),
            (std::vector<Checksum>{{"sha1", false, std::string(20, 's'), 0}}));
  EXPECT_EQ(kept_checksums({}), std::vector<Checksum>{});
}

TEST(Checksums, ComputesOnlyTheStoredOne) {
  http::Headers headers;
  EXPECT_TRUE(payload_options(headers).crc64nvme);
  headers.add("x-amz-sdk-checksum-algorithm", "CRC32");
  headers.add("X-Amz-Checksum-Crc32", "y/Q5Jg==");
  EXPECT_FALSE(payload_options(headers).crc64nvme);
  EXPECT_EQ(checksum_headers(headers),
            (std::vector<Checksum>{{"crc32", false, *from_hex("cbf43926"), 0}}));
}

TEST(Checksums, AreSentAsHeaders) {
  http::Headers headers;
  add_checksum_headers(headers, {});
  EXPECT_TRUE(headers.all().empty());
  add_checksum_headers(headers, {parse_checksum("crc32", "y/Q5Jg==-2")});
  EXPECT_EQ(headers.get("x-amz-checksum-crc32"), "y/Q5Jg==-2");
  EXPECT_EQ(headers.get("x-amz-checksum-type"), "COMPOSITE");
}

}  // namespace
}  // namespace tarn::s3
