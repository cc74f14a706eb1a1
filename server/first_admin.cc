#include "server/first_admin.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "core/auth/setup.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "server/secrets.h"
#include "server/service_manager.h"

namespace tarn::server {
namespace {

constexpr mode_t kPrivate = 0600;
constexpr size_t kTokenBytes = 32;

}  // namespace

void write_private_file(const std::string& path, std::string_view text) {
  const auto fail = [&](int error) {
    throw Error(ErrorCode::kUnavailable, str_cat("writing ", path, ": ", std::strerror(error)));
  };
  // Replace the file rather than write to it: another user may have created or linked it.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail(errno);
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPrivate);
  if (fd < 0) fail(errno);
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (!written) fail(error);
}

std::optional<GeneratedKey> make_admin(auth::Directory& directory, Instant now,
                                       const std::string& data) {
  const std::string id = environment("TARN_ADMIN_ACCESS_KEY_ID").value_or("");
  const std::string secret = secret_variable("TARN_ADMIN_SECRET_ACCESS_KEY", environment);
  const bool given = !id.empty() && !secret.empty();
  const auto made =
      directory.ensure_admin(auth::kAdminName, given ? id : "", given ? secret : "", now);
  if (!made || given) return std::nullopt;
  return keep_admin_key(*made, data);
}

GeneratedKey keep_admin_key(const auth::NewKey& key, const std::string& data) {
  const std::string path = str_cat(data, "/admin-credentials");
  try {
    // The format that lakectl and tarn read.
    write_private_file(path, str_cat("credentials:\n  access_key_id: ", key.id,
                                     "\n  secret_access_key: ", key.secret, "\n"));
    return {key, path};
  } catch (const Error& error) {
    log::warn("admin_credentials_not_written", {{"error", error.message()}});
    return {key, ""};
  }
}

void show_admin_key(const GeneratedKey& made) {
  const auto& [key, file] = made;
  if (!file.empty() && output_is_journal()) {
    std::cout << "The keys of user admin are in " << file << ", which only its owner may read."
              << std::endl;
    return;
  }
  std::cout << "Keys of user admin, shown this once:\n  access key id:     " << key.id
            << "\n  secret access key: " << key.secret << std::endl;
  if (!file.empty()) {
    std::cout << "They are also in " << file << ", which only its owner may read." << std::endl;
  }
}

std::string make_setup_token(auth::Directory& directory, const std::string& data) {
  const std::string path = str_cat(data, "/setup-token");
  if (directory.has_users()) {
    ::unlink(path.c_str());
    return "";
  }
  if (std::string token = secret_variable("TARN_SETUP_TOKEN", environment); !token.empty()) {
    if (token.size() >= auth::kSecretBytesMin) return token;
    throw_invalid(str_cat("TARN_SETUP_TOKEN: must have ", auth::kSecretBytesMin,
                          " characters or more; leave it out to have one made"));
  }
  std::string token = to_hex(random_bytes(kTokenBytes));
  write_private_file(path, token + "\n");
  std::cout << "To make the first administrator, send POST /api/v1/setup_lakefs with the header\n"
               "\"Authorization: Bearer TOKEN\"; the token is in "
            << path << std::endl;
  return token;
}

}  // namespace tarn::server
