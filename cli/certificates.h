// Certification authorities that the system trusts.
#pragma once

#include <optional>
#include <string>

namespace tarn::cli {

/// The file of certificates to load where OpenSSL's own places have none: it looks where its
/// builder said, and distributions keep them in different places. nullopt if OpenSSL finds them
/// itself, if SSL_CERT_FILE or SSL_CERT_DIR tells it where, or if there is no such file. `root` is
/// before every path.
std::optional<std::string> certificate_bundle(const std::string& root = "");

}  // namespace tarn::cli
