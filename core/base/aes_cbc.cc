#include "core/base/aes_cbc.h"

#include <memory>

#include <openssl/evp.h>

#include "core/base/digest.h"
#include "core/base/error.h"

namespace tarn {
namespace {

constexpr size_t kBlockBytes = 16;

const EVP_CIPHER* cipher_for(std::string_view key) {
  switch (key.size()) {
    case 16:
      return EVP_aes_128_cbc();
    case 24:
      return EVP_aes_192_cbc();
    case 32:
      return EVP_aes_256_cbc();
    default:
      throw_invalid("AES: a key has 16, 24 or 32 bytes");
  }
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::optional<std::string> transform(std::string_view key, std::string_view vector,
                                     std::string_view input, bool encrypt) {
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(),
                                                                           &EVP_CIPHER_CTX_free);
  TARN_CHECK(context != nullptr);
  std::string out(input.size() + kBlockBytes, '\0');
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  int first = 0;
  int last = 0;
  if (EVP_CipherInit_ex(context.get(), cipher_for(key), nullptr, bytes_of(key), bytes_of(vector),
                        encrypt ? 1 : 0) != 1 ||
      EVP_CipherUpdate(context.get(), to, &first, bytes_of(input),
                       static_cast<int>(input.size())) != 1 ||
      EVP_CipherFinal_ex(context.get(), to + first, &last) != 1) {
    return std::nullopt;
  }
  out.resize(static_cast<size_t>(first) + static_cast<size_t>(last));
  return out;
}

}  // namespace

std::string encrypt_aes_cbc(std::string_view key, std::string_view plain) {
  const std::string vector = random_bytes(kBlockBytes);
  const auto out = transform(key, vector, plain, /*encrypt=*/true);
  if (!out) throw Error(ErrorCode::kInternal, "AES: encrypting failed");
  return vector + *out;
}

std::optional<std::string> decrypt_aes_cbc(std::string_view key, std::string_view encrypted) {
  cipher_for(key);
  if (encrypted.size() < 2 * kBlockBytes) return std::nullopt;
  return transform(key, encrypted.substr(0, kBlockBytes), encrypted.substr(kBlockBytes),
                   /*encrypt=*/false);
}

}  // namespace tarn
