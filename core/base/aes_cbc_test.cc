#include "core/base/aes_cbc.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/error.h"

namespace tarn {
namespace {

TEST(AesCbc, MatchesTheNistVectors) {
  // SP 800-38A F.2.1, first block; PKCS #7 adds one more, so only its ciphertext is compared.
  const std::string key = *from_hex("2b7e151628aed2a6abf7158809cf4f3c");
  const std::string vector = *from_hex("000102030405060708090a0b0c0d0e0f");
  const std::string plain = *from_hex("6bc1bee22e409f96e93d7e117393172a");
  const std::string block = *from_hex("7649abac8119b246cee98e9b12e9197d");
  EXPECT_FALSE(decrypt_aes_cbc(key, vector + block).has_value());  // its padding is no padding
  const std::string encrypted = encrypt_aes_cbc(key, plain);
  EXPECT_EQ(encrypted.size(), 48u);
  EXPECT_EQ(decrypt_aes_cbc(key, encrypted), plain);
}

TEST(AesCbc, NeedsAKeyOfALengthAndTheRightOne) {
  EXPECT_THROW(encrypt_aes_cbc("short", "x"), Error);
  EXPECT_THROW(decrypt_aes_cbc("short", std::string(32, 'x')), Error);
  const std::string encrypted = encrypt_aes_cbc(std::string(32, 'k'), "text");
  EXPECT_EQ(decrypt_aes_cbc(std::string(32, 'k'), encrypted), "text");
  EXPECT_NE(decrypt_aes_cbc(std::string(32, 'l'), encrypted), "text");
  EXPECT_FALSE(decrypt_aes_cbc(std::string(32, 'k'), "x").has_value());
  EXPECT_NE(encrypt_aes_cbc(std::string(16, 'k'), "text"),
            encrypt_aes_cbc(std::string(16, 'k'), "text"));
}

}  // namespace
}  // namespace tarn
