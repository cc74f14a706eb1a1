// Cryptographic digests, HMAC, sealing of secrets and random bytes, on OpenSSL's EVP objects
// fetched once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tarn {

enum class DigestAlgorithm { kMd5, kSha1, kSha256 };

/// A running digest. One thread at a time.
class Digest {
 public:
  explicit Digest(DigestAlgorithm algorithm);
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  void update(std::string_view bytes);
  /// The raw digest (16, 20 or 32 bytes); the object is then reset.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Raw digests of a whole buffer.
std::string md5(std::string_view bytes);
std::string sha1(std::string_view bytes);
std::string sha256(std::string_view bytes);

/// Raw HMAC-SHA-256 / HMAC-SHA-1.
std::string hmac_sha256(std::string_view key, std::string_view bytes);
std::string hmac_sha1(std::string_view key, std::string_view bytes);

/// Compares without a data-dependent branch; unequal lengths are unequal.
bool constant_time_equal(std::string_view a, std::string_view b);

/// From the operating system's generator. Throws: internal.
std::string random_bytes(size_t count);
uint64_t random_u64();

/// AES-256-GCM with a fresh nonce: nonce (12) || ciphertext || tag (16). `key` is 32 bytes.
/// `context` is authenticated, not stored: opening needs the same.
std::string seal(std::string_view key, std::string_view context, std::string_view plain);
/// nullopt when key, context or bytes do not belong together.
std::optional<std::string> open_sealed(std::string_view key, std::string_view context,
                                       std::string_view sealed);

}  // namespace tarn
