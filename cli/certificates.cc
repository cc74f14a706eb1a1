#include "cli/certificates.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <openssl/x509.h>

#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* kBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",                   // RHEL, Fedora, Amazon Linux
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // newer RHEL and Fedora
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/ssl/cert.pem",                                  // small systems
};

/// Whether OpenSSL finds a certificate in the directory by the hash of its subject.
bool has_hashed_names(const std::string& directory) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.path().extension() == ".0") return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> certificate_bundle(const std::string& root) {
  if (std::getenv(X509_get_default_cert_file_env()) || std::getenv(X509_get_default_cert_dir_env()))
    return std::nullopt;
  std::error_code ignored;
  if (fs::exists(str_cat(root, X509_get_default_cert_file()), ignored) ||
      has_hashed_names(str_cat(root, X509_get_default_cert_dir()))) {
    return std::nullopt;
  }
  for (const char* bundle : kBundles) {
    const std::string path = str_cat(root, bundle);
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

}  // namespace tarn::cli
