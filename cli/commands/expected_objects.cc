#include "cli/commands/expected_objects.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/commands/fs_transfer.h"
#include "cli/exit_code.h"
#include "cli/local_file.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr size_t kSha256Bytes = 32;

std::string sha256_of_file(const std::string& path) {
  FileReader file(path);
  Digest digest(DigestAlgorithm::kSha256);
  for (std::string_view piece = file.next(); !piece.empty(); piece = file.next()) {
    digest.update(piece);
  }
  return to_hex(digest.finish());
}

}  // namespace

Json expected_objects(Session& session, std::string_view option,
                      const std::vector<std::string>& words) {
  Json out = Json::array();
  const auto add = [&out](const std::string& path, const std::string& sha256) {
    out.push_back({{"path", path}, {"sha256", sha256}});
  };
  for (const std::string& word : words) {
    const size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
      throw usage_error(str_cat("reading ", option, " \"", word,
                                "\": expected PATH=SHA256, PATH=FILE or PREFIX/=DIRECTORY"));
    }
    std::string path = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    const bool is_prefix = path.ends_with('/');
    if (is_prefix != std::filesystem::is_directory(value)) {
      throw usage_error(str_cat("reading ", option, " \"", word, "\": ",
                                is_prefix ? "the path ends in '/', so a directory must follow"
                                          : "the path of a directory must end in '/'"));
    }
    if (is_prefix) {
      if (path == "/") path.clear();
      for (const LocalFile& file : files_below(session, value).files) {
        add(path + file.key, sha256_of_file((std::filesystem::path(value) / file.key).string()));
      }
      continue;
    }
    const auto digest = from_hex(value);
    const bool is_digest = digest && digest->size() == kSha256Bytes;
    add(path, is_digest ? value : sha256_of_file(value));
  }
  return out;
}

}  // namespace tarn::cli
