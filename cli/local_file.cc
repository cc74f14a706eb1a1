#include "cli/local_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr int kNewFileMode = 0666;
constexpr std::string_view kPartialSuffix = ".tarn-part";

}  // namespace

FileReader::FileReader(const std::string& path) : path_(path) {
  fd_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  if (fd_ < 0 || ::fstat(fd_, &facts) != 0) {
    throw Error(ErrorCode::kNotFound, str_cat("opening ", path, ": ", std::strerror(errno)));
  }
  if (S_ISDIR(facts.st_mode)) {
    throw Error(ErrorCode::kInvalidArgument,
                str_cat("opening ", path, ": it is a directory (--recursive uploads those)"));
  }
  if (S_ISREG(facts.st_mode) && path != "-") size_bytes_ = facts.st_size;
}

FileReader::~FileReader() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
}

std::string_view FileReader::next() {
  buffer_.resize(kPieceBytes);
  ssize_t got = 0;
  do {
    got = ::read(fd_, buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0)
    throw Error(ErrorCode::kInternal, str_cat("reading ", path_, ": ", std::strerror(errno)));
  const std::string_view piece(buffer_.data(), static_cast<size_t>(got));
  digest_.update(piece);
  return piece;
}

void FileReader::rewind() {
  ::lseek(fd_, 0, SEEK_SET);
  digest_ = Digest(DigestAlgorithm::kMd5);
}

std::string FileReader::md5() { return to_hex(digest_.finish()); }

std::string read_whole_file(const std::string& path, size_t bytes_max) {
  FileReader reader(path);
  std::string text;
  for (std::string_view piece = reader.next(); !piece.empty(); piece = reader.next()) {
    text += piece;
    if (text.size() > bytes_max) {
      throw usage_error(str_cat("reading ", path, ": longer than ", bytes_max, " bytes"));
    }
  }
  return text;
}

FileWriter::FileWriter(std::filesystem::path target) : target_(std::move(target)) {
  if (target_ == "-") {
    fd_ = STDOUT_FILENO;
    return;
  }
  std::error_code ignored;
  if (target_.has_parent_path())
    std::filesystem::create_directories(target_.parent_path(), ignored);
  partial_ = target_;
  partial_ += str_cat('.', ::getpid(), kPartialSuffix);
  fd_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kNewFileMode);
  if (fd_ < 0) fail();
}

FileWriter::~FileWriter() {
  if (partial_.empty() || fd_ < 0) return;
  ::close(fd_);
  ::unlink(partial_.c_str());
}

void FileWriter::write(std::string_view bytes) {
  digest_.update(bytes);
  written_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail();
    bytes.remove_prefix(static_cast<size_t>(put));
  }
}

std::string FileWriter::md5() { return to_hex(digest_.finish()); }

void FileWriter::finish() {
  if (partial_.empty()) return;
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0 || ::rename(partial_.c_str(), target_.c_str()) != 0) {
    const int cause = errno;
    ::unlink(partial_.c_str());
    errno = cause;
    fail();
  }
}

void FileWriter::fail() const {
  throw Error(ErrorCode::kInternal,
              str_cat("writing ", target_.string(), ": ", std::strerror(errno)));
}

bool is_partial_download(const std::filesystem::path& path) {
  return path.native().ends_with(kPartialSuffix);
}

std::optional<std::filesystem::path> path_below(const std::filesystem::path& root,
                                                std::string_view prefix, std::string_view key) {
  std::string_view rest = key.substr(prefix.size());
  std::filesystem::path path = root;
  if (rest.empty()) return std::nullopt;
  for (;;) {
    const size_t slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    if (segment.empty() || segment == "." || segment == ".." ||
        segment.find('\0') != std::string_view::npos) {
      return std::nullopt;
    }
    path /= segment;
    if (slash == std::string_view::npos) return path;
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace tarn::cli
