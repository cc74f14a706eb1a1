// Files of the web interface, compressed when they were built.
#pragma once

#include <map>
#include <string_view>

namespace tarn::server {

/// Immutable; refers to the bytes that it was parsed from. Safe from any thread.
class WebBundle {
 public:
  /// One file. An encoding that the build left out is empty; of WebAssembly only `gzip` is there.
  struct File {
    std::string_view content_type;
    std::string_view identity;
    std::string_view gzip;
    std::string_view brotli;
  };

  /// Without files, as a build without the web interface has.
  WebBundle() = default;

  /// Reads what web/scripts/pack.js writes: the line "tarn-web 1"; for each body a line of path,
  /// content type, encoding (identity, gzip, br) and length, separated by tabs; an empty line; the
  /// bodies in the same order. Nothing at all is a bundle without files. Throws invalid_argument.
  static WebBundle parse(std::string_view bytes);

  bool empty() const { return files_.empty(); }
  /// By a path like "index.html" or "assets/index-4f2a.js"; nullptr if there is none.
  const File* find(std::string_view path) const;

 private:
  std::map<std::string_view, File, std::less<>> files_;
};

/// The bundle that is linked into this program.
const WebBundle& embedded_web_bundle();

}  // namespace tarn::server
