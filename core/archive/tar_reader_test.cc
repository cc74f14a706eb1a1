#include "core/archive/tar_reader.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::archive {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

std::string written(const Files& files) {
  const auto writer = make_tar_writer();
  std::string out;
  for (const auto& [name, bytes] : files) {
    out += writer->begin({.name = name, .size_bytes = bytes.size()});
    out += bytes;
    out += writer->end();
  }
  return out + writer->finish();
}

Files read(const std::string& archive, size_t piece) {
  Files out;
  TarReader reader([&](const Member& member) { out.emplace_back(member.name, ""); },
                   [&](std::string_view bytes) { out.back().second += bytes; });
  for (size_t at = 0; at < archive.size(); at += piece) {
    reader.feed(std::string_view(archive).substr(at, piece));
  }
  reader.finish();
  return out;
}

/// The archive of one file "a", with bytes of its header replaced and the checksum made right.
std::string changed(size_t at, std::string_view bytes) {
  std::string archive = written({{"a", "content"}});
  archive.replace(at, bytes.size(), bytes);
  archive.replace(148, 8, "        ");
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(archive[i]);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  archive.replace(148, 7, std::string_view(digits, 7));
  return archive;
}

bool is_refused(const std::string& archive) {
  try {
    read(archive, archive.size());
  } catch (const Error& error) {
    return error.code() == ErrorCode::kDataLoss;
  }
  return false;
}

TEST(TarReader, ReadsWhatTheWriterWritesInPiecesOfAnySize) {
  const Files files{{"a", "hello"},
                    {"dir/", ""},
                    {"dir/empty", ""},
                    {"dir/block", std::string(512, 'x')},
                    {"dir/" + std::string(300, 'n') + "/x", "long name"},
                    {"\xc3\xbc", std::string(5000, 'y')}};
  const std::string archive = written(files);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{512}, size_t{4096}, archive.size()}) {
    EXPECT_EQ(read(archive, piece), files) << piece;
  }
  EXPECT_EQ(read(written({}), 100), Files{});
}

TEST(TarReader, AHeaderThatWasChangedToItselfIsRead) {
  EXPECT_EQ(read(changed(0, "a"), 64), (Files{{"a", "content"}}));
}

TEST(TarReader, OnlyFilesAndDirectoriesAreTaken) {
  for (const char* type : {"1", "2", "3", "4", "6", "7", "L", "K", "g", "S"}) {
    EXPECT_TRUE(is_refused(changed(156, type))) << type;
  }
  EXPECT_TRUE(is_refused(changed(156, "5"))) << "a directory with content";
}

TEST(TarReader, NamesStayBelowTheFolder) {
  for (const std::string name :
       {"/etc/passwd", "../a", "a/../../b", "a//b", "./a", "a\\b", "C:a"}) {
    EXPECT_TRUE(is_refused(written({{name, "x"}}))) << name;
    EXPECT_TRUE(is_refused(written({{std::string(120, 'a') + "/../" + name, "x"}}))) << name;
  }
  EXPECT_TRUE(is_refused(changed(345, "..")));
}

TEST(TarReader, DamageIsRefused) {
  std::string archive = written({{"a", "content"}});
  for (const size_t kept : {size_t{100}, size_t{512}, size_t{515}, size_t{1024}}) {
    EXPECT_TRUE(is_refused(archive.substr(0, kept))) << kept;
  }
  archive[0] = 'b';
  EXPECT_TRUE(is_refused(archive)) << "the checksum is of another name";
  EXPECT_TRUE(is_refused(changed(124, "9")));
  std::string records = written({{std::string(200, 'n'), "x"}});
  records[512] = '9';
  EXPECT_TRUE(is_refused(records));
  EXPECT_TRUE(is_refused(changed(156, "x"))) << "records that are none";
}

}  // namespace
}  // namespace tarn::archive
