// AES in CBC mode with PKCS #7 padding: no authentication, for data that others encrypted so. Our
// own secrets are sealed (digest.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tarn {

/// A random initialisation vector (16 bytes), then the ciphertext. `key` has 16, 24 or 32 bytes,
/// else throws invalid_argument.
std::string encrypt_aes_cbc(std::string_view key, std::string_view plain);
/// nullopt: not made with this key, or damaged so that the padding shows it.
std::optional<std::string> decrypt_aes_cbc(std::string_view key, std::string_view encrypted);

}  // namespace tarn
