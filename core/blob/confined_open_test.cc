#include "core/blob/confined_open.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "tests/support/temporary_directory.h"

namespace tarn::blob {
namespace {

namespace fs = std::filesystem;

TEST(CheckLocalPath, AcceptsAnyValidFileName) {
  const std::string longest_name(255, 'n');
  for (const std::string& path :
       {std::string("a"), std::string("a/b/c"), std::string("..."), std::string("a\\..\\b"),
        std::string("a\nb"), std::string("\xff\xfe"), std::string(" "), longest_name}) {
    EXPECT_NO_THROW(check_local_path(path)) << path;
  }
}

TEST(CheckLocalPath, RefusesWhatCouldLeaveTheRootOrIsNoName) {
  std::string too_long = std::string(200, 'a');
  while (too_long.size() <= kPathBytesMax) too_long += "/" + std::string(200, 'a');
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("/etc/passwd"), std::string("a//b"),
        std::string("a/"), std::string("."), std::string(".."), std::string("../a"),
        std::string("a/../b"), std::string("a/.."), std::string("./a"), std::string("a\0b", 3),
        std::string("a/..\0", 5), std::string(256, 'n'), "a/" + std::string(256, 'n'), too_long}) {
    EXPECT_THROW(check_local_path(path), Error) << path;
  }
}

struct Opening {
  const char* name;
  Descriptor (*open)(int, const std::string&, int, unsigned);
};

class OpenBeneath : public ::testing::TestWithParam<Opening> {
 protected:
  void SetUp() override {
    fs::create_directories(root_ + "/d/e");
    write_file(root_ + "/d/e/f", "inside");
    write_file(outside_.path() + "/secret", "secret");
    root_fd_ = Descriptor(::open(root_.c_str(), O_RDONLY | O_DIRECTORY));
  }
  static void write_file(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  /// The bytes that can be read under `path`, or the errno.
  std::string read(const std::string& path, int flags = O_RDONLY) {
    const Descriptor file = GetParam().open(root_fd_.get(), path, flags, 0);
    if (!file) return "errno " + std::to_string(errno);
    char bytes[100];
    const ssize_t count = ::read(file.get(), bytes, sizeof(bytes));
    return count < 0 ? "unreadable" : std::string(bytes, static_cast<size_t>(count));
  }
  const std::string refused_ = "errno " + std::to_string(ELOOP);

  testing::TemporaryDirectory outside_;
  std::string root_ = outside_ / "root";
  Descriptor root_fd_;
};

TEST_P(OpenBeneath, OpensFilesInDirectories) {
  EXPECT_EQ(read("d/e/f"), "inside");
  EXPECT_EQ(read("d/e/absent"), "errno " + std::to_string(ENOENT));
  EXPECT_EQ(read("absent/f"), "errno " + std::to_string(ENOENT));
  EXPECT_EQ(read("d/e/f/g"), "errno " + std::to_string(ENOTDIR));
}

TEST_P(OpenBeneath, FollowsNoSymbolicLinkAnywhere) {
  fs::create_symlink(outside_.path(), root_ + "/out");
  fs::create_symlink(outside_ / "secret", root_ + "/file");
  fs::create_symlink("../secret", root_ + "/relative");
  fs::create_symlink(outside_.path(), root_ + "/d/e/out");
  fs::create_symlink("e/f", root_ + "/d/within");
  fs::create_symlink("nowhere", root_ + "/dangling");
  for (const char* path :
       {"out/secret", "file", "relative", "d/e/out/secret", "d/within", "dangling"}) {
    EXPECT_EQ(read(path), refused_) << path;
  }
  EXPECT_EQ(read("out", O_RDONLY | O_DIRECTORY), refused_);
}

TEST_P(OpenBeneath, CreatesNothingThroughADanglingLink) {
  fs::create_symlink(outside_ / "made", root_ + "/dangling");
  const Descriptor file = GetParam().open(root_fd_.get(), "dangling", O_WRONLY | O_CREAT, 0600);
  EXPECT_FALSE(file);
  EXPECT_FALSE(fs::exists(outside_ / "made"));
}

TEST_P(OpenBeneath, DoesNotWaitForTheOtherEndOfAFifo) {
  ASSERT_EQ(::mkfifo((root_ + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(read("fifo"), "");
}

INSTANTIATE_TEST_SUITE_P(Ways, OpenBeneath,
                         ::testing::Values(Opening{"kernel", open_beneath},
                                           Opening{"components", open_by_components}),
                         [](const auto& one) { return one.param.name; });

std::pair<ErrorCode, std::string> answer_to(void (*throws)(const std::string&, int), int error) {
  try {
    throws("doing", error);
  } catch (const Error& e) {
    EXPECT_TRUE(e.message().starts_with("doing: ")) << e.message();
    return {e.code(), std::string(e.reason())};
  }
  return {};
}

TEST(ThrowErrno, NamesTheProblemOfTheStore) {
  constexpr ErrorCode kAgain = ErrorCode::kUnavailable;
  constexpr ErrorCode kInvalid = ErrorCode::kInvalidArgument;
  constexpr ErrorCode kDenied = ErrorCode::kPermissionDenied;
  using Answer = std::pair<ErrorCode, std::string>;
  const struct {
    int error;
    Answer reading;
    Answer writing;
  } cases[] = {
      {ENOSPC, {kAgain, "store_full"}, {kAgain, "store_full"}},
      {EDQUOT, {kAgain, "store_full"}, {kAgain, "store_full"}},
      {EROFS, {kAgain, "store_read_only"}, {kAgain, "store_read_only"}},
      {EACCES, {kDenied, "store_not_readable"}, {kAgain, "store_not_writable"}},
      {EPERM, {kDenied, "store_not_readable"}, {kAgain, "store_not_writable"}},
      {EIO, {kAgain, "store_failed"}, {kAgain, "store_failed"}},
      {EMFILE, {kAgain, "store_out_of_descriptors"}, {kAgain, "store_out_of_descriptors"}},
      {ENFILE, {kAgain, "store_out_of_descriptors"}, {kAgain, "store_out_of_descriptors"}},
      {ENOTDIR, {kAgain, "store_failed"}, {kInvalid, "store_damaged"}},
      {ELOOP, {kDenied, "permission_denied"}, {kInvalid, "store_damaged"}},
      {ESTALE, {kAgain, "store_failed"}, {kAgain, "store_failed"}},
      {ENAMETOOLONG, {kInvalid, "invalid_argument"}, {kInvalid, "invalid_argument"}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(answer_to(throw_errno, c.error), c.reading) << c.error;
    EXPECT_EQ(answer_to(throw_write_errno, c.error), c.writing) << c.error;
  }
}

}  // namespace
}  // namespace tarn::blob
