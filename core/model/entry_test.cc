#include "core/model/entry.h"

#include <random>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/wire.h"

namespace tarn {
namespace {

const std::string kMd5 = "5d41402abc4b2a76b9719d911017c592";

OwnAddress own() {
  OwnAddress address;
  for (size_t i = 0; i < address.id.size(); ++i) address.id[i] = static_cast<uint8_t>(i + 1);
  return address;
}

Entry sample_entry() {
  Entry entry;
  entry.size_bytes = 300;
  entry.mtime = from_millis(1795162542605);
  entry.etag = kMd5;
  entry.address = own();
  entry.content_type = "text/plain";
  entry.set_user_metadata({{"a", "1"}});
  return entry;
}

std::string etag_bytes(std::string_view etag) {
  std::string out;
  put_etag(out, etag);
  return out;
}

ErrorCode code_of_decoding(std::string_view bytes) {
  try {
    decode_entry(bytes);
    return ErrorCode::kInternal;
  } catch (const Error& error) {
    return error.code();
  }
}

// The byte form is in every repository: a change here is a change of format.
TEST(Entry, HasItsBytes) {
  EXPECT_EQ(to_hex(encode_entry(sample_entry())),
            "ac02"                                // size 300
            "000001a1f806920d"                    // mtime, big-endian milliseconds
            "005d41402abc4b2a76b9719d911017c592"  // etag: MD5
            "0e000102030405060708090a0b0c0d"      // address: 14 bytes, own
            "0a746578742f706c61696e"              // content type
            "010401610131"                        // extra 1, 4 bytes: user metadata a=1
            "7f04e850d5ff");                      // extra 127: the CRC32C of the bytes before
  EXPECT_EQ(decode_entry(encode_entry(sample_entry())), sample_entry());
}

TEST(Entry, AddressesHaveTheirBytes) {
  const std::string id = "0102030405060708090a0b0c0d";
  const std::pair<Address, std::string> cases[] = {
      {own(), "00" + id},
      {PartListAddress{300}, "01ac02"},
      {ForeignAddress{static_cast<RepositoryId>(5), own()}, "0205" + id},
      {ExternalAddress{"s3://b/k"}, "0373333a2f2f622f6b"},
      {ExternalAddress{""}, "03"},
  };
  for (const auto& [address, hex] : cases) {
    EXPECT_EQ(to_hex(encode_address(address)), hex);
    EXPECT_EQ(decode_address(*from_hex(hex)), address);
  }
}

TEST(Entry, BrokenAddressesAreDataLoss) {
  const std::string id = "0102030405060708090a0b0c0d";
  for (const std::string& hex :
       {std::string(), std::string("00"), "00" + id + "00", "00" + id.substr(2), std::string("01"),
        std::string("01ac0200"), "0205" + id + "00", "028080808010" + id, std::string("04"),
        std::string("ff")}) {
    try {
      decode_address(*from_hex(hex));
      ADD_FAILURE() << hex;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << hex;
    }
  }
}

TEST(Entry, EtagsAreShortWhenTheyAreDigests) {
  EXPECT_EQ(to_hex(etag_bytes(kMd5)), "00" + kMd5);
  EXPECT_EQ(to_hex(etag_bytes(kMd5 + "-2")), "01" + kMd5 + "02");
  EXPECT_EQ(to_hex(etag_bytes(kMd5 + "-300")), "01" + kMd5 + "ac02");
  EXPECT_EQ(etag_bytes(""), std::string("\2\0", 2));
  EXPECT_EQ(etag_bytes("abc"),
            "\2\3"
            "abc");
}

TEST(Entry, EtagsRoundTrip) {
  std::string upper = kMd5;
  upper[1] = 'D';
  for (const std::string& etag :
       {std::string(), std::string("x"), kMd5, upper, kMd5 + "-1", kMd5 + "-99999",
        kMd5 + "-100000", kMd5 + "-0", kMd5 + "-01", kMd5 + "-", kMd5 + "-1x", kMd5 + "-+1",
        upper + "-1", kMd5 + "0", kMd5.substr(1), std::string(255, 'e')}) {
    Entry entry = sample_entry();
    entry.etag = etag;
    EXPECT_EQ(decode_entry(encode_entry(entry)).etag, etag);
  }
  Entry entry = sample_entry();
  entry.etag = std::string(256, 'e');
  try {
    encode_entry(entry);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  }
}

TEST(Entry, HoldsObjectTags) {
  const Metadata tags{{"a", "1"}, {"b", ""}};
  Entry entry;
  EXPECT_EQ(entry.object_tags(), Metadata{});
  entry.set_object_tags(tags);
  EXPECT_EQ(entry.object_tags(), tags);
  EXPECT_EQ(decode_entry(encode_entry(entry)).object_tags(), tags);
  entry.set_object_tags({});
  EXPECT_EQ(entry.extras, Extras());
}

TEST(Entry, ExtrasStaySortedAndUnique) {
  Entry entry;
  entry.extras.set(ExtraTag::kExpires, "e");
  entry.extras.set(ExtraTag::kCacheControl, "c");
  entry.extras.set(ExtraTag::kObjectTags, "o");
  entry.extras.set(ExtraTag::kCacheControl, "c2");
  EXPECT_EQ(entry.extras.bytes(), "\2\2c2\6\1e\11\1o");
  EXPECT_EQ(entry.extras.get(ExtraTag::kCacheControl), "c2");
  EXPECT_EQ(entry.extras.get(ExtraTag::kStorageClass), "");
  entry.extras.set(ExtraTag::kExpires, "");
  entry.extras.set(ExtraTag::kStorageClass, "");
  EXPECT_EQ(entry.extras.bytes(), "\2\2c2\11\1o");
  EXPECT_EQ(Extras::parse(entry.extras.bytes()), entry.extras);
}

TEST(Entry, ExtrasOutOfOrderAreDataLoss) {
  EXPECT_EQ(Extras::parse("\2\1a\6\1b").get(ExtraTag::kExpires), "b");
  for (const char* bytes : {"\6\1b\2\1a", "\2\1a\2\1b", "\2\3ab"}) {
    EXPECT_THROW(Extras::parse(bytes), Error) << to_hex(bytes);
  }
}

TEST(Entry, UnknownExtrasArePreserved) {
  Entry entry = sample_entry();
  entry.extras.set(static_cast<ExtraTag>(62), std::string("\0later", 6));
  EXPECT_EQ(decode_entry(encode_entry(entry)), entry);
}

TEST(Entry, MetadataChecksumsAndSourceVersionReadBack) {
  Entry entry;
  EXPECT_TRUE(entry.user_metadata().empty());
  EXPECT_TRUE(entry.checksums().empty());
  EXPECT_EQ(entry.source_version(), std::nullopt);
  const Metadata metadata = {{"", "empty key"}, {"Case", "Kept"}, {"b", std::string("\0\xff", 2)}};
  const std::vector<Checksum> checksums = {{"crc64nvme", false, std::string(8, '\x9a'), 0},
                                           {"sha256", true, std::string(32, '\1'), 12}};
  const SourceVersion source = {"\"etag\"", 1ull << 40, -5, "v"};
  entry.set_user_metadata(metadata);
  entry.set_checksums(checksums);
  entry.set_source_version(source);
  const Entry decoded = decode_entry(encode_entry(entry));
  EXPECT_EQ(decoded.user_metadata(), metadata);
  EXPECT_EQ(decoded.checksums(), checksums);
  EXPECT_EQ(decoded.source_version(), source);
  entry.set_user_metadata({});
  entry.set_checksums({});
  Entry only_source;
  only_source.set_source_version(source);
  EXPECT_EQ(entry.extras, only_source.extras);
}

TEST(Entry, ContentDigestsOfWholesAndOfPartsDiffer) {
  const std::string one(32, '\1');
  const std::string two(32, '\2');
  const std::vector<PartDigest> parts = {{5, one}, {6, two}};
  const std::vector<PartDigest> unknown = {{5, one}, {6, ""}};
  const std::vector<PartDigest> sizes = {{6, one}, {5, two}};
  EXPECT_EQ(content_digest(parts).size(), 33u);
  EXPECT_NE(content_digest(parts), content_digest(sizes));
  EXPECT_EQ(content_digest(unknown), "") << "a part without a digest proves nothing";
  EXPECT_EQ(content_digest(std::vector<PartDigest>{{5, one}}), content_digest(one));
  EXPECT_EQ(content_digest(""), "");
  // The bytes whose SHA-256 a digest of parts is, uploaded as an object, are another object.
  const std::string as_bytes = std::string("\5", 1) + one + "\6" + two;
  EXPECT_NE(content_digest(sha256(as_bytes)), content_digest(parts));

  Entry entry;
  EXPECT_EQ(whole_sha256(entry), "");
  entry.extras.set(ExtraTag::kContentDigest, content_digest(one));
  EXPECT_EQ(whole_sha256(entry), one);
  entry.extras.set(ExtraTag::kContentDigest, content_digest(parts));
  EXPECT_EQ(whole_sha256(entry), "");
}

TEST(Entry, EveryFlippedBitIsDataLoss) {
  const std::string good = encode_entry(sample_entry());
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(code_of_decoding(bytes), ErrorCode::kDataLoss) << bit;
  }
}

TEST(Entry, DamagedBytesAreDataLossNeverACrash) {
  const std::string good = encode_entry(sample_entry());
  for (size_t cut = 0; cut < good.size(); ++cut) {
    EXPECT_EQ(code_of_decoding(good.substr(0, cut)), ErrorCode::kDataLoss) << cut;
  }
  std::string twice = good + good.substr(good.size() - 6);
  EXPECT_EQ(code_of_decoding(twice), ErrorCode::kDataLoss) << "a tag may occur once";
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int edits = 0; edits < 3; ++edits)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const ErrorCode code = code_of_decoding(bytes);
    ASSERT_TRUE(code == ErrorCode::kDataLoss || code == ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace tarn
