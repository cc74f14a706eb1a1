// Files for users of this server: the Python package and the command. Nobody needs to sign in for
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/http/message.h"

namespace tarn::server {

constexpr size_t kDownloadsMax = 32;
constexpr uint64_t kDownloadBytesMax = 16 << 20;

/// Immutable; safe from any thread.
class Downloads {
 public:
  Downloads() = default;
  /// The regular files of `directory` with a plain name, as far as the limits go; none if it is
  /// missing.
  static Downloads in(const std::string& directory);
  /// The files that came with the program at this path: `../share/tarn/downloads` from its
  /// directory (a build, a prefix), else `../../share/tarn/downloads` (packages).
  static Downloads beside(const std::string& program);
  /// Files that came with this program, read once.
  static const Downloads& installed();

  /// The answer to a GET or HEAD of "/downloads/", a list with links that pip takes, or of a file
  /// below; nullopt for every other path. Throws not_found: no such file.
  std::optional<http::Response> answer(const http::Request& request) const;

 private:
  std::map<std::string, std::string, std::less<>> paths_;  // by name
};

}  // namespace tarn::server
