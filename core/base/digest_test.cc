#include "core/base/digest.h"

#include <set>

#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace tarn {
namespace {

const std::string kKey(32, 'k');

TEST(Digest, MatchesTheStandards) {
  EXPECT_EQ(to_hex(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(to_hex(md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(to_hex(sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, AcceptsPiecesAndResetsAfterFinish) {
  for (const auto& [algorithm, whole] :
       {std::pair{DigestAlgorithm::kMd5, md5("hello world")},
        std::pair{DigestAlgorithm::kSha1, sha1("hello world")},
        std::pair{DigestAlgorithm::kSha256, sha256("hello world")}}) {
    Digest digest(algorithm);
    for (int round = 0; round < 2; ++round) {
      digest.update("hello");
      digest.update("");
      digest.update(" world");
      EXPECT_EQ(digest.finish(), whole);
    }
    Digest moved(std::move(digest));
    moved.update("hello world");
    EXPECT_EQ(moved.finish(), whole);
  }
}

// RFC 4231 cases 1, 2, 3 and 6, RFC 2202 cases 1 and 6.
TEST(Hmac, MatchesItsRfcs) {
  EXPECT_EQ(to_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256(std::string(20, '\xaa'), std::string(50, '\xdd'))),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(to_hex(hmac_sha256(std::string(131, '\xaa'),
                               "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(to_hex(hmac_sha1(std::string(20, '\x0b'), "Hi There")),
            "b617318655057264e28bc0b6fb378c8ef146be00");
  EXPECT_EQ(to_hex(hmac_sha1(std::string(80, '\xaa'),
                             "Test Using Larger Than Block-Size Key - Hash Key First")),
            "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

TEST(ConstantTimeEqual, ComparesLengthAndEveryByte) {
  EXPECT_TRUE(constant_time_equal("", ""));
  EXPECT_TRUE(constant_time_equal("abc", "abc"));
  EXPECT_FALSE(constant_time_equal("abc", "abd"));
  EXPECT_FALSE(constant_time_equal("abc", "ab"));
  EXPECT_FALSE(constant_time_equal("", "a"));
}

TEST(Random, GivesAsManyFreshBytesAsAsked) {
  EXPECT_EQ(random_bytes(0), "");
  EXPECT_EQ(random_bytes(33).size(), 33u);
  std::set<std::string> seen;
  std::set<uint64_t> numbers;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(seen.insert(random_bytes(16)).second);
    EXPECT_TRUE(numbers.insert(random_u64()).second);
  }
}

TEST(Seal, OpensWithItsKeyAndContextOnly) {
  for (const std::string& plain : {std::string(), std::string("secret"), std::string(5000, '\0')}) {
    const std::string sealed = seal(kKey, "key AK1", plain);
    EXPECT_EQ(sealed.size(), 12 + plain.size() + 16);
    EXPECT_EQ(open_sealed(kKey, "key AK1", sealed), plain);
    EXPECT_EQ(open_sealed(kKey, "key AK2", sealed), std::nullopt);
    EXPECT_EQ(open_sealed(std::string(32, 'l'), "key AK1", sealed), std::nullopt);
  }
}

TEST(Seal, EveryBitOfTheSealedBytesCounts) {
  const std::string sealed = seal(kKey, "c", "secret");
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(open_sealed(kKey, "c", changed), std::nullopt) << i;
    EXPECT_EQ(open_sealed(kKey, "c", sealed.substr(0, i)), std::nullopt) << i;
  }
}

TEST(Seal, NeverRepeatsItself) { EXPECT_NE(seal(kKey, "c", "secret"), seal(kKey, "c", "secret")); }

}  // namespace
}  // namespace tarn
