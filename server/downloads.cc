#include "server/downloads.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::server {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kDownloadsPath = "/downloads/";
/// Names of packages need no quoting in URLs and HTML.
constexpr std::string_view kNameBytes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~+";

bool is_offered(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  std::error_code ignored;
  return !name.starts_with('.') && name.find_first_not_of(kNameBytes) == std::string::npos &&
         entry.symlink_status(ignored).type() == fs::file_type::regular;
}

}  // namespace

Downloads Downloads::in(const std::string& directory) {
  Downloads out;
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, absent)) {
    if (!is_offered(entry)) continue;
    if (out.paths_.size() == kDownloadsMax || entry.file_size(absent) > kDownloadBytesMax) {
      log::warn("download_not_offered", {{"file", entry.path().string()}});
    } else {
      out.paths_.emplace(entry.path().filename().string(), entry.path().string());
    }
  }
  return out;
}

Downloads Downloads::beside(const std::string& program) {
  const fs::path directory = fs::path(program).parent_path();
  std::error_code absent;
  for (const char* up : {"..", "../.."}) {
    const fs::path found = directory / up / "share/tarn/downloads";
    if (fs::is_directory(found, absent)) return in(found.string());
  }
  return {};
}

const Downloads& Downloads::installed() {
  static const Downloads kInstalled = [] {
    std::error_code ignored;
    return beside(fs::read_symlink("/proc/self/exe", ignored).string());
  }();
  return kInstalled;
}

std::optional<http::Response> Downloads::answer(const http::Request& request) const {
  const std::string_view path = request.raw_path();
  if (!path.starts_with(kDownloadsPath)) return std::nullopt;
  const std::string_view name = path.substr(kDownloadsPath.size());
  http::Response response;
  response.headers.add("Cache-Control", "no-cache");
  response.headers.add("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  if (name.empty()) {
    response.headers.add("Content-Type", "text/html; charset=utf-8");
    response.body = "<!DOCTYPE html>\n<html lang=\"en\"><title>Downloads</title>\n";
    for (const auto& [offered, unused] : paths_) {
      response.body += str_cat("<a href=\"", offered, "\">", offered, "</a><br>\n");
    }
    response.body += "</html>\n";
    return response;
  }
  const auto found = paths_.find(name);
  std::ifstream file;
  if (found != paths_.end()) file.open(found->second, std::ios::binary);
  if (!file.is_open()) {
    throw Error(ErrorCode::kNotFound, reason::kUnknownEndpoint,
                str_cat("there is no such file: ", kDownloadsPath,
                        " lists those that came with this server"));
  }
  response.headers.add("Content-Type", "application/octet-stream");
  response.headers.add("Content-Disposition", "attachment");
  response.body.assign(std::istreambuf_iterator<char>(file), {});
  response.hold_memory(request.method);
  return response;
}

}  // namespace tarn::server
