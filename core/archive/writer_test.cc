#include "core/archive/writer.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/crc.h"
#include "core/base/error.h"

namespace tarn::archive {
namespace {

namespace fs = std::filesystem;

// The archive as other tools read it: a line for each member with name, size, time, and the CRC-32
// of its content. Contents of more than a mebibyte are not read.
constexpr std::string_view kReadTar = R"py(
import sys, tarfile, zlib
with tarfile.open(sys.argv[1], "r:") as archive:
    for m in archive:
        crc = zlib.crc32(archive.extractfile(m).read()) if m.isfile() and m.size < 2**20 else 0
        print("dir" if m.isdir() else "file", m.name, m.size, m.mtime, oct(m.mode), m.uid, crc)
)py";
constexpr std::string_view kReadZip = R"py(
import calendar, sys, zipfile, zlib
with zipfile.ZipFile(sys.argv[1]) as archive:
    for m in archive.infolist():
        crc = zlib.crc32(archive.read(m)) if m.file_size < 2**20 else 0
        kind = "dir" if m.is_dir() else "file"
        name = m.filename.rstrip("/")
        time = calendar.timegm(m.date_time + (0, 0, 0))
        print(kind, name, m.file_size, time, oct(m.external_attr >> 16 & 0o777), 0, crc)
)py";

std::string shell(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> piece;
  while (const size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) {
    out.append(piece.data(), got);
  }
  EXPECT_EQ(::pclose(pipe), 0) << command << ": " << out;
  return out;
}

struct Content {
  Member member;
  std::string bytes;
};

Content content(std::string name, std::string bytes, bool crc_known = false) {
  Member member{std::move(name), bytes.size(), from_millis(1'700'000'000'500), {}};
  if (crc_known) member.crc32 = static_cast<uint32_t>(crc_of(CrcKind::kCrc32, bytes));
  return {std::move(member), std::move(bytes)};
}

class Archive : public ::testing::TestWithParam<Format> {
 protected:
  Archive() { fs::create_directories(directory_); }
  ~Archive() override { fs::remove_all(directory_); }

  /// Content shorter than its member's size is followed by a hole.
  fs::path write(const std::vector<Content>& contents) {
    const fs::path path = directory_ / "archive";
    std::ofstream file(path, std::ios::binary);
    const auto writer = make_writer(GetParam());
    for (const Content& one : contents) {
      file << writer->begin(one.member);
      for (size_t at = 0; at < one.bytes.size(); at += 7) {
        const std::string_view piece = std::string_view(one.bytes).substr(at, 7);
        writer->content(piece);
        file << piece;
      }
      file.seekp(static_cast<std::streamoff>(one.member.size_bytes - one.bytes.size()),
                 std::ios::cur);
      file << writer->end();
    }
    file << writer->finish();
    return path;
  }
  std::string seen_by_python(const fs::path& path) {
    const fs::path script = directory_ / "read.py";
    std::ofstream(script) << (GetParam() == Format::kTar ? kReadTar : kReadZip);
    return shell("PYTHONUTF8=1 python3 " + script.string() + " " + path.string());
  }
  static std::string line(const Content& one) {
    std::string name = one.member.name;
    const bool is_directory = name.ends_with('/');
    if (is_directory) name.pop_back();
    return std::string(is_directory ? "dir " : "file ") + name + " " +
           std::to_string(one.member.size_bytes) + " 1700000000 " +
           (is_directory ? "0o755" : "0o644") + " 0 " +
           std::to_string(crc_of(CrcKind::kCrc32, one.bytes)) + "\n";
  }

  const fs::path directory_ =
      fs::temp_directory_path() / ("tarn-archive-" + std::to_string(::getpid()));
};

INSTANTIATE_TEST_SUITE_P(Formats, Archive, ::testing::Values(Format::kTar, Format::kZip),
                         [](const auto& of) { return of.param == Format::kTar ? "tar" : "zip"; });

