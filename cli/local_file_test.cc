#include "cli/local_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "core/base/encoding.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;

class LocalFile : public testing::Test {
 protected:
  LocalFile() : root_(fs::temp_directory_path() / ("tarn-files-" + to_hex(random_bytes(8)))) {
    fs::create_directories(root_);
  }
  ~LocalFile() override { fs::remove_all(root_); }

  std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  fs::path root_;
};

std::string read_all(FileReader& file) {
  std::string all;
  for (std::string_view piece = file.next(); !piece.empty(); piece = file.next()) all += piece;
  return all;
}

TEST_F(LocalFile, ReadsInPiecesAndDigests) {
  const std::string text(3'000'000, 'x');
  std::ofstream(root_ / "a") << text;
  FileReader file(root_ / "a");
  EXPECT_EQ(file.size_bytes(), 3'000'000);
  EXPECT_EQ(read_all(file), text);
  EXPECT_EQ(file.md5(), to_hex(md5(text)));
}

TEST_F(LocalFile, RewindForgetsWhatWasRead) {
  std::ofstream(root_ / "a") << "hello";
  FileReader file(root_ / "a");
  read_all(file);
  file.rewind();
  EXPECT_EQ(read_all(file), "hello");
  EXPECT_EQ(file.md5(), "5d41402abc4b2a76b9719d911017c592");
}

TEST_F(LocalFile, AMissingFileIsNotFound) {
  try {
    FileReader file(root_ / "absent");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  }
}

TEST_F(LocalFile, ReadsAWholeFileUpToALimit) {
  std::ofstream(root_ / "a") << "hello";
  EXPECT_EQ(read_whole_file(root_ / "a", 5), "hello");
  try {
    read_whole_file(root_ / "a", 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), kReasonUsage);
    EXPECT_EQ(error.message(), "reading " + (root_ / "a").string() + ": longer than 4 bytes");
  }
}

TEST_F(LocalFile, WritesUnderItsNameOnlyWhenFinished) {
  const fs::path target = root_ / "d/e/f";
  {
    FileWriter file(target);
    file.write("hello");
    EXPECT_FALSE(fs::exists(target));
    EXPECT_EQ(file.md5(), "5d41402abc4b2a76b9719d911017c592");
    file.finish();
    EXPECT_EQ(file.written_bytes(), 5u);
  }
  EXPECT_EQ(text_of(target), "hello");
}

TEST_F(LocalFile, AnUnfinishedWriteLeavesTheOldFile) {
  std::ofstream(root_ / "f") << "old";
  {
    FileWriter file(root_ / "f");
    file.write("new");
  }
  EXPECT_EQ(text_of(root_ / "f"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 1);
}

TEST(PathBelow, PutsKeysUnderTheDirectory) {
  EXPECT_EQ(path_below("out", "data/", "data/a/b.txt"), fs::path("out/a/b.txt"));
  EXPECT_EQ(path_below(".", "", "päth/ x"), fs::path("./päth/ x"));
  EXPECT_EQ(path_below("out", "", "..a/b.."), fs::path("out/..a/b.."));
}

TEST(PathBelow, RefusesWhatWouldLeaveTheDirectory) {
  for (std::string_view key :
       {"../x", "a/../../x", "/etc/passwd", "a//b", "a/", "..", ".", "a/./b", ""}) {
    EXPECT_EQ(path_below("out", "", key), std::nullopt) << key;
  }
  EXPECT_EQ(path_below("out", "", std::string_view("a\0b", 3)), std::nullopt);
  EXPECT_EQ(path_below("out", "data", "data/x"), std::nullopt);
}

}  // namespace
}  // namespace tarn::cli
