#include "server/ready_file.h"

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::server {

void remove_ready_file(const std::string& path) {
  std::error_code ignored;  // absent is fine; other errors appear when it is written
  std::filesystem::remove(path, ignored);
}

void write_ready_file(const std::string& path, const std::string& url) {
  const std::string unfinished = path + ".tmp";
  std::ofstream out(unfinished, std::ios::trunc);
  out << url << '\n';
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(unfinished, path, error);
  if (!out || error) {
    throw Error(ErrorCode::kUnavailable,
                str_cat("writing the ready file ", path, ": cannot be written"));
  }
}

}  // namespace tarn::server