TEST_P(Archive, IsReadByPythonAsItWasWritten) {
  const std::vector<Content> contents = {
      content("empty", ""),
      content("dir/", ""),
      content("a", "hello"),
      content("b/known crc", std::string(1000, 'x'), true),
      content("b/ exactly one block", std::string(512, 'y')),
      content("c/" + std::string(97, 'n') + "/x", "name of 101 bytes"),
      content("c/" + std::string(96, 'n') + "/x", "name of 100 bytes"),
      content("d/" + std::string(255, 'm') + "/" + std::string(700, 'o'), "long"),
      content("e/\xc3\xbc \xf0\x9f\x98\x80", "outside ASCII", true),
      content("e/\xe6\x97\xa5\xe6\x9c\xac", std::string(100'000, 'z'))};
  std::string expected;
  for (const Content& one : contents) expected += line(one);
  EXPECT_EQ(seen_by_python(write(contents)), expected);
}

TEST_P(Archive, WithoutMembersIsReadable) { EXPECT_EQ(seen_by_python(write({})), ""); }

TEST_P(Archive, SupportsMembersPastEightGibibytes) {
  Content large = content("large", "");
  large.member.size_bytes = (uint64_t{9} << 30) + 1;
  large.member.crc32 = 0;
  Content unknown = content("crc behind", "");
  unknown.member.size_bytes = uint64_t{5} << 30;
  const std::vector<Content> contents = {large, unknown, content("behind", "b")};
  std::string expected;
  for (const Content& one : contents) expected += line(one);
  EXPECT_EQ(seen_by_python(write(contents)), expected);
}

// The length is announced before a byte of content was seen.
TEST_P(Archive, LengthsDoNotDependOnContents) {
  const std::vector<Content> contents = {content("a", "hello"), content("b", std::string(999, 'x')),
                                         content("\xc3\xbc", "u", true), content("c/", "")};
  const auto writer = make_writer(GetParam());
  uint64_t length = 0;
  for (const Content& one : contents) {
    length += writer->begin(one.member).size() + one.member.size_bytes + writer->end().size();
  }
  length += writer->finish().size();
  EXPECT_EQ(fs::file_size(write(contents)), length);
}

TEST_P(Archive, IsUnpackedByTheUsualTools) {
  const fs::path path =
      write({content("dir/a", "one"), content("dir/\xc3\xbc", "two", true), content("empty/", "")});
  const fs::path out = directory_ / "out";
  fs::create_directories(out);
  if (GetParam() == Format::kTar) {
    shell("tar -xf " + path.string() + " -C " + out.string());
  } else {
    shell("cd " + out.string() + " && python3 -m zipfile -e " + path.string() + " .");
    if (std::system("command -v unzip >/dev/null") == 0) {
      EXPECT_NE(shell("unzip -t " + path.string()).find("No errors detected"), std::string::npos);
    }
  }
  EXPECT_EQ(shell("cd " + out.string() + " && find . | LC_ALL=C sort && cat dir/*"),
            ".\n./dir\n./dir/a\n./dir/\xc3\xbc\n./empty\nonetwo");
}

TEST(TarArchive, KeepsTimesThatHeadersCannotHold) {
  const auto writer = make_writer(Format::kTar);
  const std::string before_1970 = writer->begin({"a", 0, from_millis(-5'000), {}});
  EXPECT_NE(before_1970.find("12 mtime=-5\n"), std::string::npos);
}

TEST(ZipArchive, RefusesMoreMembersThanItsDirectoryMayHold) {
  const auto writer = make_writer(Format::kZip);
  for (uint64_t i = 0; i < kZipMembersMax; ++i) {
    writer->begin({"a", 0, {}, {}});
    writer->end();
  }
  EXPECT_THROW(writer->begin({"a", 0, {}, {}}), Error);
  const std::string directory = writer->finish();
  EXPECT_NE(directory.find("PK\x06\x06"), std::string::npos) << "more than 65535 need zip64";
}

TEST(ArchiveNames, PathsOutsideTheDirectoryAreUnsafe) {
  for (const std::string_view name :
       {"a", "a/b", "dir/", "..a", "a..", ".hidden", "a/...", "1:b", "ab:c", "\xc3\xbc", " "}) {
    EXPECT_TRUE(is_safe_name(name)) << name;
  }
  for (const std::string_view name :
       {"", "/", "/a", "..", "../a", "a/..", "a/../b", "./a", "a/./b", "a//b", "a//", "a\\b",
        "..\\a", "C:", "c:/a", "a/../", "//server/share"}) {
    EXPECT_FALSE(is_safe_name(name)) << name;
  }
  EXPECT_FALSE(is_safe_name(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace tarn::archive
