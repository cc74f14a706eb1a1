#include "cli/evaluation/unpacker.h"

#include <fstream>
#include <string>

#include "cli/exit_code.h"
#include "core/archive/tar_reader.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;

/// A folder that an archive is written to.
class Unpacking {
 public:
  Unpacking(fs::path folder, uint64_t& bytes_left)
      : folder_(std::move(folder)), bytes_left_(bytes_left) {
    fs::create_directory(folder_);
  }

  void begin(const archive::Member& member) {
    close();
    if (++members_ > kUnpackedMembersMax) {
      throw Error(ErrorCode::kResourceExhausted,
                  str_cat("unpacking files: more than ", kUnpackedMembersMax));
    }
    if (member.size_bytes > bytes_left_) {
      throw Error(ErrorCode::kResourceExhausted,
                  str_cat("unpacking ", member.name, ": the job has more bytes than --disk"));
    }
    bytes_left_ -= member.size_bytes;
    const fs::path path = folder_ / member.name;
    if (member.name.ends_with('/')) {
      fs::create_directories(path);
      return;
    }
    fs::create_directories(path.parent_path());
    if (fs::exists(fs::symlink_status(path))) {
      throw Error(ErrorCode::kDataLoss, str_cat("unpacking ", member.name, ": it came twice"));
    }
    path_ = path;
    file_.open(path, std::ios::binary);
  }
  void content(std::string_view bytes) {
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void close() {
    if (path_.empty()) return;
    file_.close();
    if (file_.fail()) {
      throw Error(ErrorCode::kResourceExhausted,
                  str_cat("writing ", path_.string(), ": failed; is the disk full?"));
    }
    path_.clear();
  }

 private:
  const fs::path folder_;
  uint64_t& bytes_left_;
  uint64_t members_ = 0;
  std::ofstream file_;
  fs::path path_;  ///< of the open file
};

}  // namespace

void unpack(Client& client, const Request& request, const fs::path& folder, uint64_t& bytes_left,
            const std::function<bool()>& stop) {
  Unpacking unpacking(folder, bytes_left);
  archive::TarReader reader([&](const archive::Member& member) { unpacking.begin(member); },
                            [&](std::string_view bytes) { unpacking.content(bytes); });
  const Answer answer = client.download(request, [&](std::string_view bytes) {
    if (stop())
      throw Error(ErrorCode::kUnavailable, kReasonInterrupted, "receiving files: interrupted");
    reader.feed(bytes);
  });
  if (!answer.ok()) throw error_from(answer);
  reader.finish();
  unpacking.close();
}

}  // namespace tarn::cli
