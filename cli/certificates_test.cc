#include "cli/certificates.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <openssl/x509.h>

#include "core/base/str_cat.h"
#include "tests/support/temporary_directory.h"

namespace tarn::cli {
namespace {

class CertificateBundle : public ::testing::Test {
 protected:
  CertificateBundle() {
    ::unsetenv("SSL_CERT_FILE");
    ::unsetenv("SSL_CERT_DIR");
  }
  std::string add(const std::string& path) const {
    std::string file = str_cat(root_.path(), path);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << "x";
    return file;
  }
  std::optional<std::string> found() const { return certificate_bundle(root_.path()); }

  const tarn::testing::TemporaryDirectory root_;
};

TEST_F(CertificateBundle, IsThatOfTheDistribution) {
  EXPECT_EQ(found(), std::nullopt);
  const std::string suse = add("/etc/ssl/ca-bundle.pem");
  EXPECT_EQ(found(), suse);
  const std::string fedora = add("/etc/pki/tls/certs/ca-bundle.crt");
  EXPECT_EQ(found(), fedora);
  const std::string debian = add("/etc/ssl/certs/ca-certificates.crt");
  EXPECT_EQ(found(), debian);
}

TEST_F(CertificateBundle, IsNotNeededWhereOpensslFindsCertificates) {
  add("/etc/pki/tls/certs/ca-bundle.crt");
  const std::string hashed = add(str_cat(X509_get_default_cert_dir(), "/5a4d6896.0"));
  EXPECT_EQ(found(), std::nullopt);
  std::filesystem::remove(hashed);
  EXPECT_NE(found(), std::nullopt);
  add(X509_get_default_cert_file());
  EXPECT_EQ(found(), std::nullopt);
}

TEST_F(CertificateBundle, IsNotReadWhereTheEnvironmentNamesOne) {
  add("/etc/pki/tls/certs/ca-bundle.crt");
  for (const char* variable : {"SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    ::setenv(variable, "/somewhere", 1);
    EXPECT_EQ(found(), std::nullopt) << variable;
    ::unsetenv(variable);
  }
  EXPECT_NE(found(), std::nullopt);
}

}  // namespace
}  // namespace tarn::cli
