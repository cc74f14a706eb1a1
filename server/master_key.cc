#include "server/master_key.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::server {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr mode_t kKeyMode = 0600;

[[noreturn]] void fail(const std::string& doing, int error) {
  throw Error(ErrorCode::kUnavailable, str_cat(doing, ": ", std::strerror(error)));
}

/// Writes a temporary file and links it to its final name: the file is complete from the start, and
/// a concurrent second server uses the first one's key.
void make_key_file(const std::string& path, const std::string& key) {
  const std::string doing = str_cat("making the master key file ", path);
  const std::string unfinished = str_cat(path, ".", to_hex(random_bytes(8)));
  const int fd = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kKeyMode);
  if (fd < 0) fail(doing, errno);
  const std::string text = to_hex(key) + "\n";
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  const int write_error = errno;
  ::close(fd);
  const bool linked = written && (::link(unfinished.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int link_error = written ? errno : write_error;
  ::unlink(unfinished.c_str());
  if (!linked) fail(doing, link_error);
  const int directory =
      ::open(std::filesystem::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);  // losing the key would lose every sealed secret
    ::close(directory);
  }
}

}  // namespace

std::string load_master_key(const Config& config) {
  if (!config.auth_master_key.empty()) return from_hex(config.auth_master_key).value_or("");
  const std::string path = config.master_key_file();
  if (!std::filesystem::exists(path)) make_key_file(path, random_bytes(kKeyBytes));
  std::ifstream in(path);
  std::string text;
  if (!(in >> text))
    throw Error(ErrorCode::kUnavailable,
                str_cat("reading the master key file ", path, ": cannot be read"));
  const std::optional<std::string> key = from_hex(text);
  if (!key || key->size() != kKeyBytes) {
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat("reading the master key file ", path, ": it must hold 64 hex digits"));
  }
  return *key;
}

bool has_master_key(const Config& config) {
  return !config.auth_master_key.empty() || std::filesystem::exists(config.master_key_file());
}

std::string master_key_origin(const Config& config) {
  return config.auth_master_key.empty() ? "file " + config.master_key_file()
                                        : "setting auth.master_key";
}

std::string master_key_problem(const Config& config, const std::string& key) {
  if (!config.auth_master_key.empty()) return "";
  const std::string path = config.master_key_file();
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return "file_missing";
  using std::filesystem::perms;
  const perms mode = std::filesystem::status(path, failed).permissions();
  if ((mode & perms::others_all) != perms::none) return "readable_by_others";
  std::ifstream in(path);
  std::string text;
  in >> text;
  return from_hex(text) == key ? "" : "file_differs";
}

void write_master_key(const Config& config, const std::string& key) {
  if (key.size() != kKeyBytes) {
    throw Error(ErrorCode::kDataLoss, "writing the master key file: the key has a wrong length");
  }
  make_key_file(config.master_key_file(), key);
}

}  // namespace tarn::server
